//! One connection: what client and server agreed on, its packets and its sockets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use server_log::Sender;

use crate::packets::PacketSeries;

/// What client and server agreed on for one connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionSettings {
    /// `tcp` or `quic`.
    pub transport: String,
    /// IP version that the client connected with, 4 or 6. A header of IPv6 has 20 bytes more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_version: Option<u8>,
    /// Protocol agreed on by ALPN, e.g. `h2`.
    pub alpn: String,
    /// TLS version, e.g. `TLSv1_3`.
    pub tls_version: String,
    /// TLS cipher suite.
    pub cipher: String,
    /// Key exchange group.
    pub group: String,
    /// Whether the TLS session was resumed.
    pub resumed: bool,
    /// Whether the server asked for another key share (HelloRetryRequest), one more round trip.
    pub hello_retry: bool,
    /// Size of the server's certificate chain; 0 when the session was resumed.
    pub chain_bytes: u64,
    /// The server's congestion control, read back.
    pub congestion: Option<String>,
    /// The server's library for this protocol and its version, e.g. `quinn-proto 0.11.17`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_library: Option<String>,
    /// Kind of the server's key: `p256` or `rsa-2048`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub certificate: String,
    /// Its packets, and which of them were lost at random; empty if none was seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packets: Vec<PacketSeries>,
    /// IP bytes of the packets with data that the server sent before anything but the client's
    /// first flight had reached it. Absent if there was none, and where an earlier connection had
    /// the same port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_flight_bytes: Option<u64>,
    /// What the server told of its sending when the connection ended; absent if it told nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<Sender>,
    /// The client's socket, if it was open when the cell ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Socket>,
    /// The server's socket, if it was open when the cell ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Socket>,
}

/// The options of a socket, read from the socket itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Socket {
    /// Send buffer, as the kernel counts it.
    pub send_buffer_bytes: u64,
    /// Receive buffer, as the kernel counts it; TCP's grows with use.
    pub receive_buffer_bytes: u64,
    /// TCP: whether Nagle's algorithm is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodelay: Option<bool>,
    /// TCP: congestion control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// TCP: payload of a full segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u32>,
    /// UDP: whether several datagrams may be received as one (GRO).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_gro: Option<bool>,
}

impl ConnectionSettings {
    /// Returns how many of the server's packets the link dropped; `None` if no packet was seen.
    pub fn dropped_down(&self) -> Option<u64> {
        let down = |series: &&PacketSeries| !series.up;
        let dropped = |series: &PacketSeries| (series.lost.len() + series.dropped.len()) as u64;
        (!self.packets.is_empty()).then(|| self.packets.iter().filter(down).map(dropped).sum())
    }

    /// Returns how many packets the server declared lost although they had arrived. For a library
    /// that does not report it, that is about how many more it declared lost than the link dropped.
    pub fn spurious_packets(&self) -> Option<u64> {
        let sender = self.sender.as_ref()?;
        sender
            .spurious_packets
            .or_else(|| Some(sender.lost_packets?.saturating_sub(self.dropped_down()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_beyond_those_dropped_were_taken_for_lost_without_cause() {
        let series = |up, lost: &[u32], dropped: &[u32]| PacketSeries {
            up,
            sent: 100,
            lost: lost.to_vec(),
            dropped: dropped.to_vec(),
            ..PacketSeries::default()
        };
        let mut connection = ConnectionSettings {
            sender: Some(Sender {
                lost_packets: Some(9),
                ..Sender::default()
            }),
            ..ConnectionSettings::default()
        };
        assert_eq!(connection.spurious_packets(), None);
        connection.packets = vec![
            series(true, &[1, 2, 3], &[]),
            series(false, &[1, 2], &[7]),
            series(false, &[], &[8]),
        ];
        assert_eq!(connection.dropped_down(), Some(4));
        assert_eq!(connection.spurious_packets(), Some(5));
        if let Some(sender) = &mut connection.sender {
            sender.spurious_packets = Some(0);
        }
        assert_eq!(connection.spurious_packets(), Some(0));
    }
}
