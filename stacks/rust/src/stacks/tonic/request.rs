//! The gRPC requests of steps.

use bytes::Bytes;
use driver::protocol::Action;
use http::HeaderMap;
use http::uri::PathAndQuery;
use messages::Echo;
use messages::v1::{DownloadRequest, EchoRequest};
use prost::Message;
use sign::Chunks;
use tonic::Request;
use tonic::metadata::{MetadataMap, MetadataValue};

use crate::auth::{Auth, Proof};
use crate::body::Content;
use crate::exchange::find_kind;
use crate::origin::Origin;
use crate::request::header_map;
use crate::stack::StepRequest;
use crate::stack_error::StackError;

pub(super) const SUBMIT_STREAM: &str = "/commute.bench.v1.Submit/DiagStream";

/// The gRPC request of a step.
#[derive(Clone)]
pub struct GrpcRequest {
    id: u32,
    pub(super) method: Method,
    /// Those of its step.
    headers: HeaderMap,
    proof: Option<Proof>,
}

#[derive(Clone)]
pub(super) enum Method {
    Echo(EchoRequest),
    Download(DownloadRequest),
    Upload(Content),
    Chat {
        message: EchoRequest,
        messages: u32,
    },
    /// An exchange, a submission of one message, or a request of the study's own.
    Unary {
        path: PathAndQuery,
        message: Bytes,
    },
    Submit(Vec<Bytes>),
}

impl StepRequest for GrpcRequest {
    fn new(id: u32, action: &Action, payload: Bytes) -> Result<Self, StackError> {
        let message = |body: &str| {
            let echo = Echo::from_json(body.as_bytes());
            echo.map(EchoRequest::from)
                .map_err(|error| StackError::Failed(error.to_string()))
        };
        let method = match action {
            Action::Call { body } => Method::Echo(message(body)?),
            Action::Get { bytes } => Method::Download(DownloadRequest { bytes: *bytes }),
            Action::Put { bytes } => Method::Upload(Content::upload(*bytes)),
            Action::Stream { messages: 0, .. } => {
                return Err(StackError::Failed(format!(
                    "step {id} is a stream without messages"
                )));
            }
            Action::Stream { body, messages } => Method::Chat {
                message: message(body)?,
                messages: *messages,
            },
            Action::Exchange { kind, .. } => {
                let path = format!("{}/{}", messages::EXCHANGE, find_kind(kind)?.name());
                let path = PathAndQuery::try_from(path);
                Method::Unary {
                    path: path.expect("every kind's name is valid in a path"),
                    message: Bytes::new(),
                }
            }
            Action::Submit {
                chunk_bytes: Some(_),
                ..
            } => Method::Submit(Vec::new()),
            Action::Submit { kind, .. } => {
                let path = format!("{}/{}", messages::SUBMIT, find_kind(kind)?.name());
                let path = PathAndQuery::try_from(path);
                Method::Unary {
                    path: path.expect("every kind's name is valid in a path"),
                    message: Bytes::new(),
                }
            }
            Action::Fetch { path, .. } => {
                let parsed = PathAndQuery::try_from(path.as_str());
                let invalid = |error| StackError::Failed(format!("{path:?}: {error}"));
                Method::Unary {
                    path: parsed.map_err(invalid)?,
                    message: payload,
                }
            }
            Action::Pause { .. } | Action::Reconnect { .. } => {
                return Err(StackError::Failed(format!(
                    "step {} is not a call",
                    action.name()
                )));
            }
        };
        let headers = match action {
            Action::Fetch { headers, .. } => header_map(headers)?,
            _ => HeaderMap::new(),
        };
        Ok(Self {
            id,
            method,
            headers,
            proof: None,
        })
    }

    fn with_messages(&self, _: messages::Codec, messages: Vec<Bytes>) -> Self {
        let method = match &self.method {
            Method::Unary { path, .. } => Method::Unary {
                path: path.clone(),
                message: messages.into_iter().next().unwrap_or_default(),
            },
            Method::Submit(_) => Method::Submit(messages),
            _ => unreachable!("the engine calls it for exchanges and submissions only"),
        };
        Self {
            method,
            ..self.clone()
        }
    }

    fn with_proof(&self, auth: &Auth, origin: &Origin) -> Self {
        let whole = |message: Vec<u8>| Some(Content::Bytes(message.into()));
        let (path, content) = match &self.method {
            Method::Echo(message) => ("/commute.v1.Bench/Echo", whole(message.encode_to_vec())),
            Method::Download(range) => ("/commute.v1.Bench/Download", whole(range.encode_to_vec())),
            Method::Upload(_) => ("/commute.v1.Bench/Upload", None),
            Method::Chat { .. } => ("/commute.v1.Bench/Chat", None),
            Method::Unary { path, message } => {
                (path.as_str(), Some(Content::Bytes(message.clone())))
            }
            Method::Submit(_) => (SUBMIT_STREAM, None),
        };
        Self {
            proof: Some(auth.prove("POST", origin, path, content.as_ref())),
            ..self.clone()
        }
    }
}

impl GrpcRequest {
    /// Returns content with the metadata of this request.
    pub(super) fn wrap<T>(&self, content: T) -> Request<T> {
        let mut request = Request::new(content);
        let mut headers = self.headers.clone();
        headers.extend(self.proof.iter().flat_map(|proof| proof.headers.clone()));
        *request.metadata_mut() = MetadataMap::from_headers(headers);
        request
            .metadata_mut()
            .insert("x-commute-id", MetadataValue::from(self.id));
        request
    }

    /// Returns what makes the codes of its chunks, if they are signed.
    pub(super) fn codes(&self) -> Option<Chunks> {
        let (key, head) = self.proof.as_ref()?.chunks.as_ref()?;
        Some(Chunks::new(key, *head))
    }
}
