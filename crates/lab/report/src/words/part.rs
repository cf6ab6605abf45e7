//! The parts of a request's time in words.

use explain::Part;

/// Returns the words for a part.
pub(crate) fn part_words(part: Part) -> &'static str {
    match part {
        Part::Client => "client",
        Part::Server => "server",
        Part::TcpHandshake => "TCP handshake",
        Part::TlsHandshake => "TLS handshake",
        Part::QuicHandshake => "QUIC handshake",
        Part::AmplificationLimit => "amplification limit",
        Part::Settings => "waiting for SETTINGS",
        Part::Nagle => "Nagle delay",
        Part::CongestionWindow => "congestion window",
        Part::WindowAfterLoss => "window after loss",
        Part::FlowControl => "flow control",
        Part::ReceiveWindow => "TCP receive window",
        Part::Exchange => "request and response",
        Part::LinkBusy => "link busy",
        Part::LinkBusyCopies => "link busy (copies)",
        Part::LinkBusyOthers => "link busy (others)",
        Part::LinkClosed => "link closed",
        Part::Radio => "radio asleep",
        Part::ConnectionBusy => "connection busy",
        Part::LossFast => "fast loss recovery",
        Part::LossTimer => "loss recovery by timer",
        Part::DelayedAck => "delayed ACK",
        Part::Timer => "timer",
        Part::Unexplained => "unexplained",
    }
}

/// Returns a number of round trips in words, e.g. `one round trip` or `1.5 round trips`; `None` if it rounds to zero.
pub(crate) fn round_trip_words(n: f64) -> Option<String> {
    let whole = n.round();
    match (n - whole).abs() < 0.05 {
        true if whole == 0.0 => None,
        true if whole == 1.0 => Some("one round trip".to_owned()),
        true => Some(format!("{whole:.0} round trips")),
        false => Some(format!("{n:.1} round trips")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_counted() {
        let words = [0.04, 0.5, 0.96, 1.04, 1.06, 2.0, 6.13].map(round_trip_words);
        let words = words.map(Option::unwrap_or_default);
        let expected = [
            "",
            "0.5 round trips",
            "one round trip",
            "one round trip",
            "1.1 round trips",
            "2 round trips",
            "6.1 round trips",
        ];
        assert_eq!(words, expected);
    }
}
