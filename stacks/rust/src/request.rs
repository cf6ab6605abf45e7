//! HTTP requests of steps, the same for every HTTP stack.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use driver::protocol::Action;
use http::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue,
};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, Request, Uri};
use http_body::{Body, Frame, SizeHint};

use crate::auth::Auth;
use crate::body::{CHUNK_BYTES, Content};
use crate::exchange::find_kind;
use crate::origin::Origin;
use crate::stack::StepRequest;
use crate::stack_error::StackError;
use crate::trace::Trace;

/// The header that carries a step's id to the server's log.
pub const ID_HEADER: HeaderName = HeaderName::from_static("x-commute-id");

/// A request, which can be sent any number of times.
#[derive(Clone)]
pub struct HttpRequest {
    method: Method,
    path: PathAndQuery,
    id: u32,
    /// Those of its content and its step.
    headers: HeaderMap,
    /// In an exchange: the codec of the body.
    codec: Option<messages::Codec>,
    body: Content,
    proof: HeaderMap,
}

impl StepRequest for HttpRequest {
    fn new(id: u32, action: &Action, payload: Bytes) -> Result<Self, StackError> {
        let none = HeaderMap::new();
        let (method, path, headers, body) = match action {
            Action::Call { body } => (
                Method::POST,
                "/echo".into(),
                of_type("application/json"),
                Content::Bytes(body.clone().into()),
            ),
            Action::Get { bytes } => (
                Method::GET,
                format!("/bytes/{bytes}"),
                none,
                Content::default(),
            ),
            Action::Put { bytes: length } => (
                Method::PUT,
                "/upload".into(),
                of_type("application/octet-stream"),
                Content::upload(*length),
            ),
            Action::Exchange { kind, .. } => {
                let path = format!("/exchange/{}", find_kind(kind)?.name());
                (Method::POST, path, none, Content::default())
            }
            Action::Fetch {
                method,
                path,
                headers,
                ..
            } => (
                method.parse().map_err(|e| invalid(method, &e))?,
                path.clone(),
                header_map(headers)?,
                Content::Bytes(payload),
            ),
            Action::Stream { .. } => {
                let reason = "only gRPC has message streams here";
                return Err(StackError::unsupported("step stream", reason));
            }
            Action::Submit {
                chunk_bytes: Some(_),
                ..
            } => {
                let reason = "only gRPC sends a message in chunks here";
                return Err(StackError::unsupported("step submit in chunks", reason));
            }
            Action::Submit { kind, .. } => {
                let path = format!("/submit/{}", find_kind(kind)?.name());
                (Method::POST, path, none, Content::default())
            }
            Action::Pause { .. } | Action::Reconnect { .. } => {
                return Err(StackError::Failed(format!(
                    "step {} is not a call",
                    action.name()
                )));
            }
        };
        Ok(Self {
            method,
            path: path.parse().map_err(|e| invalid(&path, &e))?,
            id,
            headers,
            codec: None,
            body,
            proof: HeaderMap::new(),
        })
    }

    fn with_messages(&self, codec: messages::Codec, messages: Vec<Bytes>) -> Self {
        Self {
            headers: of_type(codec.format.content_type()),
            codec: Some(codec),
            body: Content::Bytes(messages.into_iter().next().unwrap_or_default()),
            ..self.clone()
        }
    }

    fn with_proof(&self, auth: &Auth, origin: &Origin) -> Self {
        let proof = auth.prove(
            self.method.as_str(),
            origin,
            self.path.as_str(),
            Some(&self.body),
        );
        Self {
            proof: proof.headers,
            ..self.clone()
        }
    }
}

impl HttpRequest {
    /// Returns the head, with an absolute URI.
    pub fn head(&self, origin: &Origin) -> Request<()> {
        let uri = Uri::builder()
            .scheme(origin.scheme())
            .authority(origin.authority.clone())
            .path_and_query(self.path.clone())
            .build()
            .expect("scheme, authority and path are there");
        let mut head = Request::new(());
        *head.method_mut() = self.method.clone();
        *head.uri_mut() = uri;
        head.headers_mut().clone_from(&self.proof);
        head.headers_mut().insert(ID_HEADER, self.id.into());
        head.headers_mut().extend(self.headers.clone());
        if self.headers.contains_key(CONTENT_TYPE) {
            head.headers_mut()
                .insert(CONTENT_LENGTH, self.body.length().into());
        }
        if let Some(codec) = self.codec {
            let token = codec.compression.content_encoding();
            let accepted = HeaderValue::from_static(token.unwrap_or("identity"));
            head.headers_mut().insert(ACCEPT_ENCODING, accepted);
            if let Some(token) = token {
                let token = HeaderValue::from_static(token);
                head.headers_mut().insert(CONTENT_ENCODING, token);
            }
        }
        head
    }

    /// Returns the body. Its bytes are counted in `trace` as they are handed over.
    pub fn body(&self, trace: &Trace) -> Chunks {
        Chunks {
            remaining: self.body.clone(),
            trace: trace.clone(),
        }
    }
}

/// Returns the header fields of a step `fetch`.
pub(crate) fn header_map(fields: &BTreeMap<String, String>) -> Result<HeaderMap, StackError> {
    let field = |(name, value): (&String, &String)| {
        let parsed: HeaderName = name.parse().map_err(|e| invalid(name, &e))?;
        Ok((parsed, value.parse().map_err(|e| invalid(name, &e))?))
    };
    fields.iter().map(field).collect()
}

fn of_type(content_type: &'static str) -> HeaderMap {
    HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))])
}

fn invalid(what: &str, error: &dyn std::fmt::Display) -> StackError {
    StackError::Failed(format!("{what:?}: {error}"))
}

/// A body of known length, in chunks of [`CHUNK_BYTES`].
pub struct Chunks {
    remaining: Content,
    trace: Trace,
}

impl Iterator for Chunks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        let chunk = self.remaining.take(CHUNK_BYTES);
        let bytes = chunk.len() as u64;
        self.trace.edit(|row| row.request_bytes += bytes);
        (bytes > 0).then_some(chunk)
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.next().map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining.length() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining.length())
    }
}
