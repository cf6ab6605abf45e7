//! Requests of the study's own, as an arm sends them.

use std::sync::Arc;

use driver::protocol::Action;
use messages::Answer;
use sha2::{Digest, Sha256};

use crate::own::{Coding, Form};
use crate::{OwnRequest, Payload};

/// How the paths of calls begin whose own path is none of gRPC's.
const GRPC_SERVICE: &str = "/commute.own.v1.Own";

/// A request of the study's own as an arm sends it, and the answer to it.
#[derive(Clone, Debug, PartialEq)]
pub struct SentRequest {
    /// As the study has it.
    own: OwnRequest,
    /// The driver's step.
    pub action: Action,
    /// The body, which the step names.
    pub body: Option<Arc<Content>>,
    /// The answer that the server gives.
    pub answer: Answer,
    /// The body of the answer, which `answer` names.
    pub answer_body: Option<Arc<Content>>,
    /// SHA-256 of the header fields that the server logs.
    pub fields_digest: String,
}

/// The bytes of a body.
#[derive(Debug, PartialEq)]
pub struct Content {
    /// The name of its file.
    pub name: String,
    /// The bytes themselves.
    pub bytes: Arc<[u8]>,
    /// SHA-256 in lower-case hex.
    pub digest: String,
    /// How a driver that encodes and decodes within a request understands them.
    pub coding: Option<Coding>,
}

/// All of an arm's requests, each once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SentRequests {
    requests: Vec<SentRequest>,
}

impl SentRequests {
    /// Returns the driver's step for a request, which is added if it is new.
    pub fn add(&mut self, own: &OwnRequest, form: &Form) -> Action {
        if let Some(known) = self.requests.iter().find(|sent| is_same(&sent.own, own)) {
            return known.action.clone();
        }
        let body = own
            .request
            .as_ref()
            .map(|p| self.content(p, form, "request"));
        let answer_body = own
            .response
            .as_ref()
            .map(|p| self.content(p, form, "response"));
        let grpc = *form == Form::Grpc;
        let mut headers = own.headers.clone();
        let encoding = form
            .codec()
            .and_then(|codec| codec.compression.content_encoding());
        if let Some(payload) = own.request.as_ref().filter(|_| !grpc) {
            headers.insert("content-type".to_owned(), payload.type_in(form));
            headers.extend(encoding.map(|token| ("content-encoding".to_owned(), token.to_owned())));
        }
        if let Some(token) = encoding {
            headers.insert("accept-encoding".to_owned(), token.to_owned());
        }
        let (method, path) = match form {
            Form::Grpc => ("POST".to_owned(), self.grpc_path(own)),
            Form::AsTheyAre | Form::Codec(_) => (own.method.clone(), own.path.clone()),
        };
        let of_answer = own.response.as_ref().filter(|_| !grpc);
        let sent = SentRequest {
            own: own.clone(),
            fields_digest: messages::fields_digest(
                headers
                    .iter()
                    .map(|(name, value)| (name.as_str(), value.as_bytes())),
            ),
            answer: Answer {
                method: method.clone(),
                path: path.clone(),
                grpc,
                content_type: of_answer.map(|payload| payload.type_in(form)),
                content_encoding: of_answer.and(encoding).map(str::to_owned),
                body: answer_body.as_ref().map(|content| content.name.clone()),
                logged_fields: headers.keys().cloned().collect(),
            },
            action: Action::Fetch {
                method,
                path,
                headers,
                payload: body.as_ref().map(|content| content.name.clone()),
                answer: answer_body.as_ref().map(|content| content.name.clone()),
            },
            body,
            answer_body,
        };
        let action = sent.action.clone();
        self.requests.push(sent);
        action
    }

    /// Returns the request of a driver's step.
    pub fn of(&self, action: &Action) -> Option<&SentRequest> {
        self.requests.iter().find(|sent| sent.action == *action)
    }

    /// Returns the request that another arm sends as `other`.
    pub(super) fn like(&self, other: &SentRequest) -> Option<&SentRequest> {
        self.requests
            .iter()
            .find(|sent| is_same(&sent.own, &other.own))
    }

    /// Changes the lengths of made-up bytes: `length` maps the study's length to the new one. Bytes
    /// of files stay.
    pub(super) fn vary(&mut self, length: impl Fn(u64) -> u64) {
        for sent in &mut self.requests {
            let form = match sent.answer.grpc {
                true => Form::Grpc,
                false => Form::AsTheyAre,
            };
            let bodies = [
                (&sent.own.request, &mut sent.body),
                (&sent.own.response, &mut sent.answer_body),
            ];
            for (payload, content) in bodies {
                let (Some(payload), Some(content)) = (payload, content) else {
                    continue;
                };
                if let Some(bytes) = payload.made_up(length(payload.content.len() as u64), &form) {
                    *content = Arc::new(Content {
                        name: content.name.clone(),
                        digest: messages::hex(&Sha256::digest(&bytes)),
                        bytes,
                        coding: content.coding.clone(),
                    });
                }
            }
        }
    }

    /// Returns the longest made-up body, 0 if there is none.
    pub(super) fn longest_made_up(&self) -> u64 {
        let bodies = self
            .requests
            .iter()
            .flat_map(|sent| [&sent.own.request, &sent.own.response])
            .flatten();
        let made_up = bodies.filter(|payload| payload.file.is_none());
        made_up
            .map(|payload| payload.content.len() as u64)
            .max()
            .unwrap_or(0)
    }

    /// Returns each request once.
    pub fn iter(&self) -> impl Iterator<Item = &SentRequest> {
        self.requests.iter()
    }

    /// Returns the path of a gRPC method: the request's own if it has that form.
    fn grpc_path(&self, own: &OwnRequest) -> String {
        if own.method == "POST" && is_method_path(&own.path) {
            return own.path.clone();
        }
        let is_alike =
            |sent: &SentRequest| (&sent.own.method, &sent.own.path) == (&own.method, &own.path);
        match self.requests.iter().find(|sent| is_alike(sent)) {
            Some(sent) => sent.answer.path.clone(),
            None => format!("{GRPC_SERVICE}/Call{}", self.requests.len() + 1),
        }
    }

    fn content(&self, payload: &Payload, form: &Form, kind: &str) -> Arc<Content> {
        let bytes = payload.in_form(form);
        let contents = self
            .requests
            .iter()
            .flat_map(|sent| [&sent.body, &sent.answer_body]);
        let mut known = contents.flatten();
        let coding = payload.coding_in(form);
        let is_same =
            |content: &Content| Arc::ptr_eq(&content.bytes, bytes) && content.coding == coding;
        match known.find(|content| is_same(content)) {
            Some(content) => content.clone(),
            None => Arc::new(Content {
                name: format!("{kind}-{}", self.requests.len() + 1),
                bytes: bytes.clone(),
                digest: messages::hex(&Sha256::digest(bytes)),
                coding,
            }),
        }
    }
}

impl SentRequest {
    /// Describes it, e.g. `POST /v1/orders 312 B, answered with 20000 B`.
    pub fn about(&self) -> String {
        let Answer { method, path, .. } = &self.answer;
        let request = match self.request_bytes() {
            0 => String::new(),
            bytes => format!(" {bytes} B"),
        };
        format!(
            "{method} {path}{request}, answered with {} B",
            self.answer_bytes()
        )
    }

    /// Returns the bodies that a driver may encode or decode within the request.
    pub fn coded(&self) -> impl Iterator<Item = (&Content, &Coding)> {
        let contents = [&self.body, &self.answer_body].into_iter().flatten();
        contents.filter_map(|content| Some((&**content, content.coding.as_ref()?)))
    }

    /// Returns the length of the request's body.
    pub fn request_bytes(&self) -> u64 {
        bytes_of(self.body.as_ref())
    }

    /// Returns the length of the answer's body.
    pub fn answer_bytes(&self) -> u64 {
        bytes_of(self.answer_body.as_ref())
    }
}

/// Compares two requests of one study, whose responses are the same if all else is.
fn is_same(one: &OwnRequest, other: &OwnRequest) -> bool {
    let body = |own: &OwnRequest| {
        own.request
            .as_ref()
            .map(|p| (p.content.as_ptr(), p.content_type.clone()))
    };
    (&one.method, &one.path, &one.headers) == (&other.method, &other.path, &other.headers)
        && body(one) == body(other)
}

fn bytes_of(content: Option<&Arc<Content>>) -> u64 {
    content.map_or(0, |content| content.bytes.len() as u64)
}

/// Reports whether a path is `/package.Service/Method`.
fn is_method_path(path: &str) -> bool {
    let is_name = |name: &str| {
        let is_right = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        name.as_bytes().first().is_some_and(u8::is_ascii_alphabetic) && name.bytes().all(is_right)
    };
    let parts = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    parts.is_some_and(|(service, method)| service.split('.').all(is_name) && is_name(method))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(method: &str, path: &str, body: Option<&[u8]>) -> OwnRequest {
        let payload = |bytes: &[u8]| Payload::new(None, "application/json".into(), bytes.into());
        OwnRequest {
            method: method.into(),
            path: path.into(),
            headers: [("accept".to_owned(), "*/*".to_owned())].into(),
            request: body.map(payload),
            response: Some(payload(b"[]")),
        }
    }

    fn path(action: &Action) -> &str {
        match action {
            Action::Fetch { path, .. } => path,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_repeated_request_is_one() {
        for form in [Form::AsTheyAre, Form::Grpc] {
            let mut sent = SentRequests::default();
            let request = own("POST", "/a?b", Some(b"{}"));
            let first = sent.add(&request, &form);
            assert_eq!(sent.add(&request.clone(), &form), first);
            assert_eq!(sent.iter().count(), 1);
            // Another body at the same path.
            let other = sent.add(&own("POST", "/a?b", Some(b"{}")), &form);
            assert_eq!(path(&other), path(&first));
            assert_ne!(other, first);
        }
    }

    #[test]
    fn grpc_has_paths_of_methods() {
        let mut sent = SentRequests::default();
        let mut add = |method: &str, path: &str| sent.add(&own(method, path, None), &Form::Grpc);
        let expected = [
            ("POST", "/orders.v1.Orders/List", "/orders.v1.Orders/List"),
            ("GET", "/orders.v1.Orders/List", "/commute.own.v1.Own/Call2"),
            ("POST", "/v1/orders?a", "/commute.own.v1.Own/Call3"),
            ("POST", "/", "/commute.own.v1.Own/Call4"),
            ("POST", "/v1/orders/7", "/commute.own.v1.Own/Call5"),
        ];
        for (method, written, sent) in expected {
            assert_eq!(path(&add(method, written)), sent);
        }
    }

    #[test]
    fn codecs_are_named_in_header_fields() {
        let mut sent = SentRequests::default();
        let form = Form::Codec("protobuf+gzip-6".into());
        let action = sent.add(&own("POST", "/a", Some(b"{}")), &form);
        let Action::Fetch { headers, .. } = &action else {
            unreachable!()
        };
        let expected = [
            ("accept", "*/*"),
            ("accept-encoding", "gzip"),
            ("content-encoding", "gzip"),
            ("content-type", "application/protobuf"),
        ];
        assert!(
            headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .eq(expected)
        );
        let answer = &sent.of(&action).unwrap().answer;
        assert_eq!(answer.content_encoding.as_deref(), Some("gzip"));
        assert_eq!(answer.content_type.as_deref(), Some("application/protobuf"));
        assert!(answer.logged_fields.iter().eq(headers.keys()));
    }

    #[test]
    fn made_up_bytes_vary_and_those_of_files_do_not() {
        for form in [Form::AsTheyAre, Form::Grpc] {
            let made_up = OwnRequest {
                request: Some(Payload::new(
                    Some("orders.json".into()),
                    "application/json".into(),
                    (*b"{}").into(),
                )),
                response: Some(Payload::new(
                    None,
                    "image/webp".into(),
                    vec![1; 1000].into(),
                )),
                ..own("POST", "/a", None)
            };
            let mut sent = SentRequests::default();
            let action = sent.add(&made_up, &form);
            let before = sent.clone();
            sent.vary(|bytes| bytes + 100);
            let (request, old) = (sent.of(&action).unwrap(), before.of(&action).unwrap());
            assert_eq!(request.body, old.body);
            let (body, old) = (&request.answer_body, &old.answer_body);
            let (body, old) = (body.as_ref().unwrap(), old.as_ref().unwrap());
            assert_eq!(body.name, old.name);
            // Over gRPC they are a field of a message, whose tag and length come first.
            let around = if form == Form::Grpc { 3 } else { 0 };
            assert_eq!(body.bytes.len(), 1100 + around);
            assert_eq!(body.digest, messages::hex(&Sha256::digest(&body.bytes)));
            assert_ne!(body.digest, old.digest);
        }
    }
}
