//! A blind test: the causes of slow cells, drawn at random, must be found from the packets.
//!
//! Each of twenty draws takes a protocol and a cause, and measures a cell with it. It names the part that grew most
//! beyond the most of four cells without. The names of arms and networks say nothing of it. `COMMUTE_SEED` repeats a run; the seed is printed.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::time::SystemTime;

use common::Sandbox;
use common::study::counted_cells;

const DRAWS: usize = 20;
/// At least so many must be named right.
const NAMED: usize = 19;
/// Cells without a cause, for each protocol. The parts of transfers vary, e.g. by a delayed acknowledgement.
const CONTROLS: usize = 4;
const STEPS: &str = r#"
[[step]]
call = "echo"
[[step]]
call = "echo"
[[step]]
get = "file"
bytes = 160000
[[step]]
put = "file"
bytes = 160000
"#;

/// Downloads at once on a connection; faults of the third request are the large one's.
const AT_ONCE: &str = r#"
[[step]]
call = "echo"
[[step]]
call = "echo"
[[step]]
parallel = true
steps = [{ get = "file", bytes = 160000 }, { get = "file", bytes = 20000 }, { get = "file", bytes = 20000 }]
"#;

/// Starts the server, e.g. with a fault. It serves gRPC on the port of HTTP/2, for which other servers are asked by `--grpc`.
const SERVE: &str = r#"
commute=$1
shift
for argument; do
    shift
    [ "$argument" = --grpc ] || set -- "$@" "$argument"
done
exec "$commute" serve "$@"
"#;

/// What is done to a cell.
#[derive(Clone, Debug)]
struct Cause {
    name: &'static str,
    /// The parts that are right.
    parts: &'static [&'static str],
    protocols: &'static [&'static str],
    /// Keys of both directions of the network.
    direction: &'static str,
    /// Tables of the network.
    tables: &'static str,
    /// Keys of the arm.
    arm: &'static str,
    server: &'static str,
    steps: &'static str,
}

const ALL: &[&str] = &["h1", "h2", "h3", "grpc"];

const NONE: Cause = Cause {
    name: "none",
    parts: &[],
    protocols: ALL,
    direction: "rate_kbps = 20000\nqueue_ms = 400\ndelay_ms = 15\n",
    tables: "",
    arm: "",
    server: "commute",
    steps: STEPS,
};

/// Returns what can be wrong with a cell.
fn causes() -> Vec<Cause> {
    let cause = |name, parts, protocols| Cause {
        name,
        parts,
        protocols,
        ..NONE
    };
    vec![
        Cause {
            server: "slow-first",
            ..cause("the server sleeps in its first response", &["server"], ALL)
        },
        Cause {
            server: "slow-file",
            ..cause("the server sleeps in a download", &["server"], ALL)
        },
        Cause {
            server: "slow-file",
            steps: AT_ONCE,
            ..cause(
                "the server sleeps in one of three downloads at once",
                &["server"],
                &["h2", "h3"],
            )
        },
        Cause {
            direction: "rate_kbps = 800\nqueue_ms = 2000\ndelay_ms = 15\n",
            steps: AT_ONCE,
            ..cause(
                "a slow link under three downloads at once",
                &["link_busy"],
                &["h2", "h3"],
            )
        },
        Cause {
            arm: "chain = \"long\"\n",
            ..cause("a long chain", &["amplification_limit"], &["h3"])
        },
        Cause {
            direction: "rate_kbps = 800\nqueue_ms = 2000\ndelay_ms = 15\n",
            ..cause("a slow link", &["link_busy"], ALL)
        },
        Cause {
            tables: "[down.gate]\nclosed_ms = [[30, 230]]\nevery_ms = 300\nqueue = \"keep\"\n",
            ..cause("outages", &["link_closed"], ALL)
        },
        Cause {
            direction: "rate_kbps = 20000\nqueue_ms = 400\ndelay_ms = 15\nloss_percent = 8\n",
            ..cause(
                "losses",
                &["loss_fast", "loss_timer", "window_after_loss"],
                ALL,
            )
        },
        Cause {
            steps: "[[step]]\ncall = \"echo\"\n[[step]]\nreconnect = \"cold\"\n[[step]]\ncall = \"echo\"\n\
                [[step]]\nget = \"file\"\nbytes = 160000\n[[step]]\nput = \"file\"\nbytes = 160000\n",
            ..cause(
                "another connection",
                &["tcp_handshake", "tls_handshake", "quic_handshake"],
                ALL,
            )
        },
        Cause {
            direction: "rate_kbps = 20000\nqueue_ms = 400\ndelay_ms = 150\n",
            steps: "[[step]]\ncall = \"echo\"\n[[step]]\ncall = \"echo\"\n[[step]]\nget = \"file\"\nbytes = 400000\n\
                [[step]]\nput = \"file\"\nbytes = 400000\n",
            ..cause("a long path", &["congestion_window", "flow_control"], ALL)
        },
        Cause {
            server: "narrow",
            ..cause(
                "a small receive buffer of the server",
                &["receive_window"],
                &["h1", "h2", "grpc"],
            )
        },
    ]
}

#[test]
fn nineteen_of_twenty_causes_are_named() {
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let seed = std::env::var("COMMUTE_SEED").map_or(now, |seed| seed.parse().unwrap());
    println!("COMMUTE_SEED={seed}");
    let mut random = seed;
    let mut draw = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let sandbox = sandbox();
    let causes = causes();
    let mut controls: BTreeMap<&str, Parts> = BTreeMap::new();
    let mut wrong = Vec::new();
    for number in 0..DRAWS {
        let cause = &causes[draw(causes.len())];
        let protocol = cause.protocols[draw(cause.protocols.len())];
        let control = controls.entry(protocol).or_insert_with_key(|protocol| {
            most(measure(&sandbox, &NONE, protocol, protocol, CONTROLS))
        });
        let cells = measure(&sandbox, cause, protocol, &format!("cell-{number}"), 1);
        let caused = most(cells);
        let grown =
            |part: &String| caused[part] as i64 - control.get(part).copied().unwrap_or(0) as i64;
        let named = caused.keys().max_by_key(|part| grown(part)).unwrap();
        println!(
            "{protocol}, {}: {named} grew by {} ms",
            cause.name,
            grown(named) / 1_000_000
        );
        if !cause.parts.contains(&named.as_str()) {
            wrong.push(format!(
                "{protocol}, {}: {caused:?} after {control:?}",
                cause.name
            ));
        }
    }
    assert!(
        wrong.len() <= DRAWS - NAMED,
        "COMMUTE_SEED={seed} repeats this:\n{}",
        wrong.join("\n")
    );
}

/// The time of each part over all calls of a cell.
type Parts = BTreeMap<String, u64>;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.add_small_study();
    sandbox.add_stack("quinn", "\"h3\"", &["{commute}", "driver", "quinn"]);
    sandbox.add_stack("tonic", "\"grpc\"", &["{commute}", "driver", "tonic"]);
    let servers = [
        ("slow-first", "serve", ", \"--inject=1=slow\""),
        ("slow-file", "serve", ", \"--inject=3=slow\""),
        ("narrow", "serve", ", \"--receive-buffer=8192\""),
    ];
    let tables = servers.map(|(name, script, argument)| {
        format!(
            "[[server]]\nname = \"{name}\"\n\
             command = [\"sh\", \"{{stack}}/{script}\", \"{{commute}}\"{argument}]\n"
        )
    });
    let folder = sandbox.home().join("stacks/servers");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("serve"), SERVE).unwrap();
    let manifest = format!("[stack]\nneeds = \"nothing\"\n{}", tables.concat());
    std::fs::write(folder.join("stack.toml"), manifest).unwrap();
    sandbox
}

/// Returns the most of each part over cells.
fn most(cells: Vec<Parts>) -> Parts {
    let mut most = Parts::new();
    for (part, ns) in cells.into_iter().flatten() {
        let so_far = most.entry(part).or_default();
        *so_far = ns.max(*so_far);
    }
    most
}

/// Measures cells, and returns where the time of each went.
fn measure(
    sandbox: &Sandbox,
    cause: &Cause,
    protocol: &str,
    name: &str,
    cells: usize,
) -> Vec<Parts> {
    let Cause {
        direction,
        tables,
        arm,
        server,
        steps,
        ..
    } = cause;
    let network = format!(
        "about = \"a\"\nsource = \"made up, for tests\"\n[down]\n{direction}[up]\n{direction}{tables}"
    );
    sandbox.write("network.toml", &network);
    let stack = match protocol {
        "h3" => "quinn",
        "grpc" => "tonic",
        _ => "hyper",
    };
    let study = format!(
        "name = \"a\"\nquestion = \"?\"\nnetworks = [\"network.toml\"]\nbaseline = \"a\"\nblocks = {cells}\n\
         seed = 7\ntimeout_s = 20\nserver = \"{server}\"\n\
         [[arm]]\nname = \"a\"\nstack = \"{stack}\"\nprotocol = \"{protocol}\"\nwarmup_calls = 20\n{arm}{steps}"
    );
    let file = format!("{name}.toml");
    sandbox.write(&file, &study);
    let output = sandbox.run(&["run", &file, "--out", name, "--no-self-test"]);
    let data = sandbox.records(name);
    let measured = counted_cells(&data).into_iter().map(|cell| {
        assert!(
            cell.is_measured(),
            "{cause:?} {protocol}: {:?} {output}",
            cell.outcome
        );
        let mut parts = Parts::new();
        for (part, ns) in cell.calls.iter().flat_map(|call| &call.parts) {
            *parts.entry(part.clone()).or_default() += ns;
        }
        parts
    });
    let measured: Vec<Parts> = measured.collect();
    assert_eq!(measured.len(), cells, "{cause:?} {protocol}: {output}");
    measured
}
