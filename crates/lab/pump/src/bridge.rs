//! The link as a bridge between two interfaces of this host, with a phone, a tethered device or any
//! other machine behind one of them.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use link::window::Window;
use link::{FlowRule, Network};

use crate::datapath::socket;
use crate::datapath::threads::{LinkThreads, Setup};
use crate::datapath::totals::totals;
use crate::net::ethtool::GroDisabled;
use crate::net::netlink::Netlink;
use crate::sys;

/// For each direction, as in a bench of its own.
const SPIN_PERMILLE: u64 = 250;
/// How long to wait at the end for frames that are still on the link.
const SETTLE: Duration = Duration::from_millis(500);

/// A transparent bridge with two ports that emulates a network. It forwards every frame, including
/// ARP and neighbour discovery; the host itself does not answer on either side.
pub struct Bridge {
    link: LinkThreads,
    started_ns: u64,
    /// Promiscuous mode and disabled GRO, which end when these are dropped.
    _ports: Vec<(OwnedFd, GroDisabled)>,
}

/// Why two interfaces could not be bridged.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// The interface does not exist or is down.
    #[error("interface {name}: {source}; `ip link` lists them")]
    Interface {
        /// The interface's name.
        name: String,
        /// The error of using it.
        source: io::Error,
    },
    /// Missing privileges or memory.
    #[error(
        "cannot carry packets between interfaces: {0}; this needs root (CAP_NET_RAW, CAP_NET_ADMIN)"
    )]
    Start(#[from] io::Error),
}

impl Bridge {
    /// Starts forwarding. `interfaces` are the client's side and the server's: *up* is from the
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
            let gro_disabled = GroDisabled::new(name).map_err(failed)?;
            ports.push((socket::promiscuous(*index).map_err(failed)?, gro_disabled));
        }
        let mut link = LinkThreads::start(&Setup {
            network,
            seed,
            interfaces: indexes,
            spin_permille: SPIN_PERMILLE,
            frame_bytes: 0,
        })?;
        let started_ns = sys::monotonic_ns();
        link.begin_window(started_ns, FlowRule::AnyPacket)?;
        Ok(Bridge {
            link,
            started_ns,
            _ports: ports,
        })
    }

    /// Stops forwarding and returns the traffic since the start. Fields that only a bench can
    /// measure, e.g. the costs of processes, are zero.
    pub fn end(mut self) -> Result<Window, BridgeError> {
        self.link.settle(SETTLE);
        let [up, down] = self.link.end_window()?;
        let radio = self.link.radio_log().unwrap_or_default();
        self.link.stop();
        Ok(Window {
            started_ns: self.started_ns,
            took_ns: sys::monotonic_ns() - self.started_ns,
            up: totals(&up),
            down: totals(&down),
            link_cpu_ns: up.cpu_ns + down.cpu_ns,
            link_spin_ns: up.spin_ns + down.spin_ns,
            unrecorded: up.unrecorded + down.unrecorded,
            radio,
            ..Window::default()
        })
    }
}
