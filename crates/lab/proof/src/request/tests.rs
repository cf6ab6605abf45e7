//! Each request that is not the planned one is refused with its reason.

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
