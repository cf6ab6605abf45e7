//! Serves random answers whose truth is known, for tests of clients in other languages.
//!
//! `serve_scripts SEED CASES FILE` serves as many cases over each of HTTP/1.1, HTTP/2 and HTTP/3. It writes the
//! certificate to trust to `FILE` as PEM, and prints a line of JSON for each case. `/count/SEED` answers how many
//! requests for `/SEED` have come. The program ends when its standard input does.

use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use peers::{Case, Credentials, Options, Protocol, Script, Server, Step, Truth};

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [seed, cases, file] = &arguments[..] else {
        panic!("usage: serve_scripts SEED CASES FILE");
    };
    let number = |text: &String| text.parse().expect("SEED and CASES are numbers");
    let (seed, cases): (u64, u64) = (number(seed), number(cases));
    let credentials = Credentials::new();
    std::fs::write(file, credentials.pem()).expect("FILE can be written");
    let mut servers = Vec::new();
    for protocol in Protocol::ALL {
        let all: Arc<Vec<Case>> = Arc::new(
            (seed..seed + cases)
                .map(|seed| Case::new(protocol, seed))
                .collect(),
        );
        let (server, served) = (Arc::new(OnceLock::<Server>::new()), Arc::clone(&all));
        let counts = Arc::downgrade(&server);
        let choose = move |request: &peers::Request, nth: usize| {
            if let Some(path) = request.path.strip_prefix("/count") {
                let server = counts.upgrade();
                let server = server.as_ref().and_then(|server| server.get());
                let count = server.map_or(0, |server| server.requests(path).len());
                let count = count.to_string();
                let length = count.len().to_string();
                let head = Step::head(200, &[("content-length", &length)]);
                return Script::new([head, Step::data(count), Step::End]);
            }
            let case = served
                .iter()
                .find(|case| request.path == format!("/{}", case.seed));
            let missing = || Script::new([Step::head(404, &[("content-length", "0")]), Step::End]);
            case.map_or_else(missing, |case| case.script(nth))
        };
        let started = Server::start(protocol, &credentials, Options::default(), choose).await;
        for case in all.iter() {
            println!("{}", line(case, started.port));
        }
        server.set(started).ok();
        servers.push(server);
    }
    println!("{{\"ready\": true}}");
    let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    // An error is an end, too.
    end.await.ok();
}

/// Describes a case.
fn line(case: &Case, port: u16) -> serde_json::Value {
    let (least, most) = case.arrivals();
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("{byte:02x}")).collect() };
    serde_json::json!({
        "protocol": case.protocol.alpn(),
        "url": format!("https://localhost:{port}/{}", case.seed),
        "count_url": format!("https://localhost:{port}/count/{}", case.seed),
        "method": case.method,
        "request_bytes": case.request.len(),
        "what": case.what,
        "truth": match case.truth {
            Truth::Complete => "complete",
            Truth::Truncated => "truncated",
            Truth::Malformed => "malformed",
        },
        "status": case.status,
        // The whole body, or what may arrive of it.
        "body_hex": hex(&case.body),
        "trailers": case.trailers,
        "least_requests": least,
        "most_requests": most,
    })
}
