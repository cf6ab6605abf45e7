//! A request, and what is known of its connection.

use crate::flow::Flow;
use crate::packet::{Packet, Transport};

/// A request, by the clock of the packets.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The transport of its connection.
    pub transport: Transport,
    /// The client's port.
    pub port: u16,
    /// The application's call.
    pub start_ns: u64,
    /// The application has the whole response.
    pub end_ns: u64,
    /// The application had handed the request over to its transport, if the client tells.
    pub sent_ns: Option<u64>,
    /// The handshake of TLS or QUIC was done, if it was done within the call and the client tells.
    pub secured_ns: Option<u64>,
    /// The call opened the connection.
    pub opens: bool,
    /// Nagle's algorithm is known to be off at the client, and at the server.
    pub nodelay: [bool; 2],
    /// The server had read the request's head, and had handed over the response, by its log.
    pub server_ns: Option<(u64, u64)>,
    /// Bytes of the request's body.
    pub request_bytes: u64,
    /// Bytes of the response's body.
    pub response_bytes: u64,
}

/// A request with the packets of its connection.
#[derive(Clone, Copy)]
pub(crate) struct Observed<'a> {
    pub(crate) request: &'a Request,
    /// All packets of the cell.
    pub(crate) packets: &'a [Packet],
    pub(crate) flow: &'a Flow,
}

impl Observed<'_> {
    /// Returns the last packet that was delivered by a time and meets a condition.
    pub(crate) fn latest(
        &self,
        delivered: &[usize],
        by_ns: u64,
        is_wanted: impl Fn(&Packet) -> bool,
    ) -> Option<usize> {
        let end = delivered.partition_point(|&number| self.delivery_ns(number) <= by_ns);
        let mut earlier = delivered[..end].iter().rev().copied();
        earlier.find(|&number| is_wanted(&self.packets[number]))
    }

    /// Returns when a packet that was delivered reached its receiver.
    pub(crate) fn delivery_ns(&self, number: usize) -> u64 {
        let packet = &self.packets[number];
        packet.delivery_ns.unwrap_or(packet.left_ns)
    }
}
