//! An invented run; none of its figures was measured.
#![allow(unreachable_pub, reason = "a test has no public API")]

use record::*;

/// Returns the header of a run of two arms on one network.
pub fn run(blocks: u32) -> Run {
    let arm = |name: &str, protocol: &str| Arm {
        name: name.into(),
        stack: "invented".into(),
        protocol: protocol.into(),
        codec: "json".into(),
        security: "tls".into(),
        same_as_baseline: false,
        ..Arm::default()
    };
    let mut run = Run {
        format: FORMAT,
        commute: "0.0.0-invented".into(),
        study: "invented".into(),
        question: "invented figures: can old records still be read?".into(),
        seed: 7,
        blocks,
        baseline: "one".into(),
        margin_ns: None,
        tail_percent: Some(95.0),
        min_clean_percent: None,
        timeout_ns: 10_000_000_000,
        arms: vec![arm("one", "h2"), arm("two", "h3")],
        networks: vec![Network {
            base: None,
            levels: Vec::new(),
            name: "nowhere".into(),
            numbers: "down 1 up 1 Mbit/s · RTT 100 ms (invented)".into(),
            basis: None,
            rtt_ns: 100_000_000,
            down_bps: Some(1_000_000),
            up_bps: None,
            toml: "# invented\n".into(),
        }],
        groups: vec![Group {
            name: "echo".into(),
            about: "POST /echo 26 B".into(),
            bulk: false,
            response_bytes: 26,
            load: None,
        }],
        calls: vec![
            PlannedCall {
                parallel: false,
                id: 1,
                group: "echo".into(),
                position: Position::ColdProcess,
                batch: 1,
            },
            PlannedCall {
                parallel: false,
                id: 2,
                group: "echo".into(),
                position: Position::Warm,
                batch: 1,
            },
        ],
        plan: Vec::new(),
        settings: Settings {
            study_toml: "# invented\n".into(),
            study_sha256: None,
            study_file: "studies/invented.toml".into(),
            payloads: std::collections::BTreeMap::new(),
            shard: 1,
            shards: 1,
            jobs: 1,
            pcap: false,
            keylog: false,
            qlog: false,
            explain: false,
            until_decided: false,
            external: None,
            server_option: None,
            extended: false,
        },
        host: Host {
            kernel: "invented".into(),
            cores: 2,
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
    for block in 0..blocks {
        for (position, arm) in ["two", "one"].into_iter().enumerate() {
            run.plan.push(Planned {
                id: format!("nowhere-{block}-{arm}"),
                network: "nowhere".into(),
                block,
                arm: arm.into(),
                position: position as u32,
            });
        }
    }
    run
}

/// Returns a record of a planned cell, with two calls.
pub fn cell(planned: &Planned, invocation: u32, attempt: u32, outcome: Outcome) -> Cell {
    let call = |id: u32, end_ms: u64, result| Call {
        id,
        group: "echo".into(),
        connection: 1,
        first: id == 1,
        state: if id == 1 {
            State::ColdConnection
        } else {
            State::Warm
        },
        proof: Proof::Server,
        protocol: "h2".into(),
        start_ns: u64::from(id) * 1_000_000_000,
        dns_ns: None,
        connect_ns: (id == 1).then_some(100_000_000),
        tls_ns: (id == 1).then_some(200_000_000),
        request_sent_ns: None,
        first_byte_ns: Some(end_ms * 1_000_000),
        end_ns: end_ms * 1_000_000,
        request_bytes: 26,
        response_bytes: 26,
        result,
        server_hits: 1,
        server_ns: Some(50_000),
        signed_ns: None,
        verify_ns: None,
        allocated_bytes: None,
        allocations: None,
        parts: match id {
            1 => [("tcp_handshake", 100_000_000), ("client", 200_000_000)]
                .map(|(part, ns)| (part.to_owned(), ns))
                .into(),
            _ => Default::default(),
        },
        path: (id == 1).then(path),
        exchange: None,
    };
    Cell {
        format: FORMAT,
        id: planned.id.clone(),
        network: planned.network.clone(),
        block: planned.block,
        arm: planned.arm.clone(),
        attempt,
        invocation,
        outcome,
        calls: vec![
            call(1, 300, CallResult::Ok),
            call(2, 10_000, CallResult::TimedOut),
        ],
        loads: Vec::new(),
        wire: Wire {
            up_bytes: 2_000,
            down_bytes: 5_000,
            handshake_bytes: 4_500,
            ..Wire::default()
        },
        cost: Cost {
            client_cpu_ns: 1_000_000,
            kernel_thread_seen: true,
            ..Cost::default()
        },
        audit: Audit {
            steal: 0.125,
            packets: 20,
            ..Audit::default()
        },
        connections: vec![ConnectionSettings {
            transport: "tcp".into(),
            ip_version: Some(6),
            ..ConnectionSettings::default()
        }],
        stack: Stack {
            name: "invented".into(),
            resolution_ns: 1,
            ..Stack::default()
        },
        machine: Some(Machine {
            boot: "invented".into(),
            kernel: "invented".into(),
            cpu: "Invented".into(),
            cores: 2,
        }),
        relay: None,
        moves: vec![record::Move {
            at_ns: 2_000_000,
            left_ns: None,
            family: Some("ipv6".to_owned()),
            signalled: true,
        }],
        radio: vec![RadioChange {
            at_ns: 0,
            state: "idle".to_owned(),
        }],
        started_ns: 1_000,
        took_ns: 11_000_000_000,
    }
}

/// Returns a path with every field, and two steps of which the middle one is left out.
fn path() -> CallPath {
    CallPath {
        steps: vec![
            PathStep {
                part: "tcp_handshake".into(),
                from_ns: 0,
                to_ns: 100_000_000,
                packet: Some(PathPacket {
                    number: 3,
                    up: false,
                    arrival_ns: 50_000_000,
                    payload_bytes: 0,
                    offset: Some(0),
                    kind: Some(PacketKind::Syn),
                    fate: PacketFate::Delivered,
                    copy: true,
                }),
            },
            PathStep {
                part: "client".into(),
                from_ns: 200_000_000,
                to_ns: 300_000_000,
                packet: None,
            },
        ],
        left_out: 1,
    }
}
