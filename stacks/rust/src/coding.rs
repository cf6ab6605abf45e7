//! What is encoded and decoded around a request of the study's own.
//!
//! The value is encoded as an app does, with dynamic objects, since its type is only known at run time. What
//! is then sent are the payload's bytes, so that every driver sends the same ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Coded, ErrorKind, Setup};
use payload::{Dynamic, Objects};
use wire::{Compressor, Format};

use crate::stack::StackError;
use crate::trace::{Phase, Trace};

/// No body of a study decompresses to more.
const MAX_BODY_BYTES: usize = 64 << 20;

/// How the bodies of a setup are encoded and decoded, by their names.
pub(crate) struct Coders {
    /// Kept between calls, with its contexts.
    compressor: RefCell<Compressor>,
    by_name: BTreeMap<String, Dynamic>,
}

/// What is encoded and decoded around one request.
pub(crate) struct Coding {
    request: Option<(Dynamic, Objects)>,
    response: Option<Dynamic>,
}

impl Coders {
    /// Reads the types of `setup`, whose codec is `codec`.
    pub(crate) fn new(setup: &Setup, codec: wire::Codec) -> Result<Self, StackError> {
        let by_name = setup.coded.iter().map(|(name, coded)| {
            let coder = dynamic(codec.format, coded);
            let coder = coder.map_err(|e| StackError::Failed(format!("coded {name}: {e}")))?;
            Ok((name.clone(), coder))
        });
        Ok(Self {
            compressor: RefCell::new(Compressor::new(codec.compression)),
            by_name: by_name.collect::<Result<_, StackError>>()?,
        })
    }

    /// Decodes the payload of a step `fetch`, to be encoded in the call; none where nothing is coded.
    pub(crate) fn prepare(
        &self,
        action: &Action,
        body: &Bytes,
    ) -> Result<Option<Coding>, StackError> {
        let Action::Fetch {
            payload, answer, ..
        } = action
        else {
            return Ok(None);
        };
        let coder = |name: &Option<String>| self.by_name.get(name.as_deref()?).cloned();
        let request = coder(payload).map(|coder| {
            let objects = self.decode(&coder, body);
            let failed = |e| StackError::Failed(format!("payload {payload:?}: {e}"));
            Ok((coder, objects.map_err(failed)?))
        });
        let (request, response) = (request.transpose()?, coder(answer));
        let is_coded = request.is_some() || response.is_some();
        Ok(is_coded.then_some(Coding { request, response }))
    }

    /// Encodes the request's value, and records when it was ready.
    pub(crate) fn encode_request(&self, coding: &Coding, trace: &Trace) {
        if let Some((coder, objects)) = &coding.request {
            let plain = coder.encode(objects);
            black_box(self.compressor.borrow_mut().compress(plain));
        }
        trace.stamp(Phase::Encoded);
        if coding.response.is_some() {
            trace.keep_body();
        }
    }

    /// Records that the response is there, and decodes it.
    pub(crate) fn decode_response(
        &self,
        coding: &Coding,
        trace: &Trace,
    ) -> Result<Option<Objects>, CallError> {
        trace.stamp(Phase::Received);
        let Some(coder) = &coding.response else {
            return Ok(None);
        };
        let decoded = self.decode(coder, &trace.body());
        decoded.map(Some).map_err(|detail| CallError {
            kind: ErrorKind::Protocol,
            detail,
        })
    }

    fn decode(&self, coder: &Dynamic, body: &[u8]) -> Result<Objects, String> {
        let mut compressor = self.compressor.borrow_mut();
        let plain = compressor.decompress(body, MAX_BODY_BYTES);
        let plain = plain.map_err(|e| e.to_string())?;
        coder.decode(&plain).map_err(|e| e.to_string())
    }
}

/// Returns how a body in a format is encoded and decoded.
fn dynamic(format: Format, coded: &Coded) -> Result<Dynamic, String> {
    match (format, &coded.message) {
        (Format::Json, None) => Ok(Dynamic::Json),
        (Format::Msgpack, None) => Ok(Dynamic::Msgpack),
        (Format::Protobuf, Some(message)) => {
            let set = std::fs::read(&message.descriptors_file)
                .map_err(|e| format!("{}: {e}", message.descriptors_file))?;
            Dynamic::of_descriptor_set(&set, &message.name).map_err(|e| e.to_string())
        }
        _ => Err("its type does not go with the codec".to_owned()),
    }
}
