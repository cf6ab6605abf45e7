//! Each contradiction is found, and honest rows that look odd are accepted.

use driver::protocol::{ErrorKind, Until};
use record::State;

use super::*;

fn try_rows(rows: &[Row]) -> Result<Proven, String> {
    let w = workload();
    let claim = claim(&w);
    prove(
        &claim,
        rows,
        &[connection(), request(1, 1_400), request(2, 2_300)],
    )
}

#[test]
fn honest_rows_are_accepted() {
    let (calls, connections) = try_rows(&[row(1, 1_100), row(2, 2_000)]).unwrap();
    assert_eq!(calls[0].state, State::ColdProcess);
    assert!(calls[0].first && !calls[1].first);
    assert_eq!(calls[1].state, State::Warm);
    assert_eq!(calls[0].start_ns, 100);
    assert_eq!(calls[0].end_ns, 600);
    assert_eq!(calls[0].proof, Proof::Server);
    assert_eq!(connections.len(), 1);
    assert_eq!(connections[0].0.ip_version, Some(6));
}

#[test]
fn a_client_that_decides_may_have_opened_its_connection_beforehand() {
    let w = workload();
    let mut rows = [row(1, 1_400), row(2, 2_000)];
    rows[0].reused = true;
    let log = [connection(), request(1, 1_500), request(2, 2_300)];
    let prove_as = |protocol| {
        let claim = Claim {
            protocol,
            ..claim(&w)
        };
        prove(&claim, &rows, &log)
    };
    let (calls, _) = prove_as(Protocol::Auto).unwrap();
    assert_eq!((calls[0].first, calls[0].protocol.as_str()), (false, "h2"));
    assert!(prove_as(Protocol::H2).is_err());
}

#[test]
fn each_contradiction_has_its_reason() {
    let honest = [row(1, 1_100), row(2, 2_000)];
    let refused = |change: fn(&mut [Row; 2]), reason: &str| {
        let mut rows = honest.clone();
        change(&mut rows);
        let error = try_rows(&rows).unwrap_err();
        assert!(error.contains(reason), "{error:?} should say {reason:?}");
    };
    refused(
        |r| r[0].protocol = Some(Protocol::H3),
        "claims h3, the server saw h2",
    );
    refused(
        |r| r[0].reused = true,
        "claims a reused connection, but no call that opened it",
    );
    refused(
        |r| r[1].reused = false,
        "claims a new connection, the server saw it on a used one",
    );
    refused(
        |r| r[0].early_data = true,
        "claims accepted early data (0-RTT), the server saw none",
    );
    refused(
        |r| r[0].resumed = Some(true),
        "claims resumed: yes, the server saw resumed: no",
    );
    refused(
        |r| r[1].digest = Some("bb".into()),
        "wrong digest: the driver got bb",
    );
    refused(|r| r[1].digest = None, "wrong digest: the driver got none");
    refused(
        |r| r[1].response_bytes = 1,
        "claims 1 B of body, the server sent 2 B",
    );
    refused(
        |r| r[1].local_port = Some(5),
        "claims local port 5, the server saw 4000",
    );
    refused(
        |r| r[1].start_ns = 2_301,
        "the server saw the request 0 µs before",
    );
    refused(
        |r| r[1].first_byte_ns = Some(2_299),
        "0 µs before the server saw the request",
    );
    refused(|r| r[1].first_byte_ns = Some(2_310), "on a link with");
    refused(|r| r[0].id = 77, "id 77, which is not a call");
}

#[test]
fn the_log_decides_on_a_resumption_that_the_stack_does_not_report() {
    let resumes = |resumed, log_resumed| {
        let ServerEvent::Connection(opened) = connection() else {
            unreachable!()
        };
        let opened = ServerEvent::Connection(ConnectionEvent {
            resumed: log_resumed,
            ..opened
        });
        let rows = [Row {
            resumed,
            ..row(1, 1_100)
        }];
        let workload = workload();
        let log = [opened, request(1, 1_400)];
        prove(&claim(&workload), &rows, &log).map(|(calls, _)| calls[0].state)
    };
    assert_eq!(resumes(None, true), Ok(State::Resumed));
    assert_eq!(resumes(None, false), Ok(State::ColdProcess));
    assert_eq!(resumes(Some(true), true), Ok(State::Resumed));
    assert!(resumes(Some(false), true).is_err());
}

#[test]
fn calls_waiting_for_a_handshake_may_arrive_in_any_order() {
    let mut rows = [row(1, 1_100), row(2, 1_200)];
    let w = workload();
    let claim = claim(&w);
    let log = [connection(), request(1, 1_410), request(2, 1_400)];
    let (calls, _) = prove(&claim, &rows, &log).unwrap();
    assert!(calls[0].first && !calls[1].first);
    rows[1].start_ns = 1_350;
    rows[1].first_byte_ns = Some(1_900);
    let error = prove(&claim, &rows, &log).unwrap_err();
    assert!(error.contains("the server saw a new one"), "{error}");
}

#[test]
fn timeouts_are_censored() {
    let mut late = row(2, 2_000);
    late.error = Some(driver::protocol::CallError {
        kind: ErrorKind::Timeout,
        detail: "10 s passed".into(),
    });
    let (calls, _) = try_rows(&[row(1, 1_100), late]).unwrap();
    assert_eq!(calls[1].result, CallResult::TimedOut);
    assert_eq!(calls[1].server_hits, 1);
}

/// Returns an exchange of `big-7` in `json+gzip-6`, as an honest row and the log have it.
fn exchanged() -> (Row, RequestEvent) {
    let row = Row {
        created_ns: Some(1_110),
        encoded_ns: Some(1_120),
        received_ns: Some(1_650),
        ..row(1, 1_100)
    };
    let ServerEvent::Request(hit) = request(1, 1_400) else {
        unreachable!()
    };
    let hit = RequestEvent {
        path: "/exchange/Big".into(),
        codec: Some("json+gzip-6".into()),
        decode_ns: Some(3),
        encode_ns: Some(4),
        ..hit
    };
    (row, hit)
}

fn try_exchange(row: Row, hit: RequestEvent) -> Result<Call, String> {
    let workload = Workload::expand(&[Step::Exchange {
        group: "page".into(),
        messages: vec!["big-7".parse().unwrap()],
        times: 1,
    }]);
    let claim = Claim {
        codec: "json+gzip-6",
        ..claim(&workload)
    };
    let (mut calls, _) = prove(&claim, &[row], &[connection(), ServerEvent::Request(hit)])?;
    Ok(calls.remove(0))
}

#[test]
fn exchanges_record_the_phases_of_both_sides() {
    let (row, hit) = exchanged();
    let call = try_exchange(row, hit).unwrap();
    let expected = Exchange {
        created_ns: Some(10),
        encoded_ns: Some(20),
        received_ns: Some(550),
        server_decode_ns: Some(3),
        server_encode_ns: Some(4),
    };
    assert_eq!(call.exchange, Some(expected));
    let (calls, _) = try_rows(&[super::tests::row(1, 1_100)]).unwrap();
    assert_eq!(calls[0].exchange, None);
}

#[test]
fn a_different_exchange_is_a_contradiction() {
    type Change = fn(&mut Row, &mut RequestEvent);
    let cases: [(Change, &str); 4] = [
        (
            |_, hit| hit.codec = Some("json".into()),
            "the arm asks for codec json+gzip-6, the server saw json",
        ),
        (
            |_, hit| hit.codec = None,
            "answered 200 without decoding one",
        ),
        (
            |_, hit| hit.path = "/exchange/Small".into(),
            "should be POST /exchange/Big, the server saw POST /exchange/Small",
        ),
        (|row, _| row.request_bytes = 1, "claims to have sent 1 B"),
    ];
    for (change, reason) in cases {
        let (mut row, mut hit) = exchanged();
        change(&mut row, &mut hit);
        let error = try_exchange(row, hit).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn submissions_record_the_phases_of_the_way_out() {
    let (row, hit) = exchanged();
    let row = Row {
        created_ns: None,
        received_ns: None,
        ..row
    };
    let hit = RequestEvent {
        path: "/submit/Diag".into(),
        encode_ns: None,
        ..hit
    };
    let workload = Workload::expand(&[Step::Submit {
        group: "diag".into(),
        message: "diag-100kB".parse().unwrap(),
        times: 1,
    }]);
    let claim = Claim {
        codec: "json+gzip-6",
        ..claim(&workload)
    };
    let try_submit = |hit: RequestEvent| {
        let log = [connection(), ServerEvent::Request(hit)];
        let (mut calls, _) = prove(&claim, std::slice::from_ref(&row), &log)?;
        Ok::<Call, String>(calls.remove(0))
    };
    let expected = Exchange {
        encoded_ns: Some(20),
        server_decode_ns: Some(3),
        ..Exchange::default()
    };
    let call = try_submit(hit.clone()).unwrap();
    assert_eq!(call.exchange, Some(expected));
    let undecoded = RequestEvent { codec: None, ..hit };
    let error = try_submit(undecoded).unwrap_err();
    assert!(error.contains("without decoding one"), "{error}");
}

#[test]
fn authentication_must_be_what_the_arm_asks_for() {
    let workload = workload();
    let try_auth = |asked: Option<&str>, seen: Option<&str>, signed_ns: Option<u64>| {
        let claim = Claim {
            auth: asked,
            ..claim(&workload)
        };
        let row = Row {
            signed_ns,
            ..row(1, 1_100)
        };
        let ServerEvent::Request(hit) = request(1, 1_400) else {
            unreachable!()
        };
        let hit = RequestEvent {
            auth: seen.map(Into::into),
            verify_ns: seen.map(|_| 7),
            ..hit
        };
        let log = [connection(), ServerEvent::Request(hit)];
        let (mut calls, _) = prove(&claim, &[row], &log)?;
        Ok::<Call, String>(calls.remove(0))
    };
    let call = try_auth(Some("hmac"), Some("hmac"), Some(1_130)).unwrap();
    assert_eq!((call.signed_ns, call.verify_ns), (Some(30), Some(7)));
    try_auth(Some("jwt"), Some("jwt"), None).unwrap();
    try_auth(None, None, None).unwrap();
    for (asked, seen, signed_ns, reason) in [
        (
            Some("jwt"),
            None,
            None,
            "asks for jwt, the server saw no authentication",
        ),
        (
            Some("hmac"),
            Some("jwt"),
            Some(1_130),
            "asks for hmac, the server saw jwt",
        ),
        (
            None,
            Some("jwt"),
            None,
            "asks for no authentication, the server saw jwt",
        ),
        (
            Some("hmac"),
            Some("hmac"),
            None,
            "reports no time of signing",
        ),
        (
            Some("jwt"),
            Some("jwt"),
            Some(1_130),
            "reports a time of signing",
        ),
    ] {
        let error = try_auth(asked, seen, signed_ns).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn calls_without_a_row_must_not_have_reached_the_server() {
    let mut workload = workload();
    workload.steps[1].until = Some(Until { after: 0, ns: 1 });
    let rows = [row(1, 1_100)];
    let log = [connection(), request(1, 1_400)];
    let (calls, _) = prove(&claim(&workload), &rows, &log).unwrap();
    assert_eq!(calls.len(), 1);
    let log = [connection(), request(1, 1_400), request(2, 2_000)];
    let error = prove(&claim(&workload), &rows, &log).unwrap_err();
    assert!(
        error.contains("call 2: the driver claims not to have started it"),
        "{error}"
    );
}

#[test]
fn a_file_that_came_in_parts_is_checked_as_a_whole() {
    let workload = Workload::expand(&[Step::Get {
        group: "file".into(),
        bytes: 10,
        times: 1,
    }]);
    let part = |start_ns, status, bytes| match request(1, start_ns) {
        ServerEvent::Request(hit) => ServerEvent::Request(RequestEvent {
            method: "GET".into(),
            path: "/bytes/10".into(),
            request_bytes: 0,
            request_digest: messages::digest_of(0),
            response_bytes: bytes,
            status,
            broken: status == 200,
            ..hit
        }),
        other => other,
    };
    let log = [connection(), part(2_000, 200, 6), part(2_300, 206, 5)];
    let honest = Row {
        status: Some(206),
        request_bytes: 0,
        response_bytes: 10,
        digest: Some(messages::digest_of(10)),
        first_byte_ns: Some(2_200),
        end_ns: 2_600,
        ..row(1, 1_100)
    };
    let check = |row: Row, log: &[ServerEvent]| prove(&claim(&workload), &[row], log);
    let (calls, _) = check(honest.clone(), &log).unwrap();
    assert_eq!((calls[0].server_hits, calls[0].response_bytes), (2, 10));
    let refused = |row: Row, log: &[ServerEvent], reason: &str| {
        let error = check(row, log).unwrap_err();
        assert!(error.contains(reason), "{error}");
    };
    let short = Row {
        response_bytes: 9,
        ..honest.clone()
    };
    refused(short, &log, "9 B of a file of 10 B");
    let wrong = Row {
        digest: Some("aa".into()),
        ..honest.clone()
    };
    refused(wrong, &log, "the file's is");
    let too_little = [connection(), part(2_000, 200, 3), part(2_300, 206, 5)];
    refused(
        honest.clone(),
        &too_little,
        "the server sent 8 B in 2 parts",
    );
    let another = [connection(), part(2_000, 404, 6), part(2_300, 206, 5)];
    refused(honest, &another, "10 B of body, the server sent 5 B");
}
