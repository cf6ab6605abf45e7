//! The link between two interfaces of this host, with a phone, a tethered device or any other
//! machine behind one of them.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use link::Network;

use crate::datapath::socket;
use crate::datapath::threads::{LinkThreads, Setup};
use crate::datapath::totals::totals;
use crate::net::ethtool::GroDisabled;
use crate::net::netlink::Netlink;
use crate::sys;
use crate::window::Window;

/// A transparent bridge of two ports, slow and lossy as its network is. Every frame crosses,
/// ARP and neighbour discovery among them; nothing of the host answers for its guests.
pub struct Bridge {
    link: LinkThreads,
    began_ns: u64,
    /// FrameMeta for what their end undoes: promiscuous mode, and packets apart.
    _ports: Vec<(OwnedFd, GroDisabled)>,
}

/// Two interfaces could not be joined.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// No such interface, or it is down.
    #[error("interface {name}: {source}; `ip link` lists them")]
    Interface {
        /// Its name.
        name: String,
        /// Why.
        source: io::Error,
    },
    /// Not allowed, or no memory.
    #[error(
        "cannot carry packets between interfaces: {0}; this needs root (CAP_NET_RAW, CAP_NET_ADMIN)"
    )]
    Carry(#[from] io::Error),
}

impl Bridge {
    /// Begins to carry. `interfaces` are the client's side and the server's: *up* is from the
    /// first to the second.
    pub fn start(
        network: &Network,
        seed: u64,
        interfaces: [&str; 2],
    ) -> Result<Bridge, BridgeError> {
        let netlink = Netlink::open()?;
        let mut indexes = [0; 2];
        let mut ports = Vec::new();
        for (index, name) in indexes.iter_mut().zip(interfaces) {
            let failed = |source| BridgeError::Interface {
                name: name.to_owned(),
                source,
            };
            *index = netlink.link(name).map_err(failed)?.0;
            let apart = GroDisabled::switch(name).map_err(failed)?;
            ports.push((socket::promiscuous(*index).map_err(failed)?, apart));
        }
        let mut link = LinkThreads::start(&Setup {
            network,
            seed,
            bias_ns: [0; 2],
            interfaces: indexes,
            spin_permille: SPIN_PERMILLE,
            frame_bytes: 0,
        })?;
        let began_ns = sys::monotonic_ns();
        link.begin(began_ns)?;
        Ok(Bridge {
            link,
            began_ns,
            _ports: ports,
        })
    }

    /// Ends it and tells what crossed. What is not seen from here, as costs of processes, is
    /// zero.
    pub fn end(mut self) -> Result<Window, BridgeError> {
        self.link.settle(SETTLE);
        let [up, down] = self.link.end()?;
        self.link.stop();
        Ok(Window {
            started_ns: self.began_ns,
            took_ns: sys::monotonic_ns() - self.began_ns,
            up: totals(&up),
            down: totals(&down),
            link_cpu_ns: up.cpu_ns + down.cpu_ns,
            link_spin_ns: up.spin_ns + down.spin_ns,
            unrecorded: up.unrecorded + down.unrecorded,
            ..Window::default()
        })
    }
}

/// As for one bench: under 5 % of a core for both directions.
const SPIN_PERMILLE: u64 = 25;
/// Frames under way when it ends may still arrive.
const SETTLE: Duration = Duration::from_millis(500);
