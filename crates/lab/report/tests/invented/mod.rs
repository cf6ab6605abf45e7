//! Invented runs; none of their figures was measured, and their names say so.
#![allow(dead_code, reason = "each test uses its part")]
#![allow(unreachable_pub, reason = "a test has no public API")]

use record::*;

/// An invented arm.
#[derive(Clone, Debug)]
pub struct Invented {
    pub name: &'static str,
    pub protocol: &'static str,
    pub first_ms: f64,
    pub warm_ms: f64,
    pub bulk_ms: f64,
    /// Relative half-width of the uniform noise on each time.
    pub noise: f64,
    pub repeat: bool,
    pub outcome: Option<Outcome>,
    /// Every n-th call times out; 0 for none.
    pub time_out_every: u32,
    pub congestion: &'static str,
}

pub fn arm(
    name: &'static str,
    protocol: &'static str,
    first: f64,
    warm: f64,
    bulk: f64,
) -> Invented {
    Invented {
        name,
        protocol,
        first_ms: first,
        warm_ms: warm,
        bulk_ms: bulk,
        noise: 0.02,
        repeat: false,
        outcome: None,
        time_out_every: 0,
        congestion: "cubic",
    }
}

/// Returns arms like the quickstart's: a baseline, its copy, one faster, one slower, one too noisy
/// for a verdict, one not installed.
pub fn quickstart() -> Vec<Invented> {
    let baseline = arm("hyper h2", "h2", 383.0, 133.0, 1_800.0);
    vec![
        baseline.clone(),
        Invented {
            name: "hyper h2 again",
            repeat: true,
            ..baseline
        },
        arm("quinn h3", "h3", 265.0, 131.0, 1_100.0),
        arm("libcurl h1", "h1", 510.0, 134.0, 1_850.0),
        Invented {
            noise: 0.4,
            ..arm("libcurl h2", "h2", 390.0, 133.0, 1_850.0)
        },
        Invented {
            outcome: Some(Outcome::Unsupported {
                reason: "Python 3 is missing (invented)".into(),
            }),
            ..arm("libcurl h3", "h3", 1.0, 1.0, 1.0)
        },
    ]
}

/// Returns the header of a run of `arms`, the first of them the baseline.
pub fn run(arms: &[Invented], networks: &[&str], blocks: u32) -> Run {
    let mut run = Run {
        format: FORMAT,
        commute: "0.0.0-invented".into(),
        study: "invented".into(),
        question: "figures made up for tests".into(),
        seed: 7,
        blocks,
        baseline: arms[0].name.into(),
        margin_ns: None,
        tail_percent: None,
        min_clean_percent: None,
        timeout_ns: 10_000_000_000,
        arms: arms
            .iter()
            .map(|a| Arm {
                name: a.name.into(),
                stack: a.name.split(' ').next().unwrap_or_default().into(),
                protocol: a.protocol.into(),
                codec: "json".into(),
                security: "tls".into(),
                same_as_baseline: a.repeat,
                warmup_calls: 1,
                ..Arm::default()
            })
            .collect(),
        networks: networks
            .iter()
            .map(|name| Network {
                base: None,
                levels: Vec::new(),
                name: (*name).into(),
                numbers: "down 6.3 up 9.7 Mbit/s · RTT 123 ms (invented)".into(),
                basis: None,
                rtt_ns: 123_000_000,
                down_bps: Some(6_300_000),
                up_bps: Some(9_700_000),
                toml: "# invented\n".into(),
            })
            .collect(),
        groups: vec![
            group("echo", "POST /echo 26 B", false, 26),
            group("image", "GET /bytes/163763", true, 163_763),
        ],
        calls: (1..=16).map(planned_call).collect(),
        plan: Vec::new(),
        settings: Settings {
            study_file: "studies/invented.toml".into(),
            jobs: 2,
            ..Settings::default()
        },
        host: Host {
            kernel: "0.0.0-invented".into(),
            cpu: "Invented".into(),
            cores: 2,
            memory_bytes: 4 << 30,
            clocksource: "tsc".into(),
            ..Host::default()
        },
        self_test: vec![Check {
            name: "new TCP + TLS 1.3 connection, h2 (invented)".into(),
            expected: 300.0,
            measured: 300.4,
            margin: 2.0,
            unit: "ms".into(),
            pass: true,
        }],
        started_unix_ns: 1,
    };
    for (n, network) in networks.iter().enumerate() {
        for block in 0..blocks {
            for (a, arm) in arms.iter().enumerate() {
                run.plan.push(Planned {
                    id: format!("n{n}-b{block}-a{a}"),
                    network: (*network).into(),
                    block,
                    arm: arm.name.into(),
                    position: a as u32,
                });
            }
        }
    }
    run
}

/// Returns a planned call: three times five calls of `echo`, each time on a new connection, then an
/// image.
fn planned_call(id: u32) -> PlannedCall {
    PlannedCall {
        id,
        group: if id == 16 { "image" } else { "echo" }.into(),
        position: match id {
            1 => Position::ColdProcess,
            6 | 11 => Position::First,
            _ => Position::Warm,
        },
        parallel: false,
        batch: (id - 1) / 5 + 1,
    }
}

fn group(name: &str, about: &str, bulk: bool, response_bytes: u64) -> Group {
    Group {
        name: name.into(),
        about: about.into(),
        bulk,
        response_bytes,
        load: None,
    }
}

/// Returns an invented record of every planned cell of `run`.
pub fn cells(run: &Run, arms: &[Invented], seed: u64) -> Vec<Cell> {
    let of = |(i, planned): (usize, &Planned)| {
        let arm = arms
            .iter()
            .find(|a| a.name == planned.arm)
            .expect("every planned arm is in `arms`");
        let mut draw = seed.wrapping_mul(1_000_003).wrapping_add(i as u64 * 1_000);
        let mut around = |ms: f64| {
            draw += 1;
            (ms * (1.0 + arm.noise * (2.0 * unit(draw) - 1.0)) * 1e6) as u64
        };
        let mut calls = Vec::new();
        if arm
            .outcome
            .as_ref()
            .is_none_or(|o| matches!(o, Outcome::Noisy { .. }))
        {
            for id in 1..=16u32 {
                let (group, first) = if id == 16 {
                    ("image", false)
                } else {
                    ("echo", id % 5 == 1)
                };
                let ms = match (group, first) {
                    ("image", _) => arm.bulk_ms,
                    (_, true) => arm.first_ms,
                    (_, false) => arm.warm_ms,
                };
                let censored = arm.time_out_every > 0 && id % arm.time_out_every == 0;
                calls.push(call(
                    arm,
                    id,
                    group,
                    first,
                    around(ms),
                    censored.then_some(run.timeout_ns),
                ));
            }
        }
        cell(arm, planned, calls, around(0.9))
    };
    run.plan.iter().enumerate().map(of).collect()
}

/// Returns a run with all its cells.
pub fn data(arms: &[Invented], networks: &[&str], blocks: u32, seed: u64) -> RunData {
    let run = run(arms, networks, blocks);
    let cells = cells(&run, arms, seed);
    RunData::new(run, cells).expect("the cells belong to the run")
}

/// Turns the calls of the group `echo` into exchanges, quinn's in MessagePack.
pub fn exchanging(data: &RunData) -> RunData {
    let mut run = data.run().clone();
    if let Some(arm) = run.arms.iter_mut().find(|arm| arm.name.contains("quinn")) {
        arm.codec = "msgpack".into();
    }
    let mut cells = data.cells().to_vec();
    let calls = cells.iter_mut().flat_map(|cell| &mut cell.calls);
    for call in calls.filter(|call| call.group == "echo") {
        call.exchange = Some(Exchange {
            created_ns: Some(call.end_ns / 100),
            encoded_ns: Some(call.end_ns / 20),
            received_ns: Some(call.end_ns / 10 * 9),
            server_decode_ns: Some(20_000),
            server_encode_ns: Some(30_000),
        });
    }
    RunData::new(run, cells).expect("only calls and a codec have changed")
}

/// Gives every request its parts: round trips of 123 ms as far as its time allows, and the rest to the client or, for
/// an image, to the link.
pub fn explained(data: &RunData) -> RunData {
    const RTT_NS: u64 = 123_000_000;
    let mut cells = data.cells().to_vec();
    for cell in &mut cells {
        let is_quic = cell.connections.iter().any(|c| c.transport == "quic");
        for call in &mut cell.calls {
            let (handshakes, rest): (&[&str], _) = match (call.first, is_quic) {
                _ if call.response_bytes > 100_000 => (&[], "link_busy"),
                (true, true) => (&["quic_handshake"], "client"),
                (true, false) if call.protocol == "h1" => {
                    (&["tcp_handshake", "tls_handshake", "nagle"], "client")
                }
                (true, false) => (&["tcp_handshake", "tls_handshake"], "client"),
                (false, _) => (&[], "client"),
            };
            let mut left_ns = call.end_ns;
            for part in ["exchange"].iter().chain(handshakes) {
                let ns = RTT_NS.min(left_ns);
                left_ns -= ns;
                call.parts.insert((*part).to_owned(), ns);
            }
            call.parts.insert(rest.to_owned(), left_ns);
            call.parts.retain(|_, ns| *ns > 0);
        }
    }
    RunData::new(data.run().clone(), cells).expect("only calls have changed")
}

fn call(arm: &Invented, id: u32, group: &str, first: bool, ns: u64, censored: Option<u64>) -> Call {
    let end_ns = censored.unwrap_or(ns);
    let bytes = if group == "image" { 163_763 } else { 26 };
    Call {
        id,
        group: group.into(),
        connection: (id - 1) / 5 + 1,
        first,
        state: if first {
            State::ColdConnection
        } else {
            State::Warm
        },
        proof: Proof::Server,
        protocol: arm.protocol.into(),
        start_ns: u64::from(id) * 1_000_000_000,
        dns_ns: None,
        connect_ns: None,
        tls_ns: None,
        request_sent_ns: None,
        first_byte_ns: Some(end_ns / 2),
        end_ns,
        request_bytes: 26,
        response_bytes: if censored.is_some() { 0 } else { bytes },
        result: if censored.is_some() {
            CallResult::TimedOut
        } else {
            CallResult::Ok
        },
        server_hits: 1,
        server_ns: Some(50_000),
        signed_ns: None,
        verify_ns: None,
        allocated_bytes: None,
        allocations: None,
        parts: Default::default(),
        path: None,
        exchange: None,
    }
}

/// Returns half a second of samples.
fn timeline(cpu_ns: u64) -> Timeline {
    let sample = |i: u64| Sample {
        at_ns: i * 100_000_000,
        client_cpu_ns: 3 * cpu_ns,
        server_cpu_ns: 2 * cpu_ns,
        client_rss_bytes: 8_000_000 + i * 200_000,
        server_rss_bytes: 12_000_000,
    };
    Timeline {
        samples: (1..=5).map(sample).collect(),
        sampler_cpu_ns: 1_000_000,
    }
}

fn cell(arm: &Invented, planned: &Planned, calls: Vec<Call>, cpu_ns: u64) -> Cell {
    let quic = arm.protocol == "h3";
    Cell {
        format: FORMAT,
        id: planned.id.clone(),
        network: planned.network.clone(),
        block: planned.block,
        arm: planned.arm.clone(),
        attempt: 1,
        invocation: 1,
        outcome: arm.outcome.clone().unwrap_or(Outcome::Clean),
        wire: Wire {
            up_bytes: if quic { 41_000 } else { 52_000 },
            down_bytes: if quic { 181_000 } else { 183_000 },
            up_packets: 300,
            down_packets: 400,
            handshake_bytes: if quic { 12_000 } else { 14_000 },
            ..Wire::default()
        },
        cost: Cost {
            client_cpu_ns: 16 * cpu_ns,
            server_cpu_ns: 10 * cpu_ns,
            kernel_thread_seen: true,
            client_peak_bytes: 9_000_000,
            startup_ns: 12_000_000,
            startup_cpu_ns: 8_000_000,
            timeline: Some(timeline(cpu_ns)),
        },
        audit: Audit {
            packets: 700,
            ..Audit::default()
        },
        connections: vec![ConnectionSettings {
            transport: if quic { "quic" } else { "tcp" }.into(),
            ip_version: Some(4),
            congestion: Some(arm.congestion.into()),
            server_library: Some(
                if quic {
                    "invented-quic 1"
                } else {
                    "invented-tcp 1"
                }
                .into(),
            ),
            ..ConnectionSettings::default()
        }],
        stack: Stack {
            name: "invented".into(),
            clock: "monotonic".into(),
            resolution_ns: 1,
            ..Stack::default()
        },
        machine: None,
        relay: None,
        moves: Vec::new(),
        radio: Vec::new(),
        started_ns: 1,
        took_ns: 3_000_000_000,
        calls,
        loads: Vec::new(),
    }
}

/// Returns a fixed pseudo-random number in 0..1 for each index.
fn unit(index: u64) -> f64 {
    let mut x = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3 {
        x ^= x >> 32;
        x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    }
    (x >> 11) as f64 / (1u64 << 53) as f64
}
