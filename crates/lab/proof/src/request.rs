//! Checks that the server was asked for what the step says, byte for byte.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use driver::protocol::{Action, ErrorKind, Protocol, Row};
use messages::v1::{DownloadRequest, EchoRequest};
use prost::Message;
use record::server_log::RequestEvent;
use sha2::{Digest, Sha256};
use study::plan::{Content, PlannedStep};

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
        let action = &step.step.action;
        if let Some(sent) = step.own {
            let body = |content: Option<&Arc<Content>>| match content {
                None => Body::of(b""),
                Some(content) => Body {
                    bytes: content.bytes.len() as u64,
                    digest: content.digest.clone(),
                },
            };
            return Some(Planned {
                method: sent.answer.method.clone(),
                path: sent.answer.path.clone(),
                body: Some(body(sent.body.as_ref())),
                own: Some((sent.fields_digest.clone(), body(sent.answer_body.as_ref()))),
            });
        }
        let planned = match self.protocol {
            Protocol::Grpc => Planned {
                method: "POST".to_owned(),
                path: match action {
                    Action::Call { .. } => format!("{BENCH}/Echo"),
                    Action::Get { .. } => format!("{BENCH}/Download"),
                    Action::Put { .. } => format!("{BENCH}/Upload"),
                    Action::Stream { .. } => format!("{BENCH}/Chat"),
                    Action::Exchange { kind, .. } => format!("{}/{kind}", messages::EXCHANGE),
                    Action::Submit { chunk_bytes, .. } => match chunk_bytes {
                        Some(_) => format!("{}/DiagStream", messages::SUBMIT),
                        None => format!("{}/Diag", messages::SUBMIT),
                    },
                    Action::Fetch { .. } | Action::Pause { .. } | Action::Reconnect { .. } => {
                        return None;
                    }
                },
                body: self.grpc_body(action),
                own: None,
            },
            Protocol::H1 | Protocol::H2 | Protocol::H3 | Protocol::Auto => {
                let (method, path, body) = match action {
                    Action::Call { body } => {
                        ("POST", "/echo".to_owned(), Some(Body::of(body.as_bytes())))
                    }
                    Action::Get { bytes } => {
                        ("GET", format!("/bytes/{bytes}"), Some(Body::of(b"")))
                    }
                    Action::Put { bytes } => {
                        ("PUT", "/upload".to_owned(), Some(self.upload(*bytes)))
                    }
                    Action::Exchange { kind, .. } => ("POST", format!("/exchange/{kind}"), None),
                    Action::Submit { kind, .. } => ("POST", format!("/submit/{kind}"), None),
                    Action::Fetch { .. }
                    | Action::Stream { .. }
                    | Action::Pause { .. }
                    | Action::Reconnect { .. } => return None,
                };
                Planned {
                    method: method.to_owned(),
                    path,
                    body,
                    own: None,
                }
            }
        };
        Some(planned)
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
mod tests {
    use super::super::tests::{request, row};
    use super::*;
    use driver::protocol::CallError;
    use record::server_log::ServerEvent;
    use study::Step;
    use study::plan::Workload;

    const BODY: &str = r#"{"start_ts":7}"#;

    fn steps() -> Vec<Step> {
        vec![
            Step::Call {
                group: "echo".into(),
                body: BODY.into(),
                times: 1,
            },
            Step::Get {
                group: "down".into(),
                bytes: 1000,
                times: 1,
            },
            Step::Put {
                group: "up".into(),
                bytes: 1000,
                times: 1,
            },
        ]
    }

    /// Returns an honest driver's row of step `id`, and what the server logs of its request.
    fn honest(protocol: Protocol, id: u32) -> (Row, RequestEvent) {
        let ServerEvent::Request(hit) = request(id, 1_400) else {
            unreachable!()
        };
        let grpc = protocol == Protocol::Grpc;
        let (method, path, body) = match (id, grpc) {
            (1, false) => ("POST", "/echo", BODY.into()),
            (2, false) => ("GET", "/bytes/1000", Vec::new()),
            (3, false) => ("PUT", "/upload", seeded(1000)),
            (1, true) => ("POST", "/commute.v1.Bench/Echo", vec![0x08, 7]),
            (2, true) => ("POST", "/commute.v1.Bench/Download", vec![0x08, 0xe8, 0x07]),
            _ => ("POST", "/commute.v1.Bench/Upload", seeded(1000)),
        };
        let status = if grpc { 0 } else { 200 };
        let row = Row {
            request_bytes: body.len() as u64,
            status: Some(status),
            ..row(id, 1_100)
        };
        let hit = RequestEvent {
            method: method.into(),
            path: path.into(),
            request_bytes: body.len() as u64,
            request_digest: messages::hex(&Sha256::digest(&body)),
            status,
            ..hit
        };
        (row, hit)
    }

    fn seeded(bytes: usize) -> Vec<u8> {
        let mut body = vec![0; bytes];
        messages::fill(0, &mut body);
        body
    }

    fn check(
        protocol: Protocol,
        id: u32,
        change: impl FnOnce(&mut Row, &mut RequestEvent),
    ) -> Result<(), String> {
        let workload = Workload::expand(&steps());
        let (mut row, mut hit) = honest(protocol, id);
        change(&mut row, &mut hit);
        PlannedRequests::of(protocol).check(&row, &workload.planned_steps()[&id], &hit)
    }

    #[test]
    fn honest_requests_are_accepted() {
        for protocol in [Protocol::H1, Protocol::H2, Protocol::H3, Protocol::Grpc] {
            for id in 1..=3 {
                check(protocol, id, |_, _| ()).unwrap();
            }
        }
    }

    #[test]
    fn each_other_request_has_its_reason() {
        type Change = fn(&mut Row, &mut RequestEvent);
        let cases: [(u32, Change, &str); 8] = [
            (
                1,
                |_, hit| hit.path = "/health".into(),
                "call 1: should be POST /echo, the server saw POST /health",
            ),
            (
                2,
                |_, hit| hit.path = "/bytes/1".into(),
                "should be GET /bytes/1000, the server saw GET /bytes/1",
            ),
            (
                3,
                |_, hit| hit.method = "POST".into(),
                "should be PUT /upload",
            ),
            // The upload of ten bytes that is claimed to have a thousand.
            (
                3,
                |_, hit| hit.request_bytes = 10,
                "the driver claims to have sent 1000 B of body, the server got 10 B",
            ),
            (
                3,
                |row, hit| (row.request_bytes, hit.request_bytes) = (10, 10),
                "should send 1000 B of body, the server got 10 B",
            ),
            (
                3,
                |_, hit| hit.request_digest = "aa".into(),
                "should send a body with digest",
            ),
            (
                2,
                |row, _| row.status = Some(302),
                "claims status 302, the server answered 200",
            ),
            (
                1,
                |row, hit| (row.status, hit.status) = (Some(400), 400),
                "claims success, the server answered 400",
            ),
        ];
        for (id, change, reason) in cases {
            let error = check(Protocol::H2, id, change).unwrap_err();
            assert!(error.contains(reason), "{error:?} should say {reason:?}");
        }
        let error = check(Protocol::Grpc, 1, |row, hit| {
            (row.status, hit.status) = (Some(3), 3);
        });
        assert!(error.unwrap_err().contains("the server answered 3"));
    }

    #[test]
    fn a_failed_request_must_be_the_right_one_with_the_right_status() {
        let failed = |kind: ErrorKind, status: u16| {
            check(Protocol::H2, 2, |row, hit| {
                row.error = Some(CallError {
                    kind,
                    detail: String::new(),
                });
                (row.status, hit.status) = (Some(status), 503);
                hit.request_digest = "aa".into();
            })
        };
        failed(ErrorKind::Status, 503).unwrap();
        failed(ErrorKind::Status, 500).unwrap_err();
        // The response was cut off; what the client saw of it is unknown.
        failed(ErrorKind::Reset, 200).unwrap();
    }
}
