//! What is between the captures and rewrites headers.

use super::*;

/// Timestamps of 1 and 2 (RFC 7323 section 3.2).
const STAMP_1: &[u8] = &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0];
const STAMP_2: &[u8] = &[1, 1, 8, 10, 0, 0, 0, 2, 0, 0, 0, 0];

fn request(client_port: u16, sent: [u32; 2], options: [&'static [u8]; 2]) -> Talk {
    let mut talk = Talk::new();
    (talk.client_port, talk.sent, talk.options) = (client_port, sent, options);
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    talk.data(DOWN, asked, 300);
    talk
}

fn captures(at_client: &[Talk], at_server: &[Talk]) -> Result<Explained, CaptureError> {
    let [client, server] = [at_client, at_server].map(|of| {
        let mut all = Talk::new();
        of.iter().for_each(|talk| all.add(talk));
        all
    });
    explain(&[client.capture(0), server.capture(1)], None)
}

#[test]
fn connections_whose_headers_are_rewritten_are_listed_for_each_end() {
    let same = || request(4_000, [u32::MAX - 100, 7_000], [&[]; 2]);
    let rewritten = [
        // Sequence numbers, or timestamps.
        [
            request(4_001, [5_000, 9_000], [&[]; 2]),
            request(4_001, [6_000, 9_000], [&[]; 2]),
        ],
        [
            request(4_001, [5_000, 9_000], [STAMP_1, STAMP_1]),
            request(4_001, [5_000, 9_000], [STAMP_2, STAMP_1]),
        ],
    ];
    for [at_client, at_server] in rewritten {
        let found = captures(&[same(), at_client], &[same(), at_server]).unwrap();
        let ends = found.connections.iter().map(|of| of.captured_at);
        assert_eq!(
            ends.collect::<Vec<_>>(),
            [End::Both, End::Client, End::Server]
        );
        for alone in &found.connections[1..] {
            assert!(alone.exchanges.is_empty());
            let reason = alone.not_explained.as_ref().unwrap();
            assert!(reason.contains("rewrites them"), "{reason}");
        }
        assert_eq!(found.left_out.in_one_capture, 0);
    }
}

/// A connection of another port is another one, whatever its sequence numbers are.
#[test]
fn connections_without_an_equal_port_are_not_matched() {
    let at_client = request(4_001, [5_000, 9_000], [&[]; 2]);
    let mut at_server = request(4_002, [5_000, 9_000], [&[]; 2]);
    for (_, frame) in &mut at_server.frames[1] {
        for at in [34, 36] {
            if frame[at..at + 2] == 443_u16.to_be_bytes() {
                frame[at..at + 2].copy_from_slice(&444_u16.to_be_bytes());
            }
        }
    }
    let error = captures(&[at_client], &[at_server]).unwrap_err();
    assert!(
        error.to_string().contains("no connection is in both"),
        "{error}"
    );
}
