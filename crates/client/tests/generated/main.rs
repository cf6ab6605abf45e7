//! Random answers of servers whose truth is known, over HTTP/1.1, HTTP/2 and HTTP/3: what the client makes of each must
//! be true.
//!
//! `COMMUTE_SEED` sets the first seed, and `COMMUTE_CASES` the number of cases for each version of HTTP. A failure names
//! the seed of its case, so that `COMMUTE_SEED=seed COMMUTE_CASES=1` repeats it alone.

#![allow(clippy::unwrap_used, reason = "a test that cannot start has failed")]

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use client::{Engine, Error, Fault, Policy, Trust};
use http::Method;
use peers::{Case, Credentials, Options, Protocol, Rng, Server, Truth};
use tokio::task::JoinSet;

/// Cases for each version of HTTP.
const CASES: u64 = 2_000;
/// Servers for each version of HTTP, which are asked at the same time.
const SERVERS: u64 = 4;
/// Requests at the same time on a connection.
const BATCH: usize = 8;
/// No answer takes a tenth of this.
const LIMIT: Duration = Duration::from_secs(20);

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("the variable is a number"))
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_over_http_1() {
    all_are_true(Protocol::H1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_over_http_2() {
    all_are_true(Protocol::H2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_true_over_http_3() {
    all_are_true(Protocol::H3).await;
}

async fn all_are_true(protocol: Protocol) {
    // The gate runs the same cases each time; `make answers` runs others.
    let seed = number("COMMUTE_SEED").unwrap_or(1);
    let cases = number("COMMUTE_CASES").unwrap_or(CASES);
    println!("COMMUTE_SEED={seed} COMMUTE_CASES={cases}");
    let credentials = Arc::new(Credentials::new());
    let engine = Engine::builder()
        .trust(Trust::Roots(credentials.pem().into_bytes()))
        .resolve("localhost", vec![Ipv4Addr::LOCALHOST.into()]);
    let engine = engine.build().unwrap();
    let mut lanes = JoinSet::new();
    for lane in 0..SERVERS {
        let seeds = (seed..seed + cases).filter(move |seed| seed % SERVERS == lane);
        let cases = seeds.map(|seed| Arc::new(Case::new(protocol, seed)));
        let cases = cases.filter(|case| known(case).is_none());
        let (engine, credentials) = (engine.clone(), Arc::clone(&credentials));
        lanes.spawn(run(protocol, cases.collect(), engine, credentials));
    }
    let wrong = lanes.join_all().await.concat();
    let count = wrong.len();
    let shown = wrong.iter().take(40).fold(String::new(), |mut text, line| {
        writeln!(text, "{line}").unwrap();
        text
    });
    assert!(
        wrong.is_empty(),
        "{count} of {cases} outcomes are wrong:\n{shown}"
    );
}

/// Asks a server for all cases; returns what is wrong.
async fn run(
    protocol: Protocol,
    cases: Vec<Arc<Case>>,
    engine: Engine,
    credentials: Arc<Credentials>,
) -> Vec<String> {
    let answers = cases.clone();
    let choose = move |request: &peers::Request, nth: usize| {
        let case = answers.iter().find(|case| path(case) == request.path);
        case.expect("only cases are asked for").script(nth)
    };
    let choose = Arc::new(choose);
    let start = async |options| {
        let choose = Arc::clone(&choose);
        Server::start(protocol, &credentials, options, move |request, nth| {
            choose(request, nth)
        })
        .await
    };
    let (max_streams, usual) = (Some(1), Options::default());
    let limited = Options {
        max_streams,
        ..usual
    };
    let servers = [start(usual).await, start(limited).await];
    let servers = servers.map(Arc::new);
    let mut wrong = Vec::new();
    let (alone, others): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.is_alone);
    for case in alone {
        wrong.extend(check(&case, &servers[0], &engine).await);
    }
    for (index, batch) in others.chunks(BATCH).enumerate() {
        let server = &servers[usize::from(index % 4 == 3)];
        let mut tasks = JoinSet::new();
        for case in batch {
            let (case, server, engine) = (Arc::clone(case), Arc::clone(server), engine.clone());
            tasks.spawn(async move { check(&case, &server, &engine).await });
        }
        wrong.extend(tasks.join_all().await.into_iter().flatten());
    }
    wrong
}

fn path(case: &Case) -> String {
    format!("/{}", case.seed)
}

/// Says why the outcome of a case is not what it should be yet, if it is known.
fn known(case: &Case) -> Option<&'static str> {
    match case.protocol {
        Protocol::H2 if case.what.contains("304 with a length") => {
            Some("h2 expects a body unless the head has END_STREAM")
        }
        Protocol::H2 if case.what == "a path" => Some("h2 ignores pseudo-fields of requests"),
        _ => None,
    }
}

/// What an app has of a response.
#[derive(Debug, Default)]
struct Seen {
    status: u16,
    body: Vec<u8>,
    trailers: Vec<peers::Field>,
}

/// Sends the request of a case; returns what is wrong with the outcome.
async fn check(case: &Case, server: &Server, engine: &Engine) -> Option<String> {
    let mut seen = Seen::default();
    let asked = tokio::time::timeout(LIMIT, ask(case, server, engine, &mut seen)).await;
    let wrong = match asked {
        Err(_) => Err("it hangs".to_owned()),
        Ok(outcome) => judge(case, &seen, &outcome, &server.requests(&path(case))),
    };
    let Case {
        protocol,
        seed,
        method,
        what,
        ..
    } = case;
    let text = |reason| format!("seed {seed}: {protocol:?} {method} {what:?}: {reason}");
    wrong.err().map(text)
}

async fn ask(case: &Case, server: &Server, engine: &Engine, seen: &mut Seen) -> Result<(), Error> {
    let policy = match case.protocol {
        Protocol::H1 => Policy::H1,
        Protocol::H2 => Policy::H2,
        Protocol::H3 => Policy::H3,
    };
    let method = Method::from_bytes(case.method.as_bytes()).unwrap();
    let request = engine.request(method, &server.url(&path(case)));
    let request = request.body(case.request.clone()).policy(policy);
    let mut response = request.send().await?;
    seen.status = response.status().as_u16();
    while let Some(piece) = response.chunk().await? {
        seen.body.extend(piece);
        // A reader that is slower than its connection.
        if Rng::new(case.seed).chance(10) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    let trailers = response.trailers().into_iter().flatten();
    let field = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.to_string(), value.to_str().unwrap().to_owned())
    };
    seen.trailers = trailers.map(field).collect();
    Ok(())
}

fn judge(
    case: &Case,
    seen: &Seen,
    outcome: &Result<(), Error>,
    requests: &[peers::Request],
) -> Result<(), String> {
    let must = |holds: bool, what: &str| match holds {
        true => Ok(()),
        false => Err(format!("{what}; status {}, {outcome:?}", seen.status)),
    };
    must(
        case.body.starts_with(&seen.body),
        "the body is not what was sent",
    )?;
    match (case.truth, outcome) {
        (Truth::Complete, Ok(())) => {
            must(seen.status == case.status, "another status")?;
            must(seen.body == case.body, "a part of the body is missing")?;
            must(seen.trailers == case.trailers, "other trailers")?;
        }
        (Truth::Complete, Err(_)) => must(false, "a whole response is an error")?,
        (Truth::Truncated | Truth::Malformed, Ok(())) => {
            must(false, "a broken response is whole")?;
        }
        (
            truth,
            Err(Error::Failed {
                fault,
                may_have_acted,
            }),
        ) => {
            must(*may_have_acted, "the server may have acted")?;
            let is_malformed = matches!(fault, Fault::Malformed | Fault::Protocol);
            let fits = truth == Truth::Truncated || is_malformed;
            must(fits, "another fault than of a malformed response")?;
        }
        (_, Err(_)) => must(false, "another error than of a broken response")?,
    }
    let (least, most) = case.arrivals();
    let count = requests.len();
    let fits = (least..=most).contains(&count);
    must(
        fits,
        &format!("sent {count} times instead of {least} to {most}"),
    )?;
    let whole = requests.iter().all(|request| request.body == case.request);
    must(whole, "the server received another body")
}
