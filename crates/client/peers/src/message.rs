//! Random valid responses.

use std::time::Duration;

use crate::Protocol;
use crate::rng::Rng;
use crate::script::{Close, Data, Field, Head, Step, fields};

/// A valid response to a request, as steps and as what a client makes of them.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<Field>,
    /// Whether a body may follow the head.
    pub(crate) has_body: bool,
    /// Whether the end of the connection ends the body (HTTP/1.1 only).
    pub(crate) until_close: bool,
    pub(crate) steps: Vec<Step>,
    /// What is unusual about it.
    pub(crate) what: &'static str,
}

impl Message {
    /// Makes a response to a request with this method.
    pub(crate) fn new(protocol: Protocol, method: &str, rng: &mut Rng) -> Self {
        let status = rng.pick(&[200, 200, 200, 200, 206, 404, 503, 204, 205, 304]);
        let has_body = method != "HEAD" && ![204, 205, 304].contains(&status);
        let length = match has_body {
            true => rng.pick(&[0, 1, 5, 100, 1_000, 5_000, 20_000, 60_000]),
            false => 0,
        };
        let body = rng.bytes(length);
        let coding = match protocol {
            Protocol::H1 if has_body => rng.pick(&[Coding::Length, Coding::Chunked, Coding::Close]),
            // A response without content says so (RFC 9110 section 15.3.6).
            _ if status == 205 => Coding::Length,
            Protocol::H1 => Coding::None,
            _ => rng.pick(&[Coding::Length, Coding::None]),
        };
        let mut message = Self {
            status,
            trailers: Vec::new(),
            has_body,
            until_close: coding == Coding::Close,
            steps: Vec::new(),
            what: "a whole response",
            body,
        };
        let may_have_trailers = match protocol {
            Protocol::H1 => coding == Coding::Chunked,
            _ => has_body,
        };
        if may_have_trailers && rng.chance(25) {
            message.trailers = fields(&[("x-checksum", "5"), ("x-after", "the body")]);
        }
        message.interim(rng);
        message.head(protocol, coding, rng);
        message.pieces(protocol, coding, rng);
        if protocol != Protocol::H1 && rng.chance(30) {
            message.add_frames(protocol, rng);
        }
        message
    }

    fn interim(&mut self, rng: &mut Rng) {
        if rng.chance(15) {
            for _ in 0..=rng.below(3) {
                let status = rng.pick(&[100, 102, 103]);
                self.steps
                    .push(Step::head(status, &[("link", "</style.css>; rel=preload")]));
            }
        }
    }

    fn head(&mut self, protocol: Protocol, coding: Coding, rng: &mut Rng) {
        let mut of = fields(&[("content-type", "application/octet-stream")]);
        if rng.chance(20) {
            of.push(("x-long".to_owned(), "y".repeat(rng.below(3_000))));
        }
        match coding {
            // RFC 9110 section 8.6: 204 has none; HEAD and 304 say what GET would get.
            Coding::Length | Coding::None if self.status == 204 => {}
            Coding::Length => of.push(length(self.body.len())),
            Coding::None if !self.has_body && rng.chance(50) => {
                if self.status == 304 {
                    self.what = "304 with a length";
                }
                of.push(length(1_234));
            }
            Coding::Chunked => of.extend(fields(&[("transfer-encoding", "chunked")])),
            Coding::Close => of.extend(fields(&[("connection", "close")])),
            Coding::None => {}
        }
        let is_last = self.body.is_empty() && self.trailers.is_empty();
        self.steps.push(Step::Head(Head {
            status: self.status,
            fields: of,
            ends: protocol != Protocol::H1 && is_last && rng.chance(50),
            padding: rng.chance(20).then_some(9),
            frames: rng.below(3),
        }));
    }

    fn pieces(&mut self, protocol: Protocol, coding: Coding, rng: &mut Rng) {
        if matches!(self.steps.last(), Some(Step::Head(head)) if head.ends) {
            return;
        }
        let mut rest = &self.body[..];
        while !rest.is_empty() {
            let limit = rng.pick(&[10, 2_000, 100_000]).min(rest.len());
            let (piece, after) = rest.split_at(1 + rng.below(limit));
            // A body in tiny pieces would only take time.
            let (piece, after) = if self.steps.len() > 30 {
                (rest, &[][..])
            } else {
                (piece, after)
            };
            rest = after;
            let ends = protocol != Protocol::H1
                && rest.is_empty()
                && self.trailers.is_empty()
                && rng.chance(50);
            self.steps.push(Step::Data(Data {
                bytes: piece.to_vec(),
                ends,
                padding: rng.chance(20).then_some(5),
            }));
            if rng.chance(3) {
                let time = Duration::from_millis(rng.pick(&[1, 5, 20, 200]));
                self.steps.push(Step::Pause(time));
            }
            if ends {
                return;
            }
        }
        if !self.trailers.is_empty() {
            self.steps.push(Step::Trailers(self.trailers.clone()));
        } else if protocol != Protocol::H1 || coding == Coding::Chunked {
            self.steps.push(Step::End);
        }
        if coding == Coding::Close {
            self.steps.push(Step::Close(Close::Notify));
        }
    }

    /// Puts frames between the steps that mean nothing to the request.
    fn add_frames(&mut self, protocol: Protocol, rng: &mut Rng) {
        for _ in 0..=rng.below(3) {
            // Not after the end of the stream.
            let at = rng.below(self.steps.len());
            let is_behind_head = self.steps[..at]
                .iter()
                .any(|step| matches!(step, Step::Head(head) if head.status >= 200));
            let payload = rng.bytes(8);
            let frame = |kind, on_stream, payload| Step::Frame {
                kind,
                flags: 0,
                on_stream,
                payload,
            };
            let unknown = match protocol {
                // RFC 9114 section 7.2.8.
                Protocol::H3 => 0x21 + 0x1f * rng.below(1_000) as u64,
                _ => 0x20 + rng.below(100) as u64,
            };
            let step = match rng.below(4) {
                0 if is_behind_head && self.has_body => {
                    self.what = "a whole response with empty DATA frames";
                    Step::data([])
                }
                1 if protocol == Protocol::H2 => frame(6, false, payload),
                // WINDOW_UPDATE.
                2 if protocol == Protocol::H2 => frame(8, true, vec![0, 0, 0, 9]),
                3 => frame(unknown, false, payload),
                _ => frame(unknown, true, payload),
            };
            self.steps.insert(at, step);
        }
    }
}

/// How the end of a body is found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Length,
    Chunked,
    Close,
    None,
}

fn length(bytes: usize) -> Field {
    ("content-length".to_owned(), bytes.to_string())
}
