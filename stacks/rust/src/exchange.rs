//! The work of an exchange around its call: make the message, encode it, decode the response.
//!
//! The engine does this, so that every stack sends the same bytes at the same cost.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;

use bytes::Bytes;
use driver::protocol::{CallError, Codec, ErrorKind, Hello, Setup};
use messages::bench::{Diag, DiagPayload};
use messages::{Coder, Kind, Message, Name};

use crate::stack_error::StackError;
use crate::trace::{Phase, Trace};

/// The codecs of `exchange` in the HTTP stacks, with the compressions that are common.
pub const CODECS: [&str; 9] = [
    "json",
    "protobuf",
    "msgpack",
    "msgpack-array",
    "msgpack-old",
    "json+gzip-6",
    "protobuf+gzip-6",
    "json+zstd-3",
    "protobuf+zstd-3",
];

/// Longest name of an unknown codec that is quoted.
const CODEC_NAME_CHARS: usize = 64;

/// `big-N` is the same for every seed.
const ANY_SEED: u64 = 1;

/// Returns codecs as `hello` lists them.
pub fn codecs(names: &[&str]) -> Vec<Codec> {
    names.iter().map(|name| Codec((*name).into())).collect()
}

/// The codec of a setup, and the messages that were read at setup.
pub(crate) struct Exchanger {
    codec: messages::Codec,
    /// Kept between calls, with the contexts of its compressor.
    coder: RefCell<Coder>,
    messages: BTreeMap<String, Arc<Message>>,
}

/// Where the message of a step comes from.
pub(crate) enum Source {
    /// It was read at setup.
    Loaded(Arc<Message>),
    /// It is made within the call.
    Generated(Name),
}

impl Exchanger {
    /// Reads the value files of `setup`.
    pub(crate) fn new(setup: &Setup, hello: &Hello) -> Result<Self, StackError> {
        let codec = find_codec(setup, hello)?;
        let messages = setup.values.iter().map(|(name, path)| {
            let invalid = |error: &dyn ToString| {
                StackError::Failed(format!(
                    "value file of {name}, {path}: {}",
                    error.to_string()
                ))
            };
            let kind = name.parse::<Name>().map_err(|e| invalid(&e))?.kind();
            let text = std::fs::read_to_string(path).map_err(|e| invalid(&e))?;
            let message = messages::from_value(kind, &text).map_err(|e| invalid(&e))?;
            Ok((name.clone(), Arc::new(message)))
        });
        Ok(Self {
            codec,
            coder: RefCell::new(codec.coder()),
            messages: messages.collect::<Result<_, StackError>>()?,
        })
    }

    pub(crate) fn codec(&self) -> messages::Codec {
        self.codec
    }

    /// Finds the message of a step, before the run starts.
    pub(crate) fn prepare(&self, message: &str, kind: &str) -> Result<Source, StackError> {
        let name: Name = message
            .parse()
            .map_err(|e: messages::NameError| StackError::Failed(e.to_string()))?;
        if name.kind().name() != kind {
            let reason = format!("{message} is of kind {}, not {kind}", name.kind().name());
            return Err(StackError::Failed(reason));
        }
        match (name, self.messages.get(message)) {
            (Name::Big { .. }, _) => Ok(Source::Generated(name)),
            (_, Some(loaded)) => Ok(Source::Loaded(Arc::clone(loaded))),
            (_, None) => {
                let reason = format!("setup has no value file of {message}");
                Err(StackError::Failed(reason))
            }
        }
    }

    /// Returns the message and its encoding, and records when each was ready.
    pub(crate) fn encode(&self, source: &Source, trace: &Trace) -> (Arc<Message>, Bytes) {
        let message = match source {
            Source::Loaded(message) => Arc::clone(message),
            Source::Generated(name) => {
                let message = name.message(ANY_SEED);
                trace.stamp(Phase::Created);
                Arc::new(message)
            }
        };
        let body = self.coder.borrow_mut().encode(&message);
        trace.stamp(Phase::Encoded);
        (message, body.into())
    }

    /// Returns the encoding of a message in parts, each a record with at most `chunk_bytes` of its
    /// payload, and records when they were ready.
    pub(crate) fn encode_parts(
        &self,
        source: &Source,
        chunk_bytes: NonZero<usize>,
        trace: &Trace,
    ) -> Vec<Bytes> {
        let Source::Loaded(message) = source else {
            unreachable!("no record is generated");
        };
        let Message::Diag(whole) = &**message else {
            unreachable!("only records are sent in parts");
        };
        let payload = whole
            .payload
            .as_ref()
            .map_or(&[][..], |payload| &payload.body);
        let mut coder = self.coder.borrow_mut();
        let mut encode = |body: &[u8]| {
            let payload = Some(DiagPayload {
                body: body.to_vec(),
            });
            let can_id = whole.can_id;
            let part = Diag { can_id, payload };
            Bytes::from(coder.encode(&Message::Diag(part)))
        };
        let parts = match payload {
            [] => vec![encode(&[])],
            payload => payload.chunks(chunk_bytes.get()).map(encode).collect(),
        };
        trace.stamp(Phase::Encoded);
        parts
    }

    /// Decodes the response. The trace compares it with the message sent when the call's group
    /// has ended.
    pub(crate) fn decode(&self, sent: Arc<Message>, trace: &Trace) -> Result<(), CallError> {
        let body = trace.body();
        let received = self.coder.borrow_mut().decode(sent.kind(), &body);
        let received = received.map_err(|error| CallError {
            kind: ErrorKind::Protocol,
            detail: error.to_string(),
        })?;
        trace.compare_later(sent, received);
        Ok(())
    }
}

/// Finds the message type that the schema calls `name`.
pub(crate) fn find_kind(name: &str) -> Result<Kind, StackError> {
    let unknown = || StackError::Failed(format!("no kind of message is named {name:?}"));
    Kind::find(name).ok_or_else(unknown)
}

/// Finds the setup's codec. The protocol's plain codec is always accepted, for setups without
/// exchanges.
fn find_codec(setup: &Setup, hello: &Hello) -> Result<messages::Codec, StackError> {
    let name = setup.codec.name();
    let supported =
        hello.codecs.contains(&setup.codec) || setup.codec == Codec::plain(setup.protocol);
    match name.parse() {
        Ok(codec) if supported => Ok(codec),
        _ => {
            let names: Vec<_> = hello.codecs.iter().map(Codec::name).collect();
            let shortened: String = name.chars().take(CODEC_NAME_CHARS).collect();
            let reason = format!("{} has {}", hello.stack, names.join(", "));
            Err(StackError::unsupported(
                format!("codec {shortened}"),
                reason,
            ))
        }
    }
}
