//! The two endpoints: a namespace each, with one interface that leads to the link.

use std::fs;
use std::io;
use std::path::Path;

use crate::facts::{INTERFACE, Side};
use crate::net::netlink::Netlink;
use crate::net::netns::Netns;
use crate::net::{counters, ethtool, genl, sysctl};
use crate::sys;
use crate::window::InterfaceCount;

/// One end of the bench, seen from the link.
pub(super) struct Endpoint {
    pub(super) side: Side,
    pub(super) netns: Netns,
    /// Index of its interface, in its namespace.
    pub(super) index: u32,
    /// Index of the link's interface that faces it.
    pub(super) link_index: u32,
    /// Names of the kernel threads that receive for it.
    pub(super) kernel_threads: Vec<String>,
}

impl Endpoint {
    /// Makes the namespace and the pair; the calling thread's namespace is the link's.
    pub(super) fn new(side: Side, link: &Netlink) -> io::Result<Endpoint> {
        let netns = Netns::new()?;
        // First: an interface takes the defaults that hold when it is made.
        netns.run(|| sysctl::write(sysctl::ENDPOINT))?;
        let near = side.link_interface();
        // The link's own end needs an address of the same form, and never uses it.
        let mut near_mac = side.mac();
        near_mac[1] = 1;
        link.add_veth((near, near_mac), (INTERFACE, side.mac()), netns.fd())?;
        let (link_index, _) = link.link(near)?;
        // Its sends reach the endpoint's NAPI only when this end does not segment either.
        ethtool::make_sender_plain(near)?;
        link.bring_up(link_index, Some(LINK_MTU), false)?;

        let (index, kernel_threads) = netns.run(|| {
            let netlink = Netlink::open()?;
            let (loopback, _) = netlink.link("lo")?;
            netlink.bring_up(loopback, None, true)?;
            // Aggregation first: it creates the NAPI instance that is then given a thread.
            ethtool::make_wire_true(INTERFACE)?;
            let (index, _) = netlink.link(INTERFACE)?;
            netlink.bring_up(index, None, false)?;
            // Without such threads (before Linux 6.8) their CPU cannot be told from others'.
            let ids = match thread_napi(INTERFACE) {
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

    /// See [`crate::Bench::enable_segmentation_offload`].
    pub(super) fn enable_segmentation_offload(&self) -> io::Result<()> {
        self.netns.run(|| ethtool::leave_segmentation(INTERFACE))
    }

    /// Sets MTU, addresses, neighbour and route. All of it each time: an MTU below 1280 takes
    /// IPv6 away, and a later larger one does not bring it back.
    pub(super) fn configure(&self, mtu: u32, congestion: &str) -> io::Result<()> {
        self.netns.run(|| {
            let netlink = Netlink::open()?;
            netlink.bring_up(self.index, Some(mtu), false)?;
            let (own, far) = (
                self.side.addresses().all(),
                self.side.other().addresses().all(),
            );
            for (own, far) in own.into_iter().zip(far) {
                if own.is_ipv6() && mtu < IPV6_MTU_MIN {
                    continue;
                }
                netlink.set_address(self.index, own)?;
                netlink.set_neighbour(self.index, far, self.side.other().mac())?;
                netlink.set_route(self.index, own, far, congestion)?;
            }
            Ok(())
        })
    }

    /// What the kernel counted on its interface.
    pub(super) fn interface_count(&self) -> io::Result<InterfaceCount> {
        self.netns
            .run(|| interface_count(&Netlink::open()?, INTERFACE))
    }

    /// Packets its stack dropped for want of buffer.
    pub(super) fn drops(&self) -> io::Result<u64> {
        self.netns.run(counters::endpoint_drops)
    }
}

/// What the kernel counted on an interface of the calling thread's namespace.
pub(super) fn interface_count(netlink: &Netlink, name: &str) -> io::Result<InterfaceCount> {
    let (_, stats) = netlink.link(name)?;
    Ok(InterfaceCount {
        rx_packets: stats.rx_packets,
        rx_bytes: stats.rx_bytes,
        tx_packets: stats.tx_packets,
        tx_bytes: stats.tx_bytes,
        dropped: stats.rx_dropped + stats.tx_dropped + stats.rx_errors + stats.tx_errors,
    })
}

/// Gives the interface's receiving a thread of its own, whose CPU can be told from others'.
fn thread_napi(interface: &str) -> io::Result<()> {
    // A sysfs shows the interfaces of the namespace it was mounted from.
    let place = Path::new("/sys");
    sys::mount(Path::new("sysfs"), place, c"sysfs", 0, c"")?;
    let switched = fs::write(
        place.join("class/net").join(interface).join("threaded"),
        "1",
    );
    sys::unmount_lazily(place)?;
    switched
}

/// The link's interfaces never limit: the endpoints' MTU does.
const LINK_MTU: u32 = 9216;
/// RFC 8200 section 5.
const IPV6_MTU_MIN: u32 = 1280;
