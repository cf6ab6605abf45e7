//! Figures that a server's transport reports of its sending on one connection.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No fact is larger: a larger number is not exact in every reader of JSON, and none is plausible.
const LARGEST: u64 = 1 << 53;

/// The transport of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP, with TLS unless the event says otherwise.
    Tcp,
    /// QUIC, which includes TLS.
    Quic,
}

/// What the server's transport, i.e. its QUIC library or the kernel's TCP, told of its sending when
/// the connection ended. A fact that it does not report is absent, never 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Sender {
    /// Packets or segments sent, those without data and retransmissions included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_packets: Option<u64>,
    /// QUIC: packets declared lost (RFC 9002 section 6). TCP: segments retransmitted, which
    /// includes probes for the loss of the tail (RFC 8985 section 7).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_packets: Option<u64>,
    /// Bytes of `lost_packets`; TCP: without headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_bytes: Option<u64>,
    /// Of `lost_packets`, those that had arrived. QUIC: acknowledged later. TCP: reported as
    /// duplicates (DSACK, RFC 2883).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spurious_packets: Option<u64>,
    /// Times it saw packets acknowledged out of order (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorderings: Option<u64>,
    /// QUIC: probe timeouts (PTO, RFC 9002 section 6.2). TCP: retransmission timeouts (RTO).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeouts: Option<u64>,
    /// Times it reduced its congestion window (QUIC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_events: Option<u64>,
    /// Times it told the client that it waited for flow control (QUIC: DATA_BLOCKED and STREAM_DATA_BLOCKED, RFC 9000
    /// section 4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_frames: Option<u64>,
    /// Smoothed round-trip time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smoothed_rtt_ns: Option<u64>,
    /// Least round-trip time; TCP: of the last five minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt_ns: Option<u64>,
    /// Congestion window at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_bytes: Option<u64>,
    /// Congestion window at the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window_bytes: Option<u64>,
    /// Payload of the largest packet it sends at the end: of UDP, or of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_bytes: Option<u64>,
    /// Rate at which it would send at the end, bits per second (TCP; the kernel obeys it with BBR
    /// only).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_bps: Option<u64>,
    /// Rate at which data arrived last, bits per second (TCP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_bps: Option<u64>,
}

impl Sender {
    /// Checks that these facts can be true of a connection over this transport.
    ///
    /// # Errors
    ///
    /// The first fact that is out of bounds.
    pub fn check(&self, transport: Transport) -> Result<(), String> {
        let facts = [
            ("sent_packets", self.sent_packets),
            ("lost_packets", self.lost_packets),
            ("lost_bytes", self.lost_bytes),
            ("spurious_packets", self.spurious_packets),
            ("reorderings", self.reorderings),
            ("timeouts", self.timeouts),
            ("congestion_events", self.congestion_events),
            ("blocked_frames", self.blocked_frames),
            ("smoothed_rtt_ns", self.smoothed_rtt_ns),
            ("min_rtt_ns", self.min_rtt_ns),
            ("window_bytes", self.window_bytes),
            ("initial_window_bytes", self.initial_window_bytes),
            ("segment_bytes", self.segment_bytes),
            ("pacing_bps", self.pacing_bps),
            ("delivery_bps", self.delivery_bps),
        ];
        for (name, fact) in facts {
            if let Some(fact) = fact.filter(|fact| *fact > LARGEST) {
                return Err(format!("{name} {fact} is not plausible"));
            }
        }
        match (transport, self.sent_packets, self.lost_packets) {
            // TCP counts a repeated SYN-ACK as retransmitted, but not as sent.
            (Transport::Quic, Some(sent), Some(lost)) if lost > sent => {
                Err(format!("{lost} packets lost of {sent} sent"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plausible_facts_pass() {
        let of = |sent_packets, lost_packets| Sender {
            sent_packets,
            lost_packets,
            ..Sender::default()
        };
        for plausible in [Sender::default(), of(Some(9), Some(9)), of(None, Some(9))] {
            assert_eq!(plausible.check(Transport::Quic), Ok(()));
        }
        assert_eq!(of(Some(8), Some(9)).check(Transport::Tcp), Ok(()));
        for (false_facts, reason) in [
            (of(Some(8), Some(9)), "9 packets lost of 8 sent"),
            (of(Some(u64::MAX), None), "sent_packets"),
            (
                Sender {
                    delivery_bps: Some(LARGEST + 1),
                    ..Sender::default()
                },
                "delivery_bps",
            ),
        ] {
            let error = false_facts.check(Transport::Quic).unwrap_err();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    #[test]
    fn facts_that_are_not_told_are_absent() {
        let told = Sender {
            timeouts: Some(0),
            ..Sender::default()
        };
        let text = serde_json::to_string(&told).unwrap();
        assert_eq!(text, r#"{"timeouts":0}"#);
        assert_eq!(serde_json::from_str::<Sender>(&text).unwrap(), told);
        assert!(serde_json::from_str::<Sender>(r#"{"timeouts":-1}"#).is_err());
    }
}
