//! The answer from one capture.

use super::{HEADROOM_NS, Scene, Walker, check_count, facts, too_long, too_many_pieces};
use crate::connection::{Connection, Connections};
use crate::error::CaptureError;
use crate::explained::{CaptureFacts, ConnectionFacts, End, Explained, FORMAT, LeftOut};
use crate::single::{Single, Undetermined};
use crate::{Capture, Limits};

/// Explains one capture, each connection for itself: that two share a bottleneck cannot be seen from an end.
pub(super) fn explain(capture: &Capture, walker: &mut Walker) -> Result<Explained, CaptureError> {
    let connections = Connections::of(capture);
    check_count(capture, connections.established.len())?;
    let origin_ns = i128::from(capture.span_ns[0]) - i128::from(HEADROOM_NS);
    let explained = connections.established.iter().map(|connection| {
        let limits = capture.limits;
        if connection.is_too_long {
            return ConnectionFacts {
                not_explained: Some(too_long(limits)),
                ..facts(connection)
            };
        }
        match Single::of(connection, origin_ns, limits.pieces) {
            Ok(single) => explained(connection, single, walker),
            Err(reason) => ConnectionFacts {
                not_explained: Some(words(reason, limits)),
                ..facts(connection)
            },
        }
    });
    Ok(Explained {
        format: FORMAT,
        clock: None,
        connections: explained.collect(),
        captures: vec![CaptureFacts::of(capture)],
        left_out: LeftOut {
            without_handshake: connections.without_handshake,
            unanswered: connections.unanswered,
            ..LeftOut::of(&[capture])
        },
        packets: Vec::new(),
    })
}

fn explained(connection: &Connection, mut single: Single, walker: &mut Walker) -> ConnectionFacts {
    let transits = std::mem::take(&mut single.transits);
    let all = 0..transits.len();
    let scene = Scene::of(&[(connection, all.clone())], transits, single.rtt_ns);
    let mut missing = [0; 2];
    missing[single.near] = single.missing_bytes;
    let (exchanges, unanswered_bytes) = walker.exchanges(&scene, (0, all), |span, steps| {
        for step in steps {
            step.part = single.known(span, step);
        }
    });
    ConnectionFacts {
        captured_at: [End::Client, End::Server][single.near],
        rtt_ns: single.rtt_ns,
        copies: Some(single.repairs),
        missing_bytes: missing,
        unanswered_bytes,
        exchanges,
        ..facts(connection)
    }
}

fn words(reason: Undetermined, limits: Limits) -> String {
    match reason {
        Undetermined::NoHandshake => {
            "the capture lacks the client's answer to the SYN-ACK, so that it does not show at which end it was made"
                .to_owned()
        }
        Undetermined::Between([to_server_ns, to_client_ns]) => format!(
            "the SYN was answered after {:.3} ms and the SYN-ACK after {:.3} ms, so that the capture was made between \
             the ends, or both are near: capture at the client, at the server, or at both",
            to_server_ns as f64 / 1e6,
            to_client_ns as f64 / 1e6
        ),
        Undetermined::TooManyPieces => too_many_pieces(limits.pieces),
    }
}
