//! Answers to requests of a study's own, by method and path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use bytes::Bytes;
use http_body_util::BodyExt;
use messages::{Answer, PassThrough};
use tonic::Status;
use tower::service_fn;

use crate::accounting::RequestAccounting;
use crate::rejection::Rejection;

/// The longest list of answers, bytes.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// The longest bodies, bytes in all.
const MAX_BODIES_BYTES: u64 = 64 << 20;

/// The answers to requests that the server has no route for.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// By path and query, then by method.
    by_path: BTreeMap<String, BTreeMap<String, Prepared>>,
}

/// A file of answers cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", file.display())]
pub struct AnswersError {
    /// The list, or a body.
    file: PathBuf,
    /// What is wrong with it.
    reason: String,
}

#[derive(Clone, Debug)]
struct Prepared {
    grpc: bool,
    headers: HeaderMap,
    body: Bytes,
    logged_fields: BTreeSet<String>,
}

impl Answers {
    /// Reads a JSON list of [`Answer`]s, and their bodies.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is too long, or the list is malformed or has two answers to the same
    /// request.
    pub fn read(file: &Path) -> Result<Self, AnswersError> {
        let wrong = |reason: String| AnswersError {
            file: file.to_owned(),
            reason,
        };
        let text = read_bounded(file, MAX_LIST_BYTES)?;
        let list: Vec<Answer> = serde_json::from_slice(&text).map_err(|e| wrong(e.to_string()))?;
        let mut remaining = MAX_BODIES_BYTES;
        let mut answers = Self::default();
        for answer in list {
            let request = format!("{} {}", answer.method, answer.path);
            let body = match &answer.body {
                None => Vec::new(),
                Some(name) => read_bounded(&file.with_file_name(name), remaining)?,
            };
            remaining -= body.len() as u64;
            let mut headers = HeaderMap::new();
            for (name, value) in [
                (CONTENT_TYPE, &answer.content_type),
                (CONTENT_ENCODING, &answer.content_encoding),
            ] {
                if let Some(value) = value {
                    let value = HeaderValue::from_str(value);
                    let value = value.map_err(|e| wrong(format!("{request}: {name}: {e}")))?;
                    headers.insert(name, value);
                }
            }
            headers.insert(CONTENT_LENGTH, body.len().into());
            let prepared = Prepared {
                grpc: answer.grpc,
                headers,
                body: body.into(),
                logged_fields: answer.logged_fields,
            };
            let of_path = answers.by_path.entry(answer.path).or_default();
            if of_path.insert(answer.method, prepared).is_some() {
                return Err(wrong(format!("{request} has two answers")));
            }
        }
        Ok(answers)
    }

    fn find(&self, request: &Request) -> Option<&Prepared> {
        let path = request.uri().path_and_query()?.as_str();
        self.by_path.get(path)?.get(request.method().as_str())
    }
}

/// Answers the requests that `router` has no route for.
pub(crate) fn add(router: Router, answers: Answers) -> Router {
    if answers.by_path.is_empty() {
        return router;
    }
    router.fallback_service(Router::new().fallback(answer).with_state(Arc::new(answers)))
}

async fn answer(
    State(answers): State<Arc<Answers>>,
    Extension(accounting): Extension<RequestAccounting>,
    request: Request,
) -> Result<Response, Rejection> {
    let Some(found) = answers.find(&request) else {
        let text = "there is no answer to this request";
        return match accounting.is_grpc() {
            true => Ok(Status::unimplemented(text).into_http()),
            false => Err(Rejection::NotFound(text.to_owned())),
        };
    };
    accounting.record_fields(found.fields_digest(request.headers()));
    if found.grpc != accounting.is_grpc() {
        let expected = if found.grpc { "gRPC" } else { "plain HTTP" };
        let text = format!("this request is to come over {expected}");
        return Err(Rejection::UnsupportedMediaType(text));
    }
    match found.grpc {
        true => Ok(over_grpc(found.body.clone(), accounting, request).await),
        false => over_http(found, request).await,
    }
}

/// Reads the whole request before it answers, as an app's server does.
async fn over_http(found: &Prepared, request: Request) -> Result<Response, Rejection> {
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        frame.map_err(|error| Rejection::from_body_error(&error))?;
    }
    let mut response = Response::new(Body::from(found.body.clone()));
    response.headers_mut().clone_from(&found.headers);
    Ok(response)
}

async fn over_grpc(message: Bytes, accounting: RequestAccounting, request: Request) -> Response {
    let service = service_fn(move |request: tonic::Request<Bytes>| {
        let (message, accounting) = (message.clone(), accounting.clone());
        async move {
            accounting.add_received(request.get_ref());
            accounting.add_sent(&message);
            Ok::<_, Status>(tonic::Response::new(message))
        }
    });
    let mut grpc = tonic::server::Grpc::new(PassThrough);
    grpc.unary(service, request).await.map(Body::new)
}

impl Prepared {
    /// Returns the digest of the logged fields. Several fields of one name count as one, with their values joined by
    /// commas (RFC 9110 section 5.3).
    fn fields_digest(&self, headers: &HeaderMap) -> String {
        let logged = self.logged_fields.iter().filter_map(|name| {
            let values: Vec<&[u8]> = headers
                .get_all(name)
                .iter()
                .map(HeaderValue::as_bytes)
                .collect();
            (!values.is_empty()).then(|| (name.as_str(), values.join(&b", "[..])))
        });
        let logged: Vec<(&str, Vec<u8>)> = logged.collect();
        messages::fields_digest(logged.iter().map(|(name, value)| (*name, value.as_slice())))
    }
}

fn read_bounded(file: &Path, limit: u64) -> Result<Vec<u8>, AnswersError> {
    let wrong = |reason: String| AnswersError {
        file: file.to_owned(),
        reason,
    };
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(|e| wrong(e.to_string()))?;
    let read = opened.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|e| wrong(e.to_string()))?;
    if bytes.len() as u64 > limit {
        return Err(wrong(format!(
            "too long: answers have at most {limit} bytes more"
        )));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn read(list: &str) -> Result<Answers, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("page.json"), "[1]").unwrap();
        let file = folder.path().join("answers.json");
        std::fs::write(&file, list).unwrap();
        Answers::read(&file).map_err(|error| error.to_string())
    }

    #[test]
    fn bodies_lie_beside_the_list() {
        let list = r#"[{"method":"GET","path":"/a?b=1","content_type":"application/json","body":"page.json"}]"#;
        let answers = read(list).unwrap();
        let request = |uri: &str| Request::builder().uri(uri).body(Body::empty()).unwrap();
        let found = answers.find(&request("https://any:1/a?b=1")).unwrap();
        assert_eq!(
            (&found.body[..], &found.headers[CONTENT_LENGTH]),
            (&b"[1]"[..], &HeaderValue::from(3))
        );
        assert!(answers.find(&request("/a")).is_none());
        let mut post = request("/a?b=1");
        *post.method_mut() = http::Method::POST;
        assert!(answers.find(&post).is_none());
    }

    #[test]
    fn bad_lists_are_refused_with_the_reason() {
        let get = r#"{"method":"GET","path":"/a"}"#;
        for (list, reason) in [
            ("{}".to_owned(), "expected a sequence"),
            (format!("[{get},{get}]"), "GET /a has two answers"),
            (
                get.replace('}', r#","bdy":"x"}"#).replace('{', "[{") + "]",
                "unknown field `bdy`",
            ),
            (
                get.replace('}', r#","body":"none"}]"#).replace('{', "[{"),
                "none: No such file",
            ),
            (
                get.replace('}', r#","content_type":"a\n"}]"#)
                    .replace('{', "[{"),
                "GET /a: content-type: ",
            ),
        ] {
            let refused = read(&list).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn only_the_fields_of_the_list_are_digested() {
        let list = r#"[{"method":"GET","path":"/a","logged_fields":["accept","x-app"]}]"#;
        let answers = read(list).unwrap();
        let digest = |fields: &[(&str, &str)]| {
            let mut request = Request::builder().uri("/a");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            let request = request.body(Body::empty()).unwrap();
            answers
                .find(&request)
                .unwrap()
                .fields_digest(request.headers())
        };
        let of = |fields: &[(&'static str, &'static [u8])]| {
            messages::fields_digest(fields.iter().copied())
        };
        let sent = digest(&[("x-app", "1"), ("accept", "a"), ("user-agent", "any")]);
        assert_eq!(sent, of(&[("accept", b"a"), ("x-app", b"1")]));
        assert_eq!(
            digest(&[("accept", "a"), ("accept", "b")]),
            of(&[("accept", b"a, b")])
        );
        assert_ne!(digest(&[("accept", "a")]), sent);
    }
}
