//! Requests of the study's own: what a `call` sends and receives, instead of the echo.

mod check;
mod form;
mod payload;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) use check::not_for_lab;
pub(crate) use check::not_with_arm;
pub(crate) use form::prepare;
pub use form::{Coding, Form, MessageType};
pub(super) use payload::PayloadFiles;
pub use payload::{Payload, ReadFile};

use super::Step;

/// A request of the study's own, and the response to it.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnRequest {
    /// The HTTP method, one of GET, POST, PUT, PATCH and DELETE.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header fields, by their names in lower case; none of those that describe content.
    pub headers: BTreeMap<String, String>,
    /// The request's body; none for no body.
    pub request: Option<Payload>,
    /// The body of the response; none for an empty one.
    pub response: Option<Payload>,
}

/// The keys of a step that make its request one of the study's own, as written.
pub(super) struct RawOwn {
    pub(super) method: Option<String>,
    pub(super) path: Option<String>,
    pub(super) request: RawPayload,
    pub(super) response: RawPayload,
    pub(super) headers: Option<BTreeMap<String, String>>,
}

/// The keys of one body.
pub(super) struct RawPayload {
    pub(super) file: Option<String>,
    pub(super) bytes: Option<u64>,
    pub(super) content_type: Option<String>,
}

impl RawOwn {
    /// Returns the first key that is set, if any is.
    pub(super) fn first_key(&self) -> Option<&'static str> {
        let (request, response) = (&self.request, &self.response);
        let keys = [
            ("method", self.method.is_some()),
            ("path", self.path.is_some()),
            ("request", request.file.is_some()),
            ("request_bytes", request.bytes.is_some()),
            ("response", response.file.is_some()),
            ("response_bytes", response.bytes.is_some()),
            ("content_type", request.content_type.is_some()),
            ("response_type", response.content_type.is_some()),
            ("headers", self.headers.is_some()),
        ];
        keys.iter().find(|(_, set)| *set).map(|(key, _)| *key)
    }

    /// Checks the request and reads its files.
    pub(super) fn check(self, files: &PayloadFiles<'_>) -> Result<OwnRequest, String> {
        let request = self.request.check("request", "content_type", files)?;
        if let Some(body) = &request {
            check::request_type(&body.content_type)?;
        }
        let response = self.response.check("response", "response_type", files)?;
        let default = if request.is_some() { "POST" } else { "GET" };
        let own = OwnRequest {
            method: self.method.unwrap_or_else(|| default.to_owned()),
            path: self.path.unwrap_or_else(|| "/".to_owned()),
            headers: check::fields(self.headers.unwrap_or_default())?,
            request,
            response,
        };
        check::request(&own)?;
        Ok(own)
    }
}

impl RawPayload {
    fn check(
        self,
        key: &str,
        type_key: &str,
        files: &PayloadFiles<'_>,
    ) -> Result<Option<Payload>, String> {
        let (content, by_name): (Arc<[u8]>, &str) = match (&self.file, self.bytes) {
            (Some(_), Some(_)) => {
                return Err(format!(
                    "`{key}` is a file and `{key}_bytes` a number of made-up bytes: a body is one of them"
                ));
            }
            (None, None) if self.content_type.is_some() => {
                return Err(format!("`{type_key}` goes with `{key}` or `{key}_bytes`"));
            }
            (None, None) => return Ok(None),
            (Some(file), None) => (files.read(key, file)?, payload::type_of(file)),
            (None, Some(bytes)) => (
                files.seeded(&format!("{key}_bytes"), bytes)?,
                payload::BYTES,
            ),
        };
        let content_type = self.content_type.unwrap_or_else(|| by_name.to_owned());
        check::value(type_key, &content_type)?;
        Ok(Some(Payload::new(self.file, content_type, content)))
    }
}

/// Calls `visit` with every request of the study's own.
pub(crate) fn each(steps: &[Step], visit: &mut dyn FnMut(&OwnRequest)) {
    for step in steps {
        match step {
            Step::Own { request, .. } => visit(request),
            Step::Load { request: step, .. } | Step::At { step, .. } => {
                each(std::slice::from_ref(step), visit);
            }
            Step::Repeat { steps, .. } | Step::Parallel(steps) => each(steps, visit),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
