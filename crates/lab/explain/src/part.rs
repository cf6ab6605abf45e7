//! The kinds of time that a request can spend.

use std::ops::{Index, IndexMut};

/// The reason for a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The client's process and kernel.
    Client,
    /// The server's process and kernel.
    Server,
    /// The round trip of TCP's handshake (RFC 9293 section 3.5).
    TcpHandshake,
    /// Round trips of the TLS handshake over TCP.
    TlsHandshake,
    /// Round trips of QUIC's handshake, which includes that of TLS.
    QuicHandshake,
    /// Round trips in which a QUIC server waited until the client's address was validated (RFC 9000 section 8.1).
    AmplificationLimit,
    /// Round trips in which the client waited for the server's first HTTP/2 frame (RFC 9113 section 3.4).
    Settings,
    /// Round trips in which a short segment waited until an earlier short one was acknowledged (RFC 896).
    Nagle,
    /// Round trips in which a sender waited for acknowledgements with its window full (RFC 5681).
    CongestionWindow,
    /// The same, after packets of the call were lost.
    WindowAfterLoss,
    /// Round trips in which a sender waited for credit of HTTP/2 or QUIC although its congestion window had room (RFC 9113
    /// section 6.9, RFC 9000 section 4).
    FlowControl,
    /// Round trips in which a sender waited for room in TCP's receive window (RFC 9293 section 3.8.6).
    ReceiveWindow,
    /// The client waited until an earlier response on the HTTP/1.1 connection was complete (RFC 9112 section 9.3).
    ConnectionBusy,
    /// The round trip of request and response.
    Exchange,
    /// The bottleneck sent bytes of this connection.
    LinkBusy,
    /// The bottleneck sent copies of lost bytes of this connection.
    LinkBusyCopies,
    /// The bottleneck sent bytes of other connections that stood in front.
    LinkBusyOthers,
    /// The link carried nothing: an outage or a handover.
    LinkClosed,
    /// The phone's radio slept, or was being promoted.
    Radio,
    /// The round trip in which acknowledgements told of a loss (RFC 5681 section 3.2, RFC 9002 section 6.1).
    LossFast,
    /// A timer told of a loss, with the round trip before it (RFC 6298, RFC 9002 section 6.2).
    LossTimer,
    /// A receiver delayed an acknowledgement that its peer waited for (RFC 1122 section 4.2.3.2).
    DelayedAck,
    /// A sender that had been handed everything waited for a timer, e.g. for its pacing.
    Timer,
    /// No rule explains it.
    Unexplained,
}

impl Part {
    /// Every part, in the order in which they are shown.
    pub const ALL: [Part; 24] = [
        Part::TcpHandshake,
        Part::TlsHandshake,
        Part::QuicHandshake,
        Part::AmplificationLimit,
        Part::Settings,
        Part::Nagle,
        Part::DelayedAck,
        Part::ConnectionBusy,
        Part::Exchange,
        Part::CongestionWindow,
        Part::WindowAfterLoss,
        Part::FlowControl,
        Part::ReceiveWindow,
        Part::LinkBusy,
        Part::LinkBusyCopies,
        Part::LinkBusyOthers,
        Part::LinkClosed,
        Part::Radio,
        Part::LossFast,
        Part::LossTimer,
        Part::Timer,
        Part::Client,
        Part::Server,
        Part::Unexplained,
    ];

    /// Returns the name used in records.
    pub fn name(self) -> &'static str {
        match self {
            Part::Client => "client",
            Part::Server => "server",
            Part::TcpHandshake => "tcp_handshake",
            Part::TlsHandshake => "tls_handshake",
            Part::QuicHandshake => "quic_handshake",
            Part::AmplificationLimit => "amplification_limit",
            Part::Settings => "settings",
            Part::Nagle => "nagle",
            Part::CongestionWindow => "congestion_window",
            Part::WindowAfterLoss => "window_after_loss",
            Part::FlowControl => "flow_control",
            Part::ReceiveWindow => "receive_window",
            Part::Exchange => "exchange",
            Part::LinkBusy => "link_busy",
            Part::LinkBusyCopies => "link_busy_copies",
            Part::LinkBusyOthers => "link_busy_others",
            Part::LinkClosed => "link_closed",
            Part::Radio => "radio",
            Part::ConnectionBusy => "connection_busy",
            Part::LossFast => "loss_fast",
            Part::LossTimer => "loss_timer",
            Part::DelayedAck => "delayed_ack",
            Part::Timer => "timer",
            Part::Unexplained => "unexplained",
        }
    }

    /// Reports whether the time is that of packets on their way, so that it can be given in round trips.
    pub fn is_round_trip(self) -> bool {
        matches!(
            self,
            Part::TcpHandshake
                | Part::TlsHandshake
                | Part::QuicHandshake
                | Part::AmplificationLimit
                | Part::Settings
                | Part::Nagle
                | Part::CongestionWindow
                | Part::WindowAfterLoss
                | Part::FlowControl
                | Part::ReceiveWindow
                | Part::Exchange
                | Part::LossFast
        )
    }
}

/// The time of each part, in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts([u64; Part::ALL.len()]);

impl Parts {
    /// Returns the parts that are not zero, in the order in which they are shown.
    pub fn present(&self) -> impl Iterator<Item = (Part, u64)> + '_ {
        let all = Part::ALL.into_iter().map(|part| (part, self[part]));
        all.filter(|&(_, ns)| ns > 0)
    }

    /// Returns the sum of all parts.
    pub fn total_ns(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Index<Part> for Parts {
    type Output = u64;

    fn index(&self, part: Part) -> &u64 {
        &self.0[part as usize]
    }
}

impl IndexMut<Part> for Parts {
    fn index_mut(&mut self, part: Part) -> &mut u64 {
        &mut self.0[part as usize]
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_part_is_shown_once_under_its_own_name() {
        let shown: BTreeSet<usize> = Part::ALL.iter().map(|&part| part as usize).collect();
        assert!(shown.into_iter().eq(0..Part::ALL.len()));
        let names: BTreeSet<&str> = Part::ALL.iter().map(|part| part.name()).collect();
        assert_eq!(names.len(), Part::ALL.len());
    }

    #[test]
    fn times_of_packets_on_their_way_are_round_trips() {
        let counts = [Part::Exchange, Part::Nagle, Part::LinkBusy, Part::Client];
        let counts = counts.map(Part::is_round_trip);
        assert_eq!(counts, [true, true, false, false]);
    }
}
