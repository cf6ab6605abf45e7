//! Frames in every split, and what h2 gets of them.

use std::cell::RefCell;

use futures_util::FutureExt;
use http_rules::Violation;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};

use super::*;

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).expect("it is short");
    let mut frame = vec![0, 0, length, kind, flags, 0x80, 0, 0, stream];
    frame.extend_from_slice(payload);
    frame
}

/// The notices, the marked streams, and what h2 gets.
type Read = (Vec<Notice>, Vec<u32>, Vec<u8>);

/// Reads these bytes in every split into two, and byte by byte.
fn read_all(bytes: &[u8]) -> Read {
    let in_pieces = |pieces: &[&[u8]]| {
        let (mut frames, mut told) = (Frames::default(), Vec::new());
        let mut passed = Vec::new();
        for piece in pieces {
            frames.read(piece, &mut passed, |notice| told.push(notice));
        }
        passed.extend(frames.end());
        let mut streams: Vec<u32> = frames.last_blocks.streams().keys().copied().collect();
        streams.sort_unstable();
        (told, streams, passed)
    };
    let whole = in_pieces(&[bytes]);
    for at in 0..=bytes.len() {
        let (first, second) = bytes.split_at(at);
        assert_eq!(in_pieces(&[first, second]), whole, "split at {at}");
    }
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(in_pieces(&single), whole);
    whole
}

/// Reads like [`read_all`], and checks that all bytes are passed on.
fn read(bytes: &[u8]) -> (Vec<Notice>, Vec<u32>) {
    let (told, streams, passed) = read_all(bytes);
    assert_eq!(passed, bytes);
    (told, streams)
}

fn head(stream: u8) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &[0x88])
}

#[test]
fn empty_data_is_kept_from_h2() {
    let kept = [
        frame(DATA, 0, 1, b"hello"),
        frame(DATA, PADDED, 1, &[1, 0]),
        head(3),
        frame(SETTINGS, 0, 0, &[]),
        frame(DATA, 0, 3, b"hello"),
    ];
    let (mut bytes, mut expected) = (head(1), head(1));
    for (frame_of, stream) in kept.iter().zip([1, 1, 3, 1, 3]) {
        bytes.extend([frame_of.clone(), frame(DATA, 0, stream, &[])].concat());
        expected.extend_from_slice(frame_of);
    }
    let end = [frame(DATA, END_STREAM, 1, &[]), vec![0, 0, 0, DATA]].concat();
    bytes.extend_from_slice(&end);
    expected.extend_from_slice(&end);
    let (told, streams, passed) = read_all(&bytes);
    assert_eq!((told, streams), (vec![Notice::Settings], vec![]));
    assert_eq!(passed, expected);
}

#[test]
fn empty_data_that_is_out_of_place_is_passed_on() {
    let (empty, ends) = (frame(DATA, 0, 1, &[]), END_HEADERS | END_STREAM);
    for before in [
        vec![],
        head(3),
        frame(HEADERS, 0, 1, &[0x88]),
        frame(HEADERS, ends, 1, &[0x88]),
        [head(1), frame(DATA, END_STREAM, 1, b"hello")].concat(),
        [head(1), frame(RST_STREAM, 0, 1, &[0; 4])].concat(),
        [head(1), frame(PUSH_PROMISE, 0, 1, &[0; 5])].concat(),
    ] {
        let (_, _, passed) = read_all(&[before.clone(), empty.clone()].concat());
        assert_eq!(passed, [before, empty.clone()].concat());
    }
    for wrong in [frame(DATA, 0, 0, &[]), frame(DATA, PADDED, 1, &[])] {
        let (_, _, passed) = read_all(&[head(1), wrong.clone()].concat());
        assert_eq!(passed, [head(1), wrong].concat());
    }
}

#[test]
fn endless_empty_data_is_passed_on() {
    let (mut frames, mut passed) = (Frames::default(), Vec::new());
    frames.read(&head(1), &mut Vec::new(), |_| {});
    let empty = frame(DATA, 0, 1, &[]);
    for _ in 0..MAX_EMPTY {
        frames.read(&empty, &mut passed, |_| {});
    }
    assert!(passed.is_empty());
    frames.read(&empty, &mut passed, |_| {});
    assert_eq!(passed, empty);
    frames.read(&frame(SETTINGS, 0, 0, &[]), &mut passed, |_| {});
    let before = passed.len();
    frames.read(&empty, &mut passed, |_| {});
    assert_eq!(passed.len(), before);
}

#[test]
fn streams_that_are_open_are_remembered_in_bounds() {
    let mut frames = Frames::default();
    for stream in 0..2 * MAX_STREAMS as u32 {
        frames.follow(HEADERS, END_HEADERS, stream);
    }
    assert_eq!(frames.open.len(), MAX_STREAMS);
    assert!(frames.open.contains(&(2 * MAX_STREAMS as u32 - 1)));
}

#[tokio::test]
async fn whoever_reads_gets_everything_in_whatever_pieces() {
    let (mut peer, io) = tokio::io::duplex(7);
    let (mut watched, _) = InspectedIo::new(BufReader::new(io), |_| {});
    let (data, empty) = (frame(DATA, 0, 1, b"hello"), frame(DATA, 0, 1, &[]));
    let sent = [
        &head(1)[..],
        &data,
        &empty,
        &data,
        &empty,
        &empty,
        &data,
        &data[..5],
    ];
    let sent = sent.concat();
    tokio::spawn(async move { peer.write_all(&sent).await });
    let (mut read, mut piece) = (Vec::new(), [0; 3]);
    loop {
        match watched.read(&mut piece).await.expect("it is open") {
            0 => break,
            bytes => read.extend_from_slice(&piece[..bytes]),
        }
    }
    assert_eq!(
        read,
        [&head(1)[..], &data, &data, &data, &data[..5]].concat()
    );
}

#[test]
fn settings_and_goaway_are_told() {
    let bytes = [
        frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]),
        frame(SETTINGS, ACK, 0, &[]),
        frame(0, 0, 1, &frame(GOAWAY, 0, 0, &[0; 8])),
        frame(6, 0, 0, &[0; 8]),
        frame(GOAWAY, 0, 0, &[0; 8]),
    ];
    let told = vec![Notice::Settings, Notice::GoAway];
    assert_eq!(read(&bytes.concat()), (told, vec![]));
}

#[tokio::test]
async fn settings_are_told_when_they_are_acted_on() {
    let (mut peer, io) = tokio::io::duplex(64);
    let told = RefCell::new(Vec::new());
    let (mut watched, _) =
        InspectedIo::new(BufReader::new(io), |notice| told.borrow_mut().push(notice));
    peer.write_all(&frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 1]))
        .await
        .expect("there is room");
    let mut bytes = [0; 64];
    assert_eq!(watched.read(&mut bytes).await.expect("it is open"), 15);
    assert_eq!(*told.borrow(), []);
    assert!(watched.read(&mut bytes).now_or_never().is_none());
    assert_eq!(*told.borrow(), [Notice::Settings]);
}

#[test]
fn padding_and_priority_come_before_the_fields() {
    let (ends, other) = (END_STREAM | END_HEADERS, [0x40, 1, b'x', 0]);
    let bytes = [
        frame(HEADERS, ends, 1, &[0x88]),
        frame(HEADERS, END_HEADERS, 3, &[0x88]),
        frame(HEADERS, ends, 5, &other),
        frame(HEADERS, ends | PADDED, 7, &[2, 0x88, 0, 0]),
        frame(HEADERS, ends | PRIORITY, 9, &[0, 0, 0, 0, 0, 0x88]),
        frame(
            HEADERS,
            ends | PADDED | PRIORITY,
            11,
            &[0, 0, 0, 0, 0, 0, 0x88],
        ),
        frame(HEADERS, ends | PADDED, 13, &[0x88, 0x40]),
        frame(HEADERS, ends, 15, &[]),
    ];
    assert_eq!(read(&bytes.concat()), (vec![], vec![1, 7, 9, 11]));
}

#[test]
fn a_block_goes_on_in_other_frames() {
    let padded = END_STREAM | PADDED;
    let bytes = [
        frame(HEADERS, END_STREAM, 1, &[]),
        frame(CONTINUATION, END_HEADERS, 1, &[0x88]),
        frame(HEADERS, END_STREAM, 3, &[0x40, 1]),
        frame(CONTINUATION, 0, 3, &[]),
        frame(CONTINUATION, END_HEADERS, 3, &[b'x', 0]),
        frame(HEADERS, padded, 5, &[3, 0x40, 1, 0, 0, 0]),
        frame(CONTINUATION, END_HEADERS, 5, &[b':', 0]),
        frame(HEADERS, 0, 7, &[]),
        frame(CONTINUATION, END_HEADERS, 7, &[0x88]),
    ];
    assert_eq!(read(&bytes.concat()), (vec![], vec![1, 5]));
}

#[test]
fn blocks_that_are_too_long_are_marked() {
    for (payload, expected) in [(255, None), (257, Some(Violation::HeadTooLong(256 << 10)))] {
        let (mut frames, mut passed) = (Frames::default(), Vec::new());
        let mut first = frame(HEADERS, END_STREAM, 1, &[]);
        let mut block = vec![0x40; payload << 10];
        let mut frame_of = |header: &mut Vec<u8>, bytes: Vec<u8>| {
            header[..3].copy_from_slice(&(bytes.len() as u32).to_be_bytes()[1..]);
            frames.read(header, &mut passed, |_| {});
            frames.read(&bytes, &mut passed, |_| {});
        };
        frame_of(&mut first, block.split_off(block.len() / 2));
        frame_of(&mut frame(CONTINUATION, END_HEADERS, 1, &[]), block);
        assert_eq!(frames.last_blocks.take(1), expected);
    }
}
