//! The table of cases, and the cell of each.

mod connections;
mod faults;
mod messages;
mod security;

use driver::protocol::{Action, Capability, Protocol, Setup, Step, Until};
use study::plan::SentRequests;
use study::{DEFAULT_BODY, Security};

use self::messages::{exchange, own, stream, submit};
use super::case::Method::{self, Cell};
use super::case::{Case, OtherCredentials, Trial};
use super::checks;
use super::evidence::Evidence;
use super::sizes::{LARGE, SIZES, body_of};
use connections::{
    alt_svc, early_data, early_refused, fresh, origins, parallel, resumed, reused, shared, warm_up,
};
use faults::{cancel, redirect, reset, slow, status, timeout, truncated};
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

fn phases(_: Protocol) -> Trial {
    let rest = || Action::Pause {
        ns: checks::REST_NS,
    };
    trial([call(), rest(), call(), rest(), call()], checks::phases)
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

fn call() -> Action {
    Action::Call {
        body: DEFAULT_BODY.into(),
    }
}

fn get(bytes: u64) -> Action {
    Action::Get { bytes }
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
