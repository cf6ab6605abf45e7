//! The client's moves from one pair of addresses to the next.

use std::fs;
use std::io;

use super::endpoint::Endpoint;
use crate::datapath::left_addresses::LeftAddresses;
use crate::facts::{Addresses, Families, MAX_MOVES};
use crate::net::sysctl;
use crate::sys;

const PORT_RANGE: &str = "ipv4/ip_local_port_range";
/// Ports of sockets that are opened after the first move. Below Linux's own range, which begins at 32768
/// (Documentation/networking/ip-sysctl.rst), so that a port names one connection whatever its address. With more
/// connections after one move than it has ports, Linux uses ports again.
const FIRST_PORT: usize = 20_000;
const PORTS_OF_MOVE: usize = 1_500;

/// Where the client is.
#[derive(Debug, Default)]
pub(super) struct Moves {
    /// Moves made.
    made: usize,
    /// Pairs of addresses that it has left.
    left: usize,
    /// What the addresses of the last move are.
    families: Families,
    /// The range of ports before the first move.
    ports: Option<String>,
}

impl Moves {
    /// Moves the client once more. Its former addresses stay.
    pub(super) fn move_client(
        &mut self,
        families: Families,
        [client, server]: &[Endpoint; 2],
        mtu: u32,
        congestion: &str,
        link: &LeftAddresses,
    ) -> io::Result<()> {
        if self.made == MAX_MOVES {
            return Err(io::Error::other(format!(
                "a client moves at most {MAX_MOVES} times"
            )));
        }
        let first = FIRST_PORT + self.made * PORTS_OF_MOVE;
        let range = format!("{first} {}", first + PORTS_OF_MOVE - 1);
        if self.ports.is_none() {
            let read = || fs::read_to_string(format!("/proc/sys/net/{PORT_RANGE}"));
            self.ports = Some(client.netns.run(read)?);
        }
        // From here on there is something to undo, even if a step fails.
        self.made += 1;
        self.families = families;
        let (own, far) = (Addresses::of_client(self.made), server.side.addresses());
        server.add_addresses((far, own), families, mtu, congestion)?;
        (client.netns).run(|| sysctl::write(&[(PORT_RANGE, &range)]))?;
        link.moved();
        client.add_addresses((own, far), families, mtu, congestion)
    }

    /// Takes all addresses but the last from the client.
    pub(super) fn leave_addresses(
        &mut self,
        client: &Endpoint,
        abort_tcp: bool,
        link: &LeftAddresses,
    ) -> io::Result<()> {
        while self.left < self.made {
            link.leave(self.left, sys::monotonic_ns());
            client.remove_addresses(Addresses::of_client(self.left), abort_tcp)?;
            self.left += 1;
        }
        client.keep_routes(client.side.other().addresses(), self.families)
    }

    /// Takes the addresses of all moves away. The caller sets the first ones again.
    pub(super) fn undo(&mut self, client: &Endpoint) -> io::Result<()> {
        for made in self.left.max(1)..=self.made {
            client.remove_addresses(Addresses::of_client(made), false)?;
        }
        if let Some(ports) = &self.ports {
            let restore = || sysctl::write(&[(PORT_RANGE, ports.trim())]);
            client.netns.run(restore)?;
        }
        *self = Moves::default();
        Ok(())
    }
}
