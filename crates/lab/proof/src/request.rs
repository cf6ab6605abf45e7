//! Checks that the server was asked for what the step says, byte for byte.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use driver::protocol::{Action, ErrorKind, Protocol, Row};
use messages::v1::{DownloadRequest, EchoRequest};
use prost::Message;
use record::server_log::RequestEvent;
use sha2::{Digest, Sha256};
use study::plan::{Content, PlannedStep, SentRequest};

/// The service of `proto/commute/v1/echo.proto`.
const BENCH: &str = "/commute.v1.Bench";
/// From this status on, an HTTP request has failed.
const FIRST_ERROR: u16 = 400;

/// The requests that the plan asks for, as the server's log describes them.
pub(super) struct PlannedRequests {
    /// The protocol of the arm.
    protocol: Protocol,
    /// SHA-256 of uploads, by their length: most workloads repeat one.
    uploads: RefCell<BTreeMap<u64, String>>,
}

struct Planned {
    method: String,
    path: String,
    /// None for an exchange: libraries may encode the same message differently.
    body: Option<Body>,
    /// Of a request of the study's own: the digest of its header fields, and the body of the answer.
    own: Option<(String, Body)>,
}

#[derive(PartialEq, Eq)]
struct Body {
    bytes: u64,
    digest: String,
}

impl PlannedRequests {
    pub(super) fn of(protocol: Protocol) -> Self {
        Self {
            protocol,
            uploads: RefCell::default(),
        }
    }

    /// Checks a request that the server saw against its step and its row.
    pub(super) fn check(
        &self,
        row: &Row,
        step: &PlannedStep<'_>,
        hit: &RequestEvent,
    ) -> Result<(), String> {
        let id = row.id;
        let Some(planned) = self.planned(step) else {
            return Ok(());
        };
        if (&hit.method, &hit.path) != (&planned.method, &planned.path) {
            return Err(format!(
                "call {id}: should be {} {}, the server saw {} {}",
                planned.method, planned.path, hit.method, hit.path
            ));
        }
        let over_http = self.protocol != Protocol::Grpc;
        match &row.error {
            None => self.check_complete(row, hit, &planned),
            // A gRPC library also reports its own errors as a status.
            Some(error) if error.kind == ErrorKind::Status && over_http => check_status(row, hit),
            Some(_) => Ok(()),
        }
    }

    fn check_complete(
        &self,
        row: &Row,
        hit: &RequestEvent,
        planned: &Planned,
    ) -> Result<(), String> {
        let id = row.id;
        if row.request_bytes != hit.request_bytes {
            return Err(format!(
                "call {id}: the driver claims to have sent {} B of body, the server got {} B",
                row.request_bytes, hit.request_bytes
            ));
        }
        if let Some(body) = &planned.body {
            if hit.request_bytes != body.bytes {
                return Err(format!(
                    "call {id}: should send {} B of body, the server got {} B",
                    body.bytes, hit.request_bytes
                ));
            }
            if hit.request_digest != body.digest {
                return Err(format!(
                    "call {id}: should send a body with digest {}, the server got {}",
                    body.digest, hit.request_digest
                ));
            }
        }
        check_status(row, hit)?;
        let failed = match self.protocol {
            Protocol::Grpc => hit.status != 0,
            _ => hit.status >= FIRST_ERROR,
        };
        if failed {
            return Err(format!(
                "call {id}: the driver claims success, the server answered {}",
                hit.status
            ));
        }
        match &planned.own {
            Some((fields, answer)) => check_own(row, hit, fields, answer),
            None => Ok(()),
        }
    }

    /// Returns the request of a step, if the log shows which one it makes.
    fn planned(&self, step: &PlannedStep<'_>) -> Option<Planned> {
        match (step.own, self.protocol) {
            (Some(sent), _) => Some(Planned::own(sent)),
            (None, Protocol::Grpc) => self.grpc(&step.step.action),
            (None, Protocol::H1 | Protocol::H2 | Protocol::H3 | Protocol::Auto) => {
                self.http(&step.step.action)
            }
        }
    }

    fn http(&self, action: &Action) -> Option<Planned> {
        let (method, path, body) = match action {
            Action::Call { body } => ("POST", "/echo".to_owned(), Some(Body::of(body.as_bytes()))),
            Action::Get { bytes } => ("GET", format!("/bytes/{bytes}"), Some(Body::of(b""))),
            Action::Put { bytes } => ("PUT", "/upload".to_owned(), Some(self.upload(*bytes))),
            Action::Exchange { kind, .. } => ("POST", format!("/exchange/{kind}"), None),
            Action::Submit { kind, .. } => ("POST", format!("/submit/{kind}"), None),
            Action::Fetch { .. }
            | Action::Stream { .. }
            | Action::Pause { .. }
            | Action::Reconnect { .. } => return None,
        };
        Some(Planned {
            method: method.to_owned(),
            path,
            body,
            own: None,
        })
    }

    fn grpc(&self, action: &Action) -> Option<Planned> {
        let path = match action {
            Action::Call { .. } => format!("{BENCH}/Echo"),
            Action::Get { .. } => format!("{BENCH}/Download"),
            Action::Put { .. } => format!("{BENCH}/Upload"),
            Action::Stream { .. } => format!("{BENCH}/Chat"),
            Action::Exchange { kind, .. } => format!("{}/{kind}", messages::EXCHANGE),
            Action::Submit { chunk_bytes, .. } => match chunk_bytes {
                Some(_) => format!("{}/DiagStream", messages::SUBMIT),
                None => format!("{}/Diag", messages::SUBMIT),
            },
            Action::Fetch { .. } | Action::Pause { .. } | Action::Reconnect { .. } => return None,
        };
        Some(Planned {
            method: "POST".to_owned(),
            path,
            body: self.grpc_body(action),
            own: None,
        })
    }

    /// Returns the body of a request over gRPC as the log counts it: without gRPC's framing. None where the lab could
    /// not make the message itself; the server refuses it, too.
    fn grpc_body(&self, action: &Action) -> Option<Body> {
        let echo = |body: &str| {
            let echo = messages::Echo::from_json(body.as_bytes()).ok()?;
            Some(EchoRequest::from(echo).encode_to_vec())
        };
        match action {
            Action::Call { body } => Some(Body::of(&echo(body)?)),
            Action::Stream { body, messages } => {
                Some(Body::of(&echo(body)?.repeat(*messages as usize)))
            }
            Action::Get { bytes } => {
                let request = DownloadRequest { bytes: *bytes };
                Some(Body::of(&request.encode_to_vec()))
            }
            Action::Put { bytes } => Some(self.upload(*bytes)),
            Action::Exchange { .. }
            | Action::Submit { .. }
            | Action::Fetch { .. }
            | Action::Pause { .. }
            | Action::Reconnect { .. } => None,
        }
    }

    fn upload(&self, bytes: u64) -> Body {
        let mut uploads = self.uploads.borrow_mut();
        let digest = uploads
            .entry(bytes)
            .or_insert_with(|| messages::digest_of(bytes));
        Body {
            bytes,
            digest: digest.clone(),
        }
    }
}

impl Planned {
    /// Returns a request of the study's own.
    fn own(sent: &SentRequest) -> Planned {
        let body = |content: Option<&Arc<Content>>| match content {
            None => Body::of(b""),
            Some(content) => Body {
                bytes: content.bytes.len() as u64,
                digest: content.digest.clone(),
            },
        };
        Planned {
            method: sent.answer.method.clone(),
            path: sent.answer.path.clone(),
            body: Some(body(sent.body.as_ref())),
            own: Some((sent.fields_digest.clone(), body(sent.answer_body.as_ref()))),
        }
    }
}

impl Body {
    fn of(bytes: &[u8]) -> Body {
        Body {
            bytes: bytes.len() as u64,
            digest: messages::hex(&Sha256::digest(bytes)),
        }
    }
}

/// Checks the header fields of a request of the study's own, and that the server gave its answer.
fn check_own(row: &Row, hit: &RequestEvent, fields: &str, answer: &Body) -> Result<(), String> {
    let id = row.id;
    if hit.fields_digest.as_deref() != Some(fields) {
        return Err(format!(
            "call {id}: the server saw other header fields than the step has"
        ));
    }
    if (hit.response_bytes, &hit.response_digest) != (answer.bytes, &answer.digest) {
        return Err(format!(
            "call {id}: the answer has {} B, the server sent {} B or others",
            answer.bytes, hit.response_bytes
        ));
    }
    Ok(())
}

fn check_status(row: &Row, hit: &RequestEvent) -> Result<(), String> {
    if row.status != Some(hit.status) {
        let claimed = row.status.map_or("none".to_owned(), |s| s.to_string());
        return Err(format!(
            "call {}: the driver claims status {claimed}, the server answered {}",
            row.id, hit.status
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
