//! Interfaces, addresses, neighbours and routes by rtnetlink, with one blocking request at a time.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::AddressFamily;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64,
};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};

/// A socket to the kernel, for the namespace that it was opened in.
pub(crate) struct Netlink {
    socket: Socket,
}

impl Netlink {
    /// Opens a socket in the calling thread's namespace.
    pub(crate) fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&netlink_sys::SocketAddr::new(0, 0))?;
        Ok(Netlink { socket })
    }

    /// Creates a veth pair, given by name and MAC address: `near` in this namespace, `far` in the
    /// other.
    pub(crate) fn add_veth(
        &self,
        near: (&str, [u8; 6]),
        far: (&str, [u8; 6]),
        far_netns: BorrowedFd<'_>,
    ) -> io::Result<()> {
        let mut peer = LinkMessage::default();
        peer.attributes
            .push(LinkAttribute::IfName(far.0.to_owned()));
        peer.attributes.push(LinkAttribute::Address(far.1.to_vec()));
        peer.attributes
            .push(LinkAttribute::NetNsFd(far_netns.as_raw_fd()));
        let mut message = LinkMessage::default();
        message
            .attributes
            .push(LinkAttribute::IfName(near.0.to_owned()));
        message
            .attributes
            .push(LinkAttribute::Address(near.1.to_vec()));
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.change(
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Returns the index of an interface and its counters.
    pub(crate) fn link(&self, name: &str) -> io::Result<(u32, Stats64)> {
        let mut message = LinkMessage::default();
        message
            .attributes
            .push(LinkAttribute::IfName(name.to_owned()));
        match self.request(RouteNetlinkMessage::GetLink(message), 0)? {
            Some(RouteNetlinkMessage::NewLink(link)) => {
                let stats = link.attributes.iter().find_map(|a| match a {
                    LinkAttribute::Stats64(stats) => Some(*stats),
                    _ => None,
                });
                Ok((link.header.index, stats.unwrap_or_default()))
            }
            _ => Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("no interface {name}"),
            )),
        }
    }

    /// Sets an interface's MTU and brings it up, with or without ARP and neighbour discovery.
    pub(crate) fn bring_up(&self, index: u32, mtu: Option<u32>, arp: bool) -> io::Result<()> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up
            | if arp {
                LinkFlags::empty()
            } else {
                LinkFlags::Noarp
            };
        message.header.change_mask = LinkFlags::Up | LinkFlags::Noarp;
        message.attributes.extend(mtu.map(LinkAttribute::Mtu));
        self.change(RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Sets an address of an interface, without a route.
    pub(crate) fn set_address(&self, index: u32, address: IpAddr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = host_prefix(address);
        message.header.index = index;
        message.attributes.push(AddressAttribute::Local(address));
        message.attributes.push(AddressAttribute::Address(address));
        message.attributes.push(AddressAttribute::Flags(
            AddressFlags::Noprefixroute | AddressFlags::Nodad | AddressFlags::Permanent,
        ));
        self.change(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// Removes an address of an interface, if it is there. The kernel removes the routes that prefer it as their source.
    pub(crate) fn remove_address(&self, index: u32, address: IpAddr) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = host_prefix(address);
        message.header.index = index;
        message.attributes.push(AddressAttribute::Local(address));
        match self.change(RouteNetlinkMessage::DelAddress(message), 0) {
            Err(e) if e.raw_os_error() == Some(libc::EADDRNOTAVAIL) => Ok(()),
            other => other,
        }
    }

    /// Sets a permanent neighbour entry: `address` has the hardware address `mac`.
    pub(crate) fn set_neighbour(
        &self,
        index: u32,
        address: IpAddr,
        mac: [u8; 6],
    ) -> io::Result<()> {
        let mut message = NeighbourMessage::default();
        message.header.family = family(address);
        message.header.ifindex = index;
        message.header.state = NeighbourState::Permanent;
        message.header.kind = RouteType::Unicast;
        message
            .attributes
            .push(NeighbourAttribute::Destination(address.into()));
        message
            .attributes
            .push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
        self.change(
            RouteNetlinkMessage::NewNeighbour(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// Sets the route of an endpoint to an address of the other end, in place of any other: through interface `index`,
    /// with the congestion control of its TCP connections.
    pub(crate) fn set_route(
        &self,
        index: u32,
        from: IpAddr,
        to: IpAddr,
        congestion: &str,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(to),
            destination_prefix_length: host_prefix(to),
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: if to.is_ipv4() {
                RouteScope::Link
            } else {
                RouteScope::Universe
            },
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        message
            .attributes
            .push(RouteAttribute::Destination(to.into()));
        message
            .attributes
            .push(RouteAttribute::PrefSource(from.into()));
        message.attributes.push(RouteAttribute::Oif(index));
        message
            .attributes
            .push(RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(
                congestion.to_owned(),
            )]));
        self.change(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_CREATE | NLM_F_REPLACE,
        )
    }

    /// Removes the route to an address of the other end, if there is one.
    pub(crate) fn remove_route(&self, index: u32, to: IpAddr) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(to),
            destination_prefix_length: host_prefix(to),
            table: RouteHeader::RT_TABLE_MAIN,
            scope: RouteScope::NoWhere,
            ..RouteHeader::default()
        };
        let destination = RouteAttribute::Destination(to.into());
        message
            .attributes
            .extend([destination, RouteAttribute::Oif(index)]);
        match self.change(RouteNetlinkMessage::DelRoute(message), 0) {
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other,
        }
    }

    fn change(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.request(message, NLM_F_ACK | flags).map(drop)
    }

    fn request(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Option<RouteNetlinkMessage>> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        let mut message = NetlinkMessage::new(header, NetlinkPayload::from(message));
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (bytes, _) = self.socket.recv_from_full()?;
        let reply: NetlinkMessage<RouteNetlinkMessage> =
            NetlinkMessage::deserialize(&bytes).map_err(io::Error::other)?;
        match reply.payload {
            NetlinkPayload::Error(e) if e.code.is_some() => Err(e.to_io()),
            NetlinkPayload::InnerMessage(inner) => Ok(Some(inner)),
            _ => Ok(None),
        }
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() {
        AddressFamily::Inet
    } else {
        AddressFamily::Inet6
    }
}

fn host_prefix(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}
