//! The form in which an arm sends bodies: as they are, in its codec, or as messages of gRPC.

use std::sync::Arc;

use driver::protocol::{Codec, Protocol};
use messages::{Compressor, Format};
use payload::{Dynamic, InferError, Sample, SampleError, infer};

use super::{OwnRequest, Payload};
use crate::{Arm, Step};

/// The longest message that gRPC's libraries receive by default.
const MAX_MESSAGE_BYTES: usize = 4 << 20;
/// Field 1, of type bytes, in Protobuf.
const BYTES_FIELD_TAG: u8 = 0x0a;

/// The form in which an arm sends and receives bodies.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// As they are.
    #[default]
    AsTheyAre,
    /// JSON in a codec, by its name.
    Codec(String),
    /// As messages of gRPC: JSON by the schema inferred from it, anything else as a field of bytes.
    Grpc,
}

impl Form {
    /// Returns the form in which an arm sends bodies.
    pub fn of(arm: &Arm) -> Form {
        match arm.protocol {
            Protocol::Grpc => Form::Grpc,
            _ if arm.codec == Codec::plain(arm.protocol) => Form::AsTheyAre,
            _ => Form::Codec(arm.codec.name().to_owned()),
        }
    }

    /// Returns its name for people.
    pub fn name(&self) -> &str {
        match self {
            Form::AsTheyAre => "as they are",
            Form::Codec(name) => name,
            Form::Grpc => "over gRPC",
        }
    }

    /// Returns its codec, if it has one.
    pub fn codec(&self) -> Option<messages::Codec> {
        match self {
            Form::Codec(name) => name.parse().ok(),
            Form::AsTheyAre | Form::Grpc => None,
        }
    }
}

/// How the bytes of a body in a form are to be understood.
#[derive(Clone, Debug, PartialEq)]
pub enum Coding {
    /// JSON or MessagePack.
    DescribesItself,
    /// Protobuf.
    Message(Arc<MessageType>),
}

/// A type of Protobuf messages.
#[derive(Debug, PartialEq)]
pub struct MessageType {
    /// A `google.protobuf.FileDescriptorSet`.
    pub descriptors: Vec<u8>,
    /// Its full name there.
    pub name: String,
}

/// A body in one form.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Encoded {
    bytes: Arc<[u8]>,
    /// In Protobuf, its type.
    message: Option<Arc<MessageType>>,
}

/// Encodes every body as an arm sends it, or says why one cannot be.
pub(crate) fn prepare(steps: &mut [Step], arm: &Arm) -> Result<(), String> {
    let form = Form::of(arm);
    for step in steps {
        match step {
            Step::Own { request, .. } => {
                let OwnRequest {
                    request, response, ..
                } = &mut **request;
                for payload in [request, response].into_iter().flatten() {
                    payload.prepare(&form)?;
                }
            }
            Step::Load { request: step, .. } | Step::At { step, .. } => {
                prepare(std::slice::from_mut(step), arm)?;
            }
            Step::Repeat { steps, .. } | Step::Parallel(steps) => prepare(steps, arm)?,
            _ => {}
        }
    }
    Ok(())
}

impl Payload {
    /// Returns the bytes in a form.
    pub(crate) fn in_form(&self, form: &Form) -> &Arc<[u8]> {
        self.forms
            .get(form)
            .map_or(&self.content, |encoded| &encoded.bytes)
    }

    /// Returns how a driver that encodes and decodes within a request is to understand the bytes; none where
    /// they are none of JSON.
    pub(crate) fn coding_in(&self, form: &Form) -> Option<Coding> {
        let encoded = self.forms.get(form).map(|encoded| &encoded.message);
        match encoded {
            Some(Some(message)) => Some(Coding::Message(message.clone())),
            _ if *form == Form::Grpc || !self.is_json() => None,
            _ => (Dynamic::Json.decode(&self.content).is_ok()).then_some(Coding::DescribesItself),
        }
    }

    /// Returns the content type in a form.
    pub(crate) fn type_in(&self, form: &Form) -> String {
        match form.codec().map(|codec| codec.format) {
            None | Some(Format::Json) => self.content_type.clone(),
            Some(format) => format.content_type().to_owned(),
        }
    }

    /// Returns made-up bytes of another length in a form; none for a file's.
    pub(crate) fn made_up(&self, bytes: u64, form: &Form) -> Option<Arc<[u8]>> {
        if self.file.is_some() {
            return None;
        }
        let mut content = vec![0; bytes as usize];
        messages::fill(0, &mut content);
        let other = Payload::new(None, self.content_type.clone(), content.into());
        let (encoded, _) = other.encode(form).ok()?;
        Some(encoded.into())
    }

    fn prepare(&mut self, form: &Form) -> Result<(), String> {
        if *form == Form::AsTheyAre || self.forms.contains_key(form) {
            return Ok(());
        }
        let (encoded, message) = self.encode(form)?;
        if *form == Form::Grpc && encoded.len() > MAX_MESSAGE_BYTES {
            return Err(format!(
                "{} is {} bytes long over gRPC, whose libraries receive at most {MAX_MESSAGE_BYTES} unless \
                 told otherwise",
                self.name(),
                encoded.len()
            ));
        }
        let bytes = encoded.into();
        self.forms.insert(form.clone(), Encoded { bytes, message });
        Ok(())
    }

    /// Returns the bytes in a form, and the type of the message that they are in Protobuf.
    fn encode(&self, form: &Form) -> Result<(Vec<u8>, Option<Arc<MessageType>>), String> {
        let codec = match form {
            Form::AsTheyAre => return Ok((self.content.to_vec(), None)),
            Form::Grpc if self.is_json() => return self.protobuf(),
            Form::Grpc => {
                let mut message = vec![BYTES_FIELD_TAG];
                prost::encode_length_delimiter(self.content.len(), &mut message)
                    .expect("a vector grows");
                message.extend_from_slice(&self.content);
                return Ok((message, None));
            }
            Form::Codec(name) => name.parse::<messages::Codec>().map_err(|e| e.to_string())?,
        };
        if !self.is_json() {
            return Err(format!(
                "codec = \"{codec}\" is for JSON, and {} is {}; leave `codec` out",
                self.name(),
                self.content_type
            ));
        }
        let (plain, message) = match codec.format {
            Format::Json => (self.content.to_vec(), None),
            Format::Protobuf => self.protobuf()?,
            Format::Msgpack => {
                let encoded = payload::msgpack(&self.sample()).map_err(|e| sample_error(&e))?;
                (encoded, None)
            }
            Format::MsgpackArray | Format::MsgpackOld => {
                return Err(format!(
                    "codec = \"{codec}\" is for commute's own messages; JSON of your own can be sent as json, \
                     protobuf or msgpack"
                ));
            }
        };
        Ok((Compressor::new(codec.compression).compress(plain), message))
    }

    fn protobuf(&self) -> Result<(Vec<u8>, Option<Arc<MessageType>>), String> {
        let sample = self.sample();
        let schema = infer(&[sample]).map_err(|e| infer_error(&e))?;
        let message = MessageType {
            descriptors: schema.descriptor_set(),
            name: schema.descriptor().full_name().to_owned(),
        };
        let encoded = schema.encode(&sample).map_err(|e| sample_error(&e))?;
        Ok((encoded, Some(Arc::new(message))))
    }

    fn sample(&self) -> Sample<'_> {
        Sample {
            name: self.name(),
            json: &self.content,
        }
    }

    fn name(&self) -> &str {
        self.file.as_deref().unwrap_or("a body of made-up bytes")
    }
}

/// Returns why JSON has no schema, without anything of the JSON.
fn infer_error(error: &InferError) -> String {
    match error {
        InferError::Sample(error) => sample_error(error),
        InferError::TooDeep { .. } => {
            "messages nest deeper than the 100 levels that Protobuf's readers accept".to_owned()
        }
        _ => error.to_string(),
    }
}

/// Returns why JSON cannot be encoded, without the path of the value, which is made of keys of the JSON: a study may
/// name any file of its user's.
fn sample_error(error: &SampleError) -> String {
    match error {
        SampleError::Json {
            name,
            line,
            column,
            reason,
        } => {
            // The path comes first.
            let reason = reason.rsplit(": ").next().unwrap_or_default();
            format!("{name}, line {line} column {column}: {reason}")
        }
        _ => error.to_string(),
    }
}
