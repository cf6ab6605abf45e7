//! The two endpoints: each a network namespace with one interface, connected to the link.

use std::fs;
use std::io;
use std::path::Path;

use link::window::InterfaceCounters;

use crate::facts::{Addresses, Families, INTERFACE, Side};
use crate::mounts;
use crate::net::netlink::Netlink;
use crate::net::netns::Netns;
use crate::net::{counters, ethtool, genl, local_route, sock_diag, sysctl};

/// Above every network's MTU: only the endpoints' interfaces limit the size of packets.
const LINK_MTU: u32 = 9216;
/// RFC 8200 section 5.
const IPV6_MTU_MIN: u32 = 1280;

/// One end of the bench.
pub(super) struct Endpoint {
    pub(super) side: Side,
    pub(super) netns: Netns,
    /// Index of its interface, in its namespace.
    pub(super) index: u32,
    /// Index of the link's interface that faces it.
    pub(super) link_index: u32,
    /// Names of the kernel threads that receive for it; empty when they cannot be listed.
    pub(super) kernel_threads: Vec<String>,
}

impl Endpoint {
    /// Creates the namespace and the veth pair. The calling thread must be in the link's namespace.
    pub(super) fn new(side: Side, link: &Netlink) -> io::Result<Endpoint> {
        let netns = Netns::new()?;
        // First: an interface takes its defaults when it is created.
        netns.run(|| sysctl::write(sysctl::ENDPOINT))?;
        let near = side.name();
        // The link's end needs a MAC address too, and never uses it.
        let mut near_mac = side.mac();
        near_mac[1] = 1;
        link.add_veth((near, near_mac), (INTERFACE, side.mac()), netns.fd())?;
        let (link_index, _) = link.link(near)?;
        // Packets reach the endpoint's NAPI only if this end does not segment either.
        ethtool::disable_segmentation(near)?;
        link.bring_up(link_index, Some(LINK_MTU), false)?;

        let (index, kernel_threads) = netns.run(|| {
            let netlink = Netlink::open()?;
            let (loopback, _) = netlink.link("lo")?;
            netlink.bring_up(loopback, None, true)?;
            // Before threaded NAPI: GRO creates the NAPI instance that is then given a thread.
            ethtool::configure_endpoint(INTERFACE)?;
            let (index, _) = netlink.link(INTERFACE)?;
            netlink.bring_up(index, None, false)?;
            // Linux before 6.8 cannot list them: the CPU time of receiving stays unknown.
            let ids = match enable_threaded_napi(INTERFACE) {
                Ok(()) => genl::napi_ids(index).unwrap_or_default(),
                Err(_) => Vec::new(),
            };
            let names = ids
                .iter()
                .map(|id| format!("napi/{INTERFACE}-{id}"))
                .collect();
            Ok((index, names))
        })?;
        Ok(Endpoint {
            side,
            netns,
            index,
            link_index,
            kernel_threads,
        })
    }

    /// Enables segmentation offload on the interface; see
    /// [`crate::Bench::enable_segmentation_offload`].
    pub(super) fn enable_segmentation_offload(&self) -> io::Result<()> {
        self.netns.run(|| ethtool::enable_segmentation(INTERFACE))
    }

    /// Sets MTU, addresses, neighbour and route. All of them every time: an MTU below 1280 removes
    /// IPv6, and a larger MTU does not restore it.
    pub(super) fn configure(&self, mtu: u32, congestion: &str) -> io::Result<()> {
        self.netns.run(|| {
            let netlink = Netlink::open()?;
            netlink.bring_up(self.index, Some(mtu), false)?;
            let (own, far) = (self.side.addresses(), self.side.other().addresses());
            self.set_addresses(&netlink, (own, far), Families::Both, mtu, congestion)
        })
    }

    /// Adds addresses of its own, or makes further addresses of the other end reachable, or both: those of these families.
    /// What it sends to them comes from `own` unless a socket is bound to another address.
    pub(super) fn add_addresses(
        &self,
        (own, far): (Addresses, Addresses),
        families: Families,
        mtu: u32,
        congestion: &str,
    ) -> io::Result<()> {
        let add = || self.set_addresses(&Netlink::open()?, (own, far), families, mtu, congestion);
        self.netns.run(add)
    }

    /// Removes the routes to the other end of all but these families.
    pub(super) fn keep_routes(&self, far: Addresses, families: Families) -> io::Result<()> {
        self.netns.run(|| {
            let netlink = Netlink::open()?;
            let all = far.all().into_iter();
            let mut others = all.filter(|address| !families.has(*address));
            others.try_for_each(|address| netlink.remove_route(self.index, address))
        })
    }

    fn set_addresses(
        &self,
        netlink: &Netlink,
        (own, far): (Addresses, Addresses),
        families: Families,
        mtu: u32,
        congestion: &str,
    ) -> io::Result<()> {
        for (own, far) in own.all().into_iter().zip(far.all()) {
            if !families.has(own) || own.is_ipv6() && mtu < IPV6_MTU_MIN {
                continue;
            }
            netlink.set_address(self.index, own)?;
            local_route::wait_for(own)?;
            netlink.set_neighbour(self.index, far, self.side.other().mac())?;
            netlink.set_route(self.index, own, far, congestion)?;
        }
        Ok(())
    }

    /// Takes addresses away, and closes the TCP sockets that are bound to them if it is to.
    pub(super) fn remove_addresses(&self, own: Addresses, abort_tcp: bool) -> io::Result<()> {
        self.netns.run(|| {
            let netlink = Netlink::open()?;
            for address in own.all() {
                netlink.remove_address(self.index, address)?;
                if abort_tcp {
                    sock_diag::close_tcp_sockets_at(address)?;
                }
            }
            Ok(())
        })
    }

    /// Closes its TCP sockets, so that none sends anything any more.
    pub(super) fn close_tcp_sockets(&self) -> io::Result<()> {
        self.netns.run(sock_diag::close_tcp_sockets)
    }

    /// Returns the kernel's counters of its interface.
    pub(super) fn interface_counters(&self) -> io::Result<InterfaceCounters> {
        self.netns
            .run(|| interface_counters(&Netlink::open()?, INTERFACE))
    }

    /// Returns the packets that its sockets had no room for.
    pub(super) fn receive_drops(&self) -> io::Result<u64> {
        self.netns.run(counters::receive_drops)
    }
}

/// Returns the kernel's counters of an interface in the calling thread's namespace.
pub(super) fn interface_counters(netlink: &Netlink, name: &str) -> io::Result<InterfaceCounters> {
    let (_, stats) = netlink.link(name)?;
    Ok(InterfaceCounters {
        rx_packets: stats.rx_packets,
        rx_bytes: stats.rx_bytes,
        tx_packets: stats.tx_packets,
        tx_bytes: stats.tx_bytes,
        dropped: stats.rx_dropped + stats.tx_dropped + stats.rx_errors + stats.tx_errors,
    })
}

/// Makes a kernel thread receive for the interface, so that the CPU time of that can be measured.
fn enable_threaded_napi(interface: &str) -> io::Result<()> {
    // A sysfs shows the interfaces of the namespace that mounted it.
    let sys = Path::new("/sys");
    mounts::mount(Path::new("sysfs"), sys, c"sysfs", 0, c"")?;
    let enabled = fs::write(sys.join("class/net").join(interface).join("threaded"), "1");
    mounts::unmount_lazily(sys)?;
    enabled
}
