//! Encodes and decodes around a request of the study's own.
//!
//! The value is encoded as an app does, with dynamic objects, since its type is only known at run time. The payload's
//! bytes are sent instead of the result, so that every driver sends the same ones.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::hint::black_box;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Coded, ErrorKind, Setup};
use messages::{Compressor, Format};
use payload::{Dynamic, Objects};

use crate::stack_error::StackError;
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
    pub(crate) fn new(setup: &Setup, codec: messages::Codec) -> Result<Self, StackError> {
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

#[cfg(test)]
mod tests {
    use driver::protocol::CodedMessage;
    use messages::Compression;

    use super::*;

    fn coders(names: &[&str]) -> Coders {
        Coders {
            compressor: RefCell::new(Compressor::new(Compression::None)),
            by_name: (names.iter())
                .map(|&name| (name.to_owned(), Dynamic::Json))
                .collect(),
        }
    }

    fn fetch(payload: Option<&str>, answer: Option<&str>) -> Action {
        Action::Fetch {
            method: "POST".into(),
            path: "/".into(),
            headers: BTreeMap::new(),
            payload: payload.map(str::to_owned),
            answer: answer.map(str::to_owned),
        }
    }

    /// Returns the outcome of a call whose response has this body, and its row.
    fn call(coding: &Coding, body: &[u8]) -> (Result<bool, CallError>, driver::protocol::Row) {
        let (coders, trace) = (coders(&[]), Trace::new(1));
        coders.encode_request(coding, &trace);
        for chunk in body.chunks(1 << 20) {
            trace.receive(Bytes::copy_from_slice(chunk));
        }
        let decoded = coders.decode_response(coding, &trace);
        (decoded.map(|objects| objects.is_some()), trace.finish())
    }

    #[test]
    fn what_has_a_type_is_coded() {
        let coders = coders(&["request-1", "response-2"]);
        let json = Bytes::from_static(b"{\"a\": 1}");
        let prepare = |payload, answer| coders.prepare(&fetch(payload, answer), &json);
        let of = |payload, answer| {
            let coding = prepare(payload, answer).unwrap();
            coding.map(|coding| (coding.request.is_some(), coding.response.is_some()))
        };
        assert_eq!(of(Some("request-1"), None), Some((true, false)));
        assert_eq!(
            of(Some("request-1"), Some("response-1")),
            Some((true, false))
        );
        assert_eq!(of(None, Some("response-2")), Some((false, true)));
        assert_eq!(of(Some("request-2"), Some("response-1")), None);
        let coding = prepare(Some("request-1"), None).unwrap().unwrap();
        let (outcome, row) = call(&coding, b"no JSON");
        assert_eq!(outcome, Ok(false));
        assert!(row.encoded_ns.is_some() && row.received_ns >= row.encoded_ns);
    }

    #[test]
    fn a_payload_that_is_not_of_its_type_is_refused() {
        let prepared = coders(&["a"]).prepare(&fetch(Some("a"), None), &Bytes::from_static(b"{"));
        assert!(matches!(prepared, Err(StackError::Failed(_))));
    }

    #[test]
    fn a_long_response_is_decoded_as_a_whole() {
        let coding = Coding {
            request: None,
            response: Some(Dynamic::Json),
        };
        let mut body = vec![b'x'; 9 << 20];
        (body[0], body[(9 << 20) - 1]) = (b'"', b'"');
        assert_eq!(call(&coding, &body).0, Ok(true));
        body.pop();
        let error = call(&coding, &body).0.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol);
    }

    #[test]
    fn types_go_with_the_codec() {
        let message = |descriptors_file: &str| Coded {
            message: Some(CodedMessage {
                descriptors_file: descriptors_file.into(),
                name: "a.B".into(),
            }),
        };
        let plain = Coded { message: None };
        assert!(dynamic(Format::Json, &plain).is_ok());
        assert!(dynamic(Format::Msgpack, &plain).is_ok());
        assert!(dynamic(Format::Protobuf, &plain).is_err());
        assert!(dynamic(Format::Json, &message("/none")).is_err());
        let missing = dynamic(Format::Protobuf, &message("/none")).unwrap_err();
        assert!(missing.starts_with("/none: "), "{missing}");
    }
}
