//! The floods: what each server sends again and again.

use crate::FLOOD_BYTES;

/// What is kept as it came is this flood and the end of the one before, at most. Most requests take a hundredth of one.
/// Frames that were kept one by one would take many times their bytes.
const MEMORY_BYTES: usize = FLOOD_BYTES * 2;
/// h2 keeps up to 65,793 small frames that the app has not read, by half of the connection's window.
const SMALL_FRAMES_BYTES: usize = 64 << 20;

/// What a server sends once it has a request: some bytes, and others again and again.
pub(crate) struct Flood {
    pub(crate) name: &'static str,
    pub(crate) opening: Vec<u8>,
    pub(crate) round: Vec<u8>,
    /// The most heap that the request may take.
    pub(crate) memory_bytes: usize,
}

pub(crate) fn flood(
    name: &'static str,
    opening: impl Into<Vec<u8>>,
    round: impl Into<Vec<u8>>,
) -> Flood {
    Flood {
        name,
        opening: opening.into(),
        round: round.into(),
        memory_bytes: MEMORY_BYTES,
    }
}

pub(crate) fn over_http_1() -> Vec<Flood> {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let field = format!("x: {}\r\n", "y".repeat(1_000));
    let text = "y".repeat(1_000);
    vec![
        flood("fields", "HTTP/1.1 200 OK\r\n", field.clone()),
        flood("a field", "HTTP/1.1 200 OK\r\nx: ", text.clone()),
        flood("a status line", "HTTP/1.1 200 ", text.clone()),
        flood(
            "interim responses",
            "",
            format!("HTTP/1.1 100 Continue\r\n{field}\r\n"),
        ),
        flood("a chunk extension", chunked.to_owned() + "5;", text.clone()),
        flood("chunk extensions", chunked, format!("1;{text}\r\nx\r\n")),
        flood("trailers", chunked.to_owned() + "1\r\nx\r\n0\r\n", field),
        flood(
            "a chunk of 2^64 bytes",
            chunked.to_owned() + "ffffffffffffffff\r\n",
            text,
        ),
    ]
}

/// Returns a frame of HTTP/2.
pub(crate) fn h2_frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// Frame types of HTTP/2 (RFC 9113 section 6).
pub(crate) mod h2 {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
    pub(crate) const UNKNOWN: u8 = 0xfe;
    pub(crate) const END_HEADERS: u8 = 4;
    pub(crate) const PADDED: u8 = 8;
}

pub(crate) fn over_http_2() -> Vec<Flood> {
    use h2::*;
    let frame = h2_frame;
    // `:status: 200`, and a literal field of 1,000 bytes (RFC 7541 section 6.2.2).
    let head = || frame(HEADERS, END_HEADERS, 1, b"\x88");
    let field = [&b"\0\x01x\x7f\xe9\x06"[..], &[b'y'; 1_000]].concat();
    // A field of 3,900 bytes in the dynamic table, and the same by its index.
    let entry = [&b"\x88\x40\x01x\x7f\xbd\x1d"[..], &[b'y'; 3_900]].concat();
    let interim = [&b"\x08\x03103"[..], &field].concat();
    vec![
        flood(
            "continuations",
            frame(HEADERS, 0, 1, b"\x88"),
            frame(CONTINUATION, 0, 1, &field),
        ),
        flood(
            "empty continuations",
            frame(HEADERS, 0, 1, b"\x88"),
            frame(CONTINUATION, 0, 1, b""),
        ),
        flood(
            "a bomb of fields by index",
            frame(HEADERS, 0, 1, &entry),
            frame(CONTINUATION, 0, 1, &[0xbe; 16_000]),
        ),
        flood("pings", "", frame(PING, 0, 0, &[0; 8])),
        flood("settings", "", frame(SETTINGS, 0, 0, b"\0\x04\0\0\xff\xff")),
        flood(
            "table sizes",
            "",
            [
                frame(SETTINGS, 0, 0, b"\0\x01\0\0\0\0"),
                frame(SETTINGS, 0, 0, b"\0\x01\0\0\x10\0"),
            ]
            .concat(),
        ),
        flood("windows", "", frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])),
        flood("priorities", "", frame(PRIORITY, 0, 1, &[0; 5])),
        flood("empty data", head(), frame(DATA, 0, 1, b"")),
        flood("padding", head(), frame(DATA, PADDED, 1, b"\0")),
        Flood {
            memory_bytes: SMALL_FRAMES_BYTES,
            ..flood("bytes of data", head(), frame(DATA, 0, 1, b"x"))
        },
        flood(
            "interim responses",
            "",
            frame(HEADERS, END_HEADERS, 1, &interim),
        ),
        flood(
            "trailers",
            head(),
            frame(HEADERS, END_HEADERS, 1, b"\0\x01a\x01b"),
        ),
        flood(
            "pushed requests",
            "",
            frame(
                PUSH_PROMISE,
                END_HEADERS,
                1,
                b"\0\0\0\x02\x82\x87\x84\x01\x01x",
            ),
        ),
        flood("unknown frames", "", frame(UNKNOWN, 0, 0, &[0; 16_000])),
        flood(
            "a frame of 16 MB",
            b"\xff\xff\xff\0\0\0\0\0\x01",
            [0; 16_000],
        ),
        flood(
            "goodbyes",
            "",
            frame(
                GOAWAY,
                0,
                0,
                &[&[0, 0, 0, 1, 0, 0, 0, 0][..], &[0; 1_000]].concat(),
            ),
        ),
        flood(
            "data beyond the window",
            head(),
            frame(DATA, 0, 1, &[0; 16_000]),
        ),
    ]
}

/// Returns a frame of HTTP/3.
fn h3_frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    // The form in four bytes.
    let length = (payload.len() as u32 | 0x8000_0000).to_be_bytes();
    [&[kind], &length[..], payload].concat()
}

/// Frame types of HTTP/3 (RFC 9114 section 7.2), and one that is reserved.
mod h3 {
    pub(super) const DATA: u8 = 0;
    pub(super) const HEADERS: u8 = 1;
    pub(super) const PUSH_PROMISE: u8 = 5;
    pub(super) const GOAWAY: u8 = 7;
    pub(super) const RESERVED: u8 = 0x21;
    /// `:status: 200` and `:status: 103` (RFC 9204 appendix A).
    pub(super) const OK: &[u8] = b"\0\0\xd9";
    pub(super) const EARLY_HINTS: &[u8] = b"\0\0\xd8";
}

/// Floods of a response's stream, and of the server's control stream.
pub(crate) fn over_http_3() -> [Vec<Flood>; 2] {
    use h3::*;
    let frame = h3_frame;
    let head = || frame(HEADERS, OK);
    let of_stream = vec![
        flood("a head of 1 GB", b"\x01\xc0\0\0\0\x40\0\0\0", [0; 16_000]),
        flood(
            "an unknown frame of 1 GB",
            b"\x21\xc0\0\0\0\x40\0\0\0",
            [0; 16_000],
        ),
        flood("unknown frames", "", frame(RESERVED, &[0; 16_000])),
        flood("empty unknown frames", "", frame(RESERVED, b"")),
        flood("empty data", head(), frame(DATA, b"")),
        flood("bytes of data", head(), frame(DATA, b"x")),
        flood("interim responses", "", frame(HEADERS, EARLY_HINTS)),
        flood(
            "a bomb of fields by index",
            frame(HEADERS, &[OK, &[0xd1; 60_000]].concat()),
            frame(DATA, b"x"),
        ),
        flood("trailers", head(), frame(HEADERS, b"\0\0\x21a\x01b")),
        flood("pushed requests", "", frame(PUSH_PROMISE, b"\0\0\0\xd1")),
    ];
    let of_control = vec![
        flood("unknown frames", "", frame(RESERVED, &[0; 16_000])),
        flood(
            "an unknown frame of 1 GB",
            b"\x21\xc0\0\0\0\x40\0\0\0",
            [0; 16_000],
        ),
        flood("goodbyes", "", frame(GOAWAY, b"\0")),
    ];
    [of_stream, of_control]
}
