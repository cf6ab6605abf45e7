//! Regret: the cost of adapting against the better of the two pinned policies, in virtual time.
//!
//! Each environment runs with many seeds. *Oracle* is the policy, HTTP/3 or HTTP/2, whose mean is
//! lower for the same requests; regret is the adaptive policy's mean less that.

#[allow(dead_code, unreachable_pub, reason = "each test uses a part")]
mod common;

use std::fmt::Write as _;
use std::time::Duration;

use common::{PathBehavior, Server, World, traits};
use route::{Policy, RequestTraits};

const SEEDS: u64 = 200;
const CALLS: usize = 200;
/// Ranges of requests, from 1; each with a row in the table.
const RANGES: [(usize, usize); 5] = [(1, 1), (2, 5), (6, 20), (21, 100), (101, 200)];

struct Environment {
    name: &'static str,
    rtt_ms: u64,
    quic: Server,
    tcp: Server,
    /// From this request on the two are exchanged.
    exchanged_at: Option<usize>,
    body_bytes: u64,
}

fn server(median_ms: f64, spread: f64, stalls: f64) -> Server {
    Server {
        spread,
        stalls,
        ..Server::of(PathBehavior::Free, median_ms)
    }
}

fn environments() -> Vec<Environment> {
    let of = |name, rtt_ms, quic, tcp| Environment {
        name,
        rtt_ms,
        quic,
        tcp,
        exchanged_at: None,
        body_bytes: 1_000,
    };
    vec![
        of(
            "equal",
            50,
            server(60.0, 0.05, 0.0),
            server(60.0, 0.05, 0.0),
        ),
        of(
            "equal, wide",
            50,
            server(60.0, 0.5, 0.0),
            server(60.0, 0.5, 0.0),
        ),
        of(
            "HTTP/3 faster by a third",
            50,
            server(60.0, 0.1, 0.0),
            server(80.0, 0.1, 0.0),
        ),
        of(
            "HTTP/2 faster by a third",
            50,
            server(80.0, 0.1, 0.0),
            server(60.0, 0.1, 0.0),
        ),
        of(
            "HTTP/2 faster by 10 %, wide",
            50,
            server(110.0, 0.4, 0.0),
            server(100.0, 0.4, 0.0),
        ),
        of(
            "HTTP/2 stalls at 5 %",
            100,
            server(110.0, 0.1, 0.0),
            server(105.0, 0.1, 0.05),
        ),
        of(
            "server takes ten RTTs",
            50,
            server(550.0, 0.3, 0.0),
            server(540.0, 0.3, 0.0),
        ),
        of(
            "accepts and stalls",
            50,
            Server::of(PathBehavior::Stalls, 60.0),
            server(60.0, 0.1, 0.0),
        ),
        of(
            "UDP blocked",
            50,
            Server::of(PathBehavior::Blocked, 60.0),
            server(60.0, 0.1, 0.0),
        ),
        Environment {
            body_bytes: 164_000,
            ..of(
                "pictures, HTTP/3 faster by 15 %",
                55,
                server(490.0, 0.1, 0.0),
                server(560.0, 0.1, 0.0),
            )
        },
        Environment {
            exchanged_at: Some(100),
            ..of(
                "exchanged after 100",
                50,
                server(60.0, 0.1, 0.0),
                server(120.0, 0.1, 0.0),
            )
        },
    ]
}

/// Returns the mean time of each request in ms.
fn means(environment: &Environment, policy: Policy) -> Vec<f64> {
    let mut sums = vec![0.0; CALLS];
    for seed in 0..SEEDS {
        let (quic, tcp) = (environment.quic, environment.tcp);
        let mut world = World::new(seed, environment.rtt_ms, quic, tcp);
        world.body_bytes = environment.body_bytes;
        world.hint();
        for (i, sum) in sums.iter_mut().enumerate() {
            if Some(i) == environment.exchanged_at {
                (world.quic, world.tcp) = (world.tcp, world.quic);
            }
            let (time, _) = world.request_and_wait(RequestTraits { policy, ..traits() });
            *sum += time.as_secs_f64() * 1e3;
            world.pass_time(Duration::from_millis(500));
        }
    }
    sums.iter().map(|sum| sum / SEEDS as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn adapting_costs_little_and_less_with_each_request() {
    let mut table = String::from("environment | requests | oracle ms | regret ms | regret %\n");
    let mut regrets = Vec::new();
    for environment in environments() {
        let blocked = environment.quic.path != PathBehavior::Free;
        let adaptive = means(&environment, Policy::Adaptive);
        let h2 = means(&environment, Policy::H2);
        let h3 = if blocked {
            h2.clone()
        } else {
            means(&environment, Policy::H3)
        };
        for (from, to) in RANGES {
            let of = |means: &[f64]| mean(&means[from - 1..to]);
            let oracle = of(&h2).min(of(&h3));
            let regret = of(&adaptive) - oracle;
            let percent = 100.0 * regret / oracle;
            writeln!(
                table,
                "{} | {from}-{to} | {oracle:.1} | {regret:+.1} | {percent:+.1}",
                environment.name
            )
            .expect("a string takes it");
            let limit_percent = match from {
                6 if environment.exchanged_at.is_none() => 20.0,
                101 => 5.0,
                _ => continue,
            };
            regrets.push((environment.name, from, regret, percent, limit_percent));
        }
    }
    testing::golden(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/regret.golden"),
        &table,
    );
    for (name, from, regret_ms, percent, limit_percent) in regrets {
        let small = regret_ms <= 5.0 || percent <= limit_percent;
        assert!(
            small,
            "{name}, from request {from}: {regret_ms} ms, {percent} %"
        );
    }
}
