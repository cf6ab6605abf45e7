//! An app's whole loop around a call: make the message, encode it; decode the answer.
//!
//! It is the engine's, so that every stack carries the same bytes and pays the same for them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use driver::protocol::{CallError, Codec, ErrorKind, Hello, Setup};
use wire::{Coder, Kind, Message, Name};

use crate::trace::Phase;
use crate::{Refused, Trace};

/// The codecs in which the HTTP stacks exchange: the wire's, a compression where it is
/// customary.
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

/// Codecs as `hello` names them.
pub fn codecs(names: &[&str]) -> Vec<Codec> {
    names.iter().map(|name| Codec((*name).into())).collect()
}

/// The codec of a setup at work, and the messages that were there before.
pub(crate) struct Exchanges {
    codec: wire::Codec,
    /// Kept from call to call, and with it what a compressor keeps.
    coder: RefCell<Coder>,
    read: BTreeMap<String, Arc<Message>>,
}

/// Where the message of a step comes from.
pub(crate) enum Source {
    /// It was read at setup.
    Ready(Arc<Message>),
    /// It is made within the call.
    ByRule(Name),
}

impl Exchanges {
    /// Reads every message that `setup` names.
    pub(crate) fn new(setup: &Setup, hello: &Hello) -> Result<Self, Refused> {
        let codec = codec(setup, hello)?;
        let read = setup.values.iter().map(|(name, path)| {
            let bad = |error: &dyn ToString| {
                Refused::Failed(format!(
                    "value file of {name}, {path}: {}",
                    error.to_string()
                ))
            };
            let kind = name.parse::<Name>().map_err(|e| bad(&e))?.kind();
            let text = std::fs::read_to_string(path).map_err(|e| bad(&e))?;
            let message = wire::from_value(kind, &text).map_err(|e| bad(&e))?;
            Ok((name.clone(), Arc::new(message)))
        });
        Ok(Self {
            codec,
            coder: RefCell::new(codec.coder()),
            read: read.collect::<Result<_, Refused>>()?,
        })
    }

    pub(crate) fn codec(&self) -> wire::Codec {
        self.codec
    }

    /// Finds the message of a step before the run begins.
    pub(crate) fn prepare(&self, message: &str, kind: &str) -> Result<Source, Refused> {
        let name: Name = message
            .parse()
            .map_err(|e: wire::NameError| Refused::Failed(e.to_string()))?;
        if name.kind().name() != kind {
            let reason = format!("{message} is of kind {}, not {kind}", name.kind().name());
            return Err(Refused::Failed(reason));
        }
        match (name, self.read.get(message)) {
            (Name::Big { .. }, _) => Ok(Source::ByRule(name)),
            (_, Some(ready)) => Ok(Source::Ready(Arc::clone(ready))),
            (_, None) => Err(Refused::Failed(format!("setup has no value of {message}"))),
        }
    }

    /// The message and its bytes.
    pub(crate) fn encode(&self, source: &Source, trace: &Trace) -> (Arc<Message>, Bytes) {
        let message = match source {
            Source::Ready(message) => Arc::clone(message),
            Source::ByRule(name) => {
                let message = name.message(ANY_SEED);
                trace.stamp(Phase::Created);
                Arc::new(message)
            }
        };
        let body = self.coder.borrow_mut().encode(&message);
        trace.stamp(Phase::Encoded);
        (message, body.into())
    }

    /// Decodes the answer; whether it is equal to what was sent, the trace sees when the
    /// call's group has ended.
    pub(crate) fn decode(&self, sent: Arc<Message>, trace: &Trace) -> Result<(), CallError> {
        let body = trace.body();
        let answer = self.coder.borrow_mut().decode(sent.kind(), &body);
        let answer = answer.map_err(|error| CallError {
            kind: ErrorKind::Protocol,
            detail: error.to_string(),
        })?;
        trace.compare_later(sent, answer);
        Ok(())
    }
}

/// Makes sure that there is such a kind.
pub(crate) fn kind(name: &str) -> Result<Kind, Refused> {
    let unknown = || Refused::Failed(format!("no kind of message is named {name:?}"));
    Kind::find(name).ok_or_else(unknown)
}

/// One that the driver has; the plain one of the protocol also serves calls that are no
/// exchange.
fn codec(setup: &Setup, hello: &Hello) -> Result<wire::Codec, Refused> {
    let name = setup.codec.name();
    let known = hello.codecs.contains(&setup.codec) || setup.codec == Codec::plain(setup.protocol);
    match name.parse() {
        Ok(codec) if known => Ok(codec),
        _ => {
            let names: Vec<_> = hello.codecs.iter().map(Codec::name).collect();
            let short: String = name.chars().take(64).collect();
            let reason = format!("{} has {}", hello.stack, names.join(", "));
            Err(Refused::unsupported(format!("codec {short}"), reason))
        }
    }
}

/// `big-N` is the same for every seed.
const ANY_SEED: u64 = 1;
