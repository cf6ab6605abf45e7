//! Runs a client against servers with generated cases.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::outcome::Outcome;
use crate::server::Server;
use crate::shared::{Options, Request};
use crate::{Case, Credentials, Protocol};

/// Groups of cases, which run at the same time on servers of their own.
const LANES: u64 = 4;
/// Requests at the same time in a lane.
const BATCH: usize = 8;
/// No answer takes a tenth of this.
const LIMIT: Duration = Duration::from_secs(20);
/// How many wrong outcomes are described.
const SHOWN: usize = 40;

/// Starts servers for random cases over this version of HTTP, and lets `send` send the request of each case to the URL
/// that it gets. Compares the outcomes with the truth. Cases with a known fault of the client are left out.
///
/// The environment variable `COMMUTE_SEED` sets the first seed, 1 by default, and `COMMUTE_CASES` the number of cases in
/// place of `cases`.
///
/// # Panics
///
/// Panics with the seeds of the cases whose outcome is wrong, or if a variable is not a number.
pub async fn check_outcomes<S, F>(
    protocol: Protocol,
    cases: u64,
    credentials: &Arc<Credentials>,
    send: S,
) where
    S: Fn(Arc<Case>, String) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let seed = number("COMMUTE_SEED").unwrap_or(1);
    let cases = number("COMMUTE_CASES").unwrap_or(cases);
    let all = (seed..seed + cases).map(|seed| Arc::new(Case::new(protocol, seed)));
    let (known, all): (Vec<_>, Vec<_>) = all.partition(|case| case.known().is_some());
    println!(
        "{protocol:?}: COMMUTE_SEED={seed} COMMUTE_CASES={cases}, {} of them left out as known faults",
        known.len()
    );
    let mut lanes = JoinSet::new();
    for lane in 0..LANES {
        let of_lane = all.iter().filter(|case| case.seed % LANES == lane);
        let (of_lane, credentials) = (of_lane.cloned().collect(), Arc::clone(credentials));
        lanes.spawn(run_lane(protocol, of_lane, credentials, send.clone()));
    }
    let wrong = lanes.join_all().await.concat();
    let shown = wrong
        .iter()
        .take(SHOWN)
        .fold(String::new(), |mut text, line| {
            // Writing to a string cannot fail.
            writeln!(text, "{line}").ok();
            text
        });
    assert!(
        wrong.is_empty(),
        "{} of {cases} outcomes are wrong:\n{shown}",
        wrong.len()
    );
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().expect("the variable is a number"))
}

/// Sends the requests of cases; returns what is wrong.
async fn run_lane<S, F>(
    protocol: Protocol,
    cases: Vec<Arc<Case>>,
    credentials: Arc<Credentials>,
    send: S,
) -> Vec<String>
where
    S: Fn(Arc<Case>, String) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let answers = cases.clone();
    let choose = move |request: &Request, nth: usize| {
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
    let servers = [start(usual).await, start(limited).await].map(Arc::new);
    let mut wrong = Vec::new();
    let (alone, others): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.is_alone);
    for case in alone {
        wrong.extend(check(&case, &servers[0], &send).await);
    }
    for (index, batch) in others.chunks(BATCH).enumerate() {
        let server = &servers[usize::from(index % 4 == 3)];
        let mut tasks = JoinSet::new();
        for case in batch {
            let (case, server, send) = (Arc::clone(case), Arc::clone(server), send.clone());
            tasks.spawn(async move { check(&case, &server, &send).await });
        }
        wrong.extend(tasks.join_all().await.into_iter().flatten());
    }
    wrong
}

/// Sends the request of a case; returns what is wrong with the outcome.
async fn check<S, F>(case: &Arc<Case>, server: &Server, send: &S) -> Option<String>
where
    S: Fn(Arc<Case>, String) -> F,
    F: Future<Output = Outcome>,
{
    let path = path(case);
    let sent = send(Arc::clone(case), server.url(&path));
    let judged = match tokio::time::timeout(LIMIT, sent).await {
        Err(_) => Err("it hangs".to_owned()),
        Ok(outcome) => case.judge(&outcome, &server.requests(&path)),
    };
    let Case {
        protocol,
        seed,
        method,
        what,
        ..
    } = &**case;
    let text = |reason| format!("seed {seed}: {protocol:?} {method} {what:?}: {reason}");
    judged.err().map(text)
}

fn path(case: &Case) -> String {
    format!("/{}", case.seed)
}
