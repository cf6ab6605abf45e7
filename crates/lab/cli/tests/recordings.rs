//! `commute init` and recordings of real browsers: the study has the sizes that the server saw on the wire.
//!
//! Each browser's own developer tools write the recording.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use common::Sandbox;
use common::server::Server;
use flate2::Compression;
use flate2::write::GzEncoder;
use record::server_log::{RequestEvent, ServerEvent};
use serde_json::{Value, json};
use testing::{Recorder, record_in_firefox, skip};

const HOST: &str = "app.example";

/// The requests of the session. Each but the last has a path of its own.
const SESSION: &str = r#"(async () => {
    const ask = async (path, options) => (await fetch(path, options)).arrayBuffer();
    const post = (path, type, body) => ask(path, {method: "POST", headers: {"content-type": type}, body});
    for (const path of ["/catalogue", "/packed", "/article", "/photo", "/empty"]) await ask(path);
    await post("/orders", "application/json", JSON.stringify({items: Array(40).fill("a book")}));
    await post("/login", "application/x-www-form-urlencoded", "page=3&comment=hello+there");
    await post("/blob", "application/octet-stream", new Uint8Array(7001).fill(200));
    await ask("/photo", {cache: "force-cache"});
})()"#;
/// Those, and the page.
const REQUESTS: usize = 10;

/// Bodies of a study's request, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    request: u64,
    response: u64,
}

#[test]
fn sizes_of_a_chromium_recording_are_those_on_the_wire() {
    for protocol in ["http/1.1", "h2", "h3"] {
        let sandbox = sandbox();
        let server = start(&sandbox);
        let origin = format!("{HOST}:{}", server.address.port());
        let arguments = [
            format!("--host-resolver-rules=MAP {HOST} 127.0.0.1"),
            match protocol {
                "http/1.1" => "--disable-http2".to_owned(),
                "h2" => "--disable-quic".to_owned(),
                _ => format!("--origin-to-force-quic-on={origin}"),
            },
        ];
        let Some(mut recorder) = Recorder::start(&server.ca, &arguments) else {
            return skip("Chromium or certutil is not installed");
        };
        recorder.open(&format!("https://{origin}/page"));
        recorder.evaluate(SESSION);
        sandbox.write("app.har", &recorder.har(REQUESTS));
        drop(recorder);
        compare(&sandbox, protocol);
    }
}

/// Firefox shows the page again and again, since its developer tools may miss the first times.
#[test]
fn sizes_of_a_firefox_recording_are_those_on_the_wire() {
    for protocol in ["http/1.1", "h2", "h3"] {
        let sandbox = sandbox();
        let server = start(&sandbox);
        let port = server.address.port();
        let mut preferences = vec![
            ("network.dns.forceResolve", "\"127.0.0.1\"".to_owned()),
            (
                "network.http.http2.enabled",
                (protocol != "http/1.1").to_string(),
            ),
            ("network.http.http3.enable", (protocol == "h3").to_string()),
        ];
        if protocol == "h3" {
            preferences.extend([
                (
                    "network.http.http3.alt-svc-mapping-for-testing",
                    format!("\"{HOST};h3=:{port}\""),
                ),
                (
                    "network.http.http3.force-use-alt-svc-mapping-for-testing",
                    "true".to_owned(),
                ),
                (
                    "network.http.http3.disable_when_third_party_roots_found",
                    "false".to_owned(),
                ),
            ]);
        }
        let url = format!("https://{HOST}:{port}/start");
        let Some(har) = record_in_firefox(&server.ca, &url, &preferences, "/blob") else {
            return skip("Firefox or certutil is not installed");
        };
        sandbox.write("app.har", &har);
        compare(&sandbox, protocol);
    }
}

/// Returns a sandbox with the stacks that a study compares.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (stack, driver) in [("okhttp", "hyper"), ("cronet", "quinn")] {
        sandbox.add_stack(stack, r#""h2", "h3""#, &["{commute}", "driver", driver]);
    }
    sandbox
}

/// Starts a server that answers the session's requests.
fn start(sandbox: &Sandbox) -> Server {
    let binary = |name: &str, bytes: &[u8]| {
        std::fs::write(sandbox.work().join(name), bytes).unwrap();
    };
    let prose = "A long article, which compresses well. ".repeat(400);
    let page = |script: &str| {
        format!(
            "<!doctype html><link rel=icon href='data:,'><title>App</title><script>{script}</script>"
        )
    };
    binary(
        "start",
        page("setTimeout(() => location = '/loop', 4000)").as_bytes(),
    );
    binary("page", page("").as_bytes());
    let again = format!("{SESSION}; setTimeout(() => location = '/start', 60000)");
    binary("loop", page(&again).as_bytes());
    binary("catalogue", catalogue().as_bytes());
    binary("packed", &gzip(catalogue().as_bytes()));
    binary("article", &gzip(prose.as_bytes()));
    binary(
        "photo",
        &(0..30_011_u32)
            .map(|n| ((n * n) >> 3) as u8)
            .collect::<Vec<_>>(),
    );
    let answer = |method: &str, path: &str, content_type: &str, encoding: Option<&str>| {
        let body = (path != "/empty").then(|| match path {
            "/orders" => "catalogue",
            "/login" | "/blob" => "page",
            path => path.trim_start_matches('/'),
        });
        let mut answer = json!({"method": method, "path": path, "content_type": content_type});
        for (key, value) in [("content_encoding", encoding), ("body", body)] {
            if let Some(value) = value {
                answer[key] = json!(value);
            }
        }
        answer
    };
    let answers = json!([
        answer("GET", "/start", "text/html", None),
        answer("GET", "/loop", "text/html", None),
        answer("GET", "/page", "text/html", None),
        answer("GET", "/catalogue", "application/json", None),
        answer("GET", "/packed", "application/json", Some("gzip")),
        answer("GET", "/article", "text/plain", Some("gzip")),
        answer("GET", "/photo", "image/png", None),
        answer("GET", "/empty", "text/plain", None),
        answer("POST", "/orders", "application/json", None),
        answer("POST", "/login", "text/html", None),
        answer("POST", "/blob", "text/html", None),
    ]);
    let answers = sandbox.write("answers.json", &answers.to_string());
    let log = sandbox.work().join("server.log");
    let program = [
        env!("CARGO_BIN_EXE_commute"),
        "serve",
        "--answers",
        answers.to_str().unwrap(),
        "--log",
        log.to_str().unwrap(),
    ];
    Server::start_program(sandbox, &program, "127.0.0.1:0", HOST)
}

fn catalogue() -> String {
    let item = |n: u32| json!({"id": n, "name": format!("item {n}"), "price": f64::from(n) / 4.0});
    Value::from_iter((0..200).map(item)).to_string()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Compares the study that `commute init` writes from `app.har` with the server's log.
#[track_caller]
fn compare(sandbox: &Sandbox, protocol: &str) {
    let output = sandbox.run(&["init", "--har", "app.har", "--out", "app.toml"]);
    output
        .exits_with(0)
        .stderr_contains("left out: a request: its response came from a cache\n")
        .stderr_contains("note: the JSON of packed came compressed");
    let of_study = study(&sandbox.work());
    assert_eq!(of_study.len(), REQUESTS - 1, "{of_study:?}");
    let of_server = requests(&sandbox.work().join("server.log"));
    for request in of_server.iter().filter(|r| r.path != "/start") {
        assert_eq!(request.protocol, protocol, "{}", request.path);
        let sizes = Sizes {
            request: request.request_bytes,
            response: request.response_bytes,
        };
        let path = &request.path;
        assert_eq!(of_study.get(path), Some(&sizes), "{protocol} {path}");
    }
    let asked: BTreeSet<&String> = of_server.iter().map(|r| &r.path).collect();
    assert!(of_study.keys().all(|path| asked.contains(path)));
}

/// Returns the requests of a server's log.
fn requests(log: &Path) -> Vec<RequestEvent> {
    let text = std::fs::read_to_string(log).unwrap();
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let requests = events.filter_map(|event| match event {
        ServerEvent::Request(request) if !request.broken => Some(request),
        _ => None,
    });
    requests.collect()
}

/// Returns the sizes of the requests of the study `app.toml`, by path.
fn study(folder: &Path) -> BTreeMap<String, Sizes> {
    let text = std::fs::read_to_string(folder.join("app.toml")).unwrap();
    let study: toml::Table = text.parse().unwrap();
    let steps = study["step"].as_array().unwrap().iter();
    // Requests that seem to overlap, by the browser's rounded times, are in one step.
    let steps = steps.flat_map(|step| match step.get("steps") {
        Some(steps) => steps.as_array().unwrap().iter(),
        None => std::slice::from_ref(step).iter(),
    });
    let sizes = |step: &toml::Value| {
        let of = |file: &str, bytes: &str| match step.get(file) {
            Some(file) => folder
                .join(file.as_str().unwrap())
                .metadata()
                .unwrap()
                .len(),
            None => step
                .get(bytes)
                .map_or(0, |n| n.as_integer().unwrap() as u64),
        };
        let sizes = Sizes {
            request: of("request", "request_bytes"),
            response: of("response", "response_bytes"),
        };
        (step["path"].as_str().unwrap().to_owned(), sizes)
    };
    steps
        .filter(|step| step.get("path").is_some())
        .map(sizes)
        .collect()
}
