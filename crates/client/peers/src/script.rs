//! Scripts: a server's answer to one request, step by step.

use std::time::Duration;

use crate::rng::Rng;

/// A name and a value, which need not be valid.
pub type Field = (String, String);

/// Returns fields as a script has them.
pub fn fields(of: &[(&str, &str)]) -> Vec<Field> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    of.iter().map(owned).collect()
}

/// The answer to one request.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What is sent, in order.
    pub steps: Vec<Step>,
    /// How the bytes of the steps are cut.
    pub split: Split,
}

/// How bytes are cut for writing.
#[derive(Clone, Copy, Debug, Default)]
pub enum Split {
    /// All steps up to a pause or an end in one write.
    #[default]
    Whole,
    /// Each step in a write of its own.
    Steps,
    /// Pieces of random lengths, down to single bytes, from this seed.
    Bytes(u64),
}

/// A part of an answer.
#[derive(Clone, Debug)]
pub enum Step {
    /// The head of a response with its status.
    Head(Head),
    /// A field block without a status that is added (HTTP/2 and HTTP/3 only).
    Block(Head),
    /// A piece of the body: a chunk over HTTP/1.1 if the last head said `chunked`.
    Data(Data),
    /// Trailers and the end.
    Trailers(Vec<Field>),
    /// The end: the last chunk where the body is chunked, END_STREAM, or FIN.
    End,
    /// Bytes as they are, on the connection or on the stream of HTTP/3.
    Raw(Vec<u8>),
    /// A frame of HTTP/2 or HTTP/3.
    Frame {
        /// Its type.
        kind: u64,
        /// Its flags (HTTP/2 only).
        flags: u8,
        /// Whether it is on the request's stream rather than on stream 0 (HTTP/2) or the control stream (HTTP/3).
        on_stream: bool,
        /// Its payload.
        payload: Vec<u8>,
    },
    /// RST_STREAM or RESET_STREAM with this code; over HTTP/1.1 the connection is reset.
    Reset(u64),
    /// GOAWAY.
    GoAway {
        /// Whether this request is among those that were not taken.
        refuses: bool,
        /// The error code (HTTP/2 only).
        code: u32,
    },
    /// The end of the connection.
    Close(Close),
    /// Nothing for a while.
    Pause(Duration),
}

/// The head of a response.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The status; not used in a [`Step::Block`].
    pub status: u16,
    /// The fields.
    pub fields: Vec<Field>,
    /// Whether it has END_STREAM, or FIN follows.
    pub ends: bool,
    /// Bytes of padding (HTTP/2 only).
    pub padding: Option<u8>,
    /// Into how many frames it is cut (HTTP/2 only); 0 and 1 are one frame.
    pub frames: usize,
}

/// A piece of a body.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether it has END_STREAM, or FIN follows.
    pub ends: bool,
    /// Bytes of padding (HTTP/2 only).
    pub padding: Option<u8>,
}

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// As it should: `close_notify` and FIN, or CONNECTION_CLOSE with H3_NO_ERROR.
    Notify,
    /// FIN without `close_notify`, or CONNECTION_CLOSE with H3_INTERNAL_ERROR.
    Abrupt,
    /// A TCP reset, or CONNECTION_CLOSE with H3_INTERNAL_ERROR.
    Reset,
}

impl Script {
    /// Returns a script of these steps.
    pub fn new(steps: impl Into<Vec<Step>>) -> Self {
        let (steps, split) = (steps.into(), Split::Whole);
        Self { steps, split }
    }
}

impl Step {
    /// Returns a head with this status and these fields.
    pub fn head(status: u16, of: &[(&str, &str)]) -> Self {
        let fields = fields(of);
        Self::Head(Head {
            status,
            fields,
            ..Head::default()
        })
    }

    /// Returns a field block without anything added.
    pub fn block(of: &[(&str, &str)]) -> Self {
        let fields = fields(of);
        Self::Block(Head {
            fields,
            ..Head::default()
        })
    }

    /// Returns a piece of a body.
    pub fn data(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::Data(Data {
            bytes,
            ..Data::default()
        })
    }

    /// Returns a frame on the request's stream.
    pub fn frame(kind: u64, payload: &[u8]) -> Self {
        let payload = payload.to_vec();
        let (flags, on_stream) = (0, true);
        Self::Frame {
            kind,
            flags,
            on_stream,
            payload,
        }
    }
}

impl Split {
    /// Reports whether a step is written at once.
    pub(crate) const fn each_step(self) -> bool {
        !matches!(self, Self::Whole)
    }

    /// Returns the pieces in which bytes are written.
    pub(crate) fn pieces(self, bytes: &[u8]) -> Vec<&[u8]> {
        let Self::Bytes(seed) = self else {
            return vec![bytes];
        };
        let (mut rng, mut rest, mut pieces) = (Rng::new(seed), bytes, Vec::new());
        // Many pieces of a long body would only take time.
        while !rest.is_empty() && pieces.len() < 20 {
            let limit = rng.pick(&[2, 10, 200]);
            let (piece, after) = rest.split_at((1 + rng.below(limit)).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        pieces.push(rest);
        pieces
    }
}
