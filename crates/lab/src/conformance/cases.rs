//! The table of cases, and the cell of each.

mod security;

use driver::protocol::{
    Action, Capability, Discovery, Protocol, Reconnect, Setup, Start, Step, Until,
};

use super::case::Method::{self, Cell};
use super::case::{Case, OtherCredentials, Trial};
use super::checks;
use super::evidence::Evidence;
use super::sizes::{LARGE, SIZES, body_of};
use crate::plan::own::SentRequests;
use crate::study::own::Form;
use crate::study::{DEFAULT_BODY, OwnRequest, Payload, Placement, Security};
use security::{
    expired, hmac, jwt, mtls, mtls_none, mtls_wrong, not_yet_valid, plaintext, wrong_ca, wrong_name,
};

use Protocol::{Grpc, H1, H2, H3};

const ALL: &[Protocol] = &[H1, H2, H3, Grpc];
const HTTP: &[Protocol] = &[H1, H2, H3];
const SHARED: &[Protocol] = &[H2, H3, Grpc];
const SECOND_NS: u64 = 1_000_000_000;

/// Every case, in the order they run. The negative probe comes first: a driver that agrees to
/// everything would otherwise pass cases on its word.
#[rustfmt::skip] // A table: a line for the code, a line for people.
pub const CASES: &[Case] = &[
    case("unknown", ALL, None, Method::UnknownRequest,
         "unknown requests are answered `unsupported`"),
    case("calls", ALL, None, Cell(calls),
         "echoes of 26 B, 1 kB and 100 kB return complete"),
    case("downloads", ALL, None, Cell(downloads),
         "0 B, 1 B, 100 kB and 10 MB are downloaded complete"),
    case("uploads", ALL, None, Cell(uploads),
         "0 B, 1 B, 100 kB and 10 MB are uploaded complete"),
    case("reused", ALL, None, Cell(reused),
         "sequential calls share a connection"),
    case("fresh", ALL, None, Cell(fresh),
         "`reconnect cold` opens a connection without resumption"),
    case("resumed", ALL, Some(Capability::Resume), Cell(resumed),
         "`reconnect resume` resumes the session"),
    case("early-data", ALL, Some(Capability::EarlyData), Cell(early_data),
         "a request is sent as 0-RTT data"),
    case("early-refused", ALL, Some(Capability::EarlyData), Cell(early_refused),
         "rejected 0-RTT data is sent again"),
    case("mtls", ALL, Some(Capability::Mtls), Cell(mtls),
         "the client authenticates with its certificate"),
    case("mtls-wrong", ALL, Some(Capability::Mtls), Cell(mtls_wrong),
         "a client certificate of another CA gets no response"),
    case("mtls-none", ALL, None, Cell(mtls_none),
         "no client certificate gets no response"),
    case("wrong-ca", ALL, None, Cell(wrong_ca),
         "a server certificate of another CA is rejected"),
    case("wrong-name", ALL, None, Cell(wrong_name),
         "a server certificate for another name is rejected"),
    case("expired", ALL, None, Cell(expired),
         "a server certificate that has expired is rejected"),
    case("not-yet-valid", ALL, None, Cell(not_yet_valid),
         "a server certificate that is not valid yet is rejected"),
    case("reset", ALL, None, Cell(reset),
         "an aborted body is an error; the next call works"),
    case("truncated", ALL, None, Cell(truncated),
         "a truncated body is an error; the next call works"),
    case("slow", ALL, None, Cell(slow),
         "the first byte of a slow body is reported long before its end"),
    case("status", ALL, None, Cell(status),
         "503 (gRPC: UNAVAILABLE) is an error with its status"),
    case("redirect", HTTP, None, Cell(redirect),
         "302 is reported, not followed"),
    case("timeout", ALL, None, Cell(timeout),
         "calls time out after `timeout_ns`, within 10 %; the next call works"),
    case("cancel", ALL, Some(Capability::Cancel), Cell(cancel),
         "calls are cancelled after `cancel_after_ns`; the next call works"),
    case("parallel", ALL, Some(Capability::Parallel), Cell(parallel),
         "six parallel calls return complete"),
    case("shared", SHARED, Some(Capability::Parallel), Cell(shared),
         "six parallel calls without an open connection share one"),
    case("stream", &[Grpc], Some(Capability::Stream), Cell(stream),
         "the messages of a stream return in order"),
    case("phases", ALL, None, Cell(phases),
         "phases are in order and agree with packets and server log"),
    case("warm-up", ALL, None, Cell(warm_up),
         "the warm-up leaves the measured origin untouched"),
    case("frames", ALL, Some(Capability::Observe), Cell(frames),
         "observed calls end on a 60 Hz grid"),
    case("exchange", ALL, None, Method::Exchange(exchange),
         "exchanged messages return equal in every codec offered"),
    case("submit", ALL, Some(Capability::Submit), Method::Exchange(submit),
         "submitted messages arrive in every codec offered, over gRPC also in parts"),
    case("own", ALL, Some(Capability::Fetch), Cell(own),
         "requests of a study's own have its method, path, header fields and body"),
    case("plaintext", &[H1, Grpc], Some(Capability::Plaintext), Cell(plaintext),
         "calls are made without TLS"),
    case("jwt", ALL, Some(Capability::Jwt), Cell(jwt),
         "every request carries the token"),
    case("hmac", ALL, Some(Capability::Hmac), Cell(hmac),
         "every request is signed, and so are the chunks of gRPC client streams"),
    case("until", ALL, Some(Capability::Until), Cell(until),
         "calls whose time is over are left out"),
    case("origins", ALL, Some(Capability::Origins), Cell(origins),
         "each call goes to its origin: another name of the server, or another server"),
    case("alt-svc", &[H3], Some(Capability::AltSvc), Cell(alt_svc),
         "HTTP/2 until Alt-Svc is received, then HTTP/3"),
];

const fn case(
    name: &'static str,
    protocols: &'static [Protocol],
    needs: Option<Capability>,
    method: Method,
    about: &'static str,
) -> Case {
    Case {
        name,
        about,
        protocols,
        needs,
        method,
    }
}

fn plain(_: Protocol) -> Trial {
    Trial {
        steps: steps([call()]),
        own: SentRequests::default(),
        server_args: Vec::new(),
        certificate_name: None,
        security: Security::Tls,
        auth: None,
        origins: &[],
        discovery: None,
        observe: None,
        warmup_calls: 0,
        codec: None,
        timeout_ns: 10 * SECOND_NS,
        amend_setup: |_: &mut Setup, _: &OtherCredentials| {},
        check: checks::all_answered,
    }
}

/// Returns `plain` with these steps and this check.
fn trial<const N: usize>(
    actions: [Action; N],
    check: fn(&Evidence<'_>) -> Result<(), String>,
) -> Trial {
    Trial {
        steps: steps(actions),
        check,
        ..plain(H1)
    }
}

fn calls(_: Protocol) -> Trial {
    let bodies = [26, 1_000, 100_000].map(|bytes| Action::Call {
        body: body_of(bytes),
    });
    trial(bodies, checks::all_answered)
}

fn downloads(_: Protocol) -> Trial {
    trial(SIZES.map(get), checks::all_answered)
}

fn uploads(_: Protocol) -> Trial {
    trial(SIZES.map(|bytes| Action::Put { bytes }), checks::uploads)
}

fn reused(_: Protocol) -> Trial {
    trial(
        [call(), get(100), call(), get(LARGE), call()],
        checks::one_connection,
    )
}

fn fresh(_: Protocol) -> Trial {
    let actions = [
        call(),
        call(),
        reconnect(Reconnect::Cold),
        call(),
        reconnect(Reconnect::Cold),
        call(),
    ];
    trial(actions, checks::three_new_connections)
}

fn resumed(_: Protocol) -> Trial {
    let actions = [
        call(),
        call(),
        reconnect(Reconnect::Resume),
        call(),
        call(),
        reconnect(Reconnect::Cold),
        call(),
    ];
    trial(actions, checks::resumed_then_cold)
}

fn early_data(_: Protocol) -> Trial {
    let actions = [
        call(),
        call(),
        reconnect(Reconnect::EarlyData),
        get(100),
        call(),
    ];
    trial(actions, checks::early_data)
}

fn early_refused(protocol: Protocol) -> Trial {
    Trial {
        server_args: vec!["--reject-tickets".into()],
        check: checks::early_refused,
        ..early_data(protocol)
    }
}

/// Returns a trial whose first call fails on demand; the second must not.
fn faulty(fault: &str, first: Action, check: fn(&Evidence<'_>) -> Result<(), String>) -> Trial {
    Trial {
        server_args: vec!["--inject".into(), format!("1={fault}")],
        ..trial([first, call()], check)
    }
}

fn reset(_: Protocol) -> Trial {
    faulty("reset", get(LARGE), checks::failed_then_answered)
}

fn truncated(_: Protocol) -> Trial {
    faulty("truncate", get(LARGE), checks::failed_then_answered)
}

fn slow(_: Protocol) -> Trial {
    faulty("slow", get(LARGE), checks::slow_body)
}

fn status(_: Protocol) -> Trial {
    faulty("unavailable", call(), checks::unavailable)
}

fn redirect(_: Protocol) -> Trial {
    faulty("redirect", get(100), checks::redirect)
}

fn timeout(_: Protocol) -> Trial {
    Trial {
        timeout_ns: SECOND_NS,
        ..faulty("stall", call(), checks::timed_out)
    }
}

fn cancel(_: Protocol) -> Trial {
    let mut trial = faulty("stall", call(), checks::cancelled);
    trial.steps[0].cancel_after_ns = Some(checks::CANCEL_NS);
    trial
}

fn parallel(_: Protocol) -> Trial {
    let mut trial = trial(
        [
            call(),
            get(LARGE),
            get(LARGE),
            get(LARGE),
            get(LARGE),
            get(LARGE),
            get(LARGE),
        ],
        checks::parallel,
    );
    side_by_side(&mut trial.steps[1..], 1);
    trial
}

fn shared(_: Protocol) -> Trial {
    let mut trial = trial(
        [call(), call(), call(), call(), call(), call()],
        checks::one_connection,
    );
    side_by_side(&mut trial.steps, 0);
    trial
}

fn stream(_: Protocol) -> Trial {
    let chat = Action::Stream {
        body: DEFAULT_BODY.into(),
        messages: checks::MESSAGES,
    };
    trial([chat, call()], checks::streamed)
}

fn phases(_: Protocol) -> Trial {
    let rest = || Action::Pause {
        ns: checks::REST_NS,
    };
    trial([call(), rest(), call(), rest(), call()], checks::phases)
}

fn warm_up(_: Protocol) -> Trial {
    Trial {
        warmup_calls: 3,
        ..trial([call(), call()], checks::origin_untouched)
    }
}

fn frames(_: Protocol) -> Trial {
    Trial {
        observe: Some("frame:60"),
        ..trial(
            [call(), call(), call(), call(), call(), call()],
            checks::ended_on_frames,
        )
    }
}

fn exchange(_: Protocol) -> Trial {
    let exchange = |message: &str, kind: &str| Action::Exchange {
        message: message.into(),
        kind: kind.into(),
    };
    let (by_rule, read) = (exchange("big-7", "Big"), exchange("api-2kB", "ApiPage"));
    trial([by_rule, read.clone(), read], checks::exchanged)
}

fn submission(protocol: Protocol) -> Vec<Action> {
    let submit = |chunk_bytes| Action::Submit {
        message: "diag-100kB".into(),
        kind: "Diag".into(),
        chunk_bytes,
    };
    match protocol {
        // Parts of any length, and one that is longer than the message.
        Grpc => [None, Some(30_000), Some(LARGE)].map(submit).into(),
        _ => vec![submit(None)],
    }
}

fn submit(protocol: Protocol) -> Trial {
    Trial {
        steps: steps(submission(protocol)),
        ..trial([], checks::submitted)
    }
}

/// The proof compares every part of each request, and of its answer, with the study's.
fn own(protocol: Protocol) -> Trial {
    let form = match protocol {
        Grpc => Form::Grpc,
        H1 | H2 | H3 | Protocol::Auto => Form::AsTheyAre,
    };
    let json = |text: &[u8]| Payload::new(None, "application/json".into(), text.into());
    let bytes = |length: usize| {
        let mut content = vec![0; length];
        wire::fill(0, &mut content);
        Payload::new(None, "application/octet-stream".into(), content.into())
    };
    let order = json(br#"{"id":7,"items":["tea","milk"]}"#);
    let request = |method: &str, path: &str, request, response| OwnRequest {
        method: method.into(),
        path: path.into(),
        headers: [
            ("accept", "application/json"),
            ("x-app", "commute 1.0; a=b"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        request,
        response,
    };
    let mut own = SentRequests::default();
    let actions = [
        request(
            "POST",
            "/v1/orders?page=2",
            Some(order.clone()),
            Some(bytes(20_000)),
        ),
        request("GET", "/v1/orders?q=a%20b", None, Some(order.clone())),
        request("PUT", "/v1/orders/7", Some(bytes(100_000)), None),
        request("DELETE", "/v1/orders/7", None, None),
        request(
            "POST",
            "/v1/orders?page=2",
            Some(bytes(1)),
            Some(bytes(20_000)),
        ),
        request("GET", "/", None, Some(bytes(1))),
    ]
    .map(|request| own.add(&request, &form));
    Trial {
        own,
        ..trial(actions, checks::all_answered)
    }
}

fn until(_: Protocol) -> Trial {
    let mut trial = trial(
        [call(), call(), call(), call()],
        checks::late_calls_left_out,
    );
    // A call takes longer than that, and less than an hour.
    trial.steps[1].until = Some(Until { after: 0, ns: 1 });
    trial.steps[2].until = Some(Until {
        after: 1,
        ns: 3_600 * SECOND_NS,
    });
    trial
}

/// The proof compares the origin of each step with the log that its request is in.
fn origins(_: Protocol) -> Trial {
    let cold = || reconnect(Reconnect::Cold);
    let mut trial = trial(
        [
            call(),
            call(),
            get(LARGE),
            call(),
            cold(),
            call(),
            call(),
            call(),
        ],
        checks::all_answered,
    );
    trial.origins = &[
        ("name", Placement::SameServer),
        ("server", Placement::OwnServer),
    ];
    for (id, origin) in [(2, "name"), (3, "server"), (7, "server"), (8, "name")] {
        trial.steps[id - 1].origin = Some(origin.to_owned());
    }
    trial
}

fn alt_svc(_: Protocol) -> Trial {
    let rest = || Action::Pause { ns: 300_000_000 };
    let actions = [call(), rest(), call(), rest(), call(), rest(), call()];
    Trial {
        discovery: Some(Discovery::AltSvc),
        ..trial(actions, checks::alt_svc_learned)
    }
}

fn call() -> Action {
    Action::Call {
        body: DEFAULT_BODY.into(),
    }
}

fn get(bytes: u64) -> Action {
    Action::Get { bytes }
}

fn reconnect(mode: Reconnect) -> Action {
    Action::Reconnect { mode }
}

fn steps(actions: impl IntoIterator<Item = Action>) -> Vec<Step> {
    let step = |(id, action)| Step {
        id,
        start: None,
        group: 1,
        until: None,
        cancel_after_ns: None,
        origin: None,
        action,
    };
    (1..).zip(actions).map(step).collect()
}

fn side_by_side(steps: &mut [Step], after: u32) {
    for step in steps {
        step.start = Some(Start::After(after));
    }
}
