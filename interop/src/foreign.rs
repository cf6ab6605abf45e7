//! Clients that others wrote, against `commute serve`.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

use crate::child::{Process, Start, free_port};
use crate::results::Outcome;
use crate::servers::Site;
use crate::tool;

const LIMIT: Duration = Duration::from_secs(240);
const NAME: &str = "localhost";
const H2SPEC_RUNS: u32 = 5;

/// A client.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    /// The conformance suite for HTTP/2.
    H2spec,
    /// nghttp2's load generator.
    H2load,
    /// curl with HTTP/1.1, HTTP/2 and HTTP/3.
    Curl,
    /// quic-go's client.
    QuicGo,
    /// aioquic's client.
    Aioquic,
}

/// All clients.
pub(crate) const CLIENTS: [Client; 5] = [
    Client::H2spec,
    Client::H2load,
    Client::Curl,
    Client::QuicGo,
    Client::Aioquic,
];

impl Client {
    /// Returns the client's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::H2spec => "h2spec",
            Self::H2load => "h2load",
            Self::Curl => "curl",
            Self::QuicGo => "quic-go",
            Self::Aioquic => "aioquic",
        }
    }

    /// Returns what `install` installs for the client.
    pub(crate) fn install(self) -> Vec<String> {
        let part = match self {
            Self::H2spec => "h2spec",
            Self::H2load => "debian12",
            Self::Curl => "debian13",
            Self::QuicGo => "go",
            Self::Aioquic => "python",
        };
        vec![part.to_owned()]
    }

    /// Starts `commute serve` and runs the client against it.
    pub(crate) async fn run(self, commute: &Path, site: &Site) -> Outcome {
        let served = serve(commute, &site.folder.join(self.name()));
        let (server, port, ca) = match served {
            Ok(served) => served,
            Err(error) => return Outcome::Fail(format!("{error:#}")),
        };
        let outcome = match self {
            Self::H2spec => h2spec(site, port).await,
            Self::H2load => h2load(site, port).await,
            Self::Curl => curl(site, port, &ca).await,
            Self::QuicGo => own_client(vec![program(site, "app")], site, port, &ca).await,
            Self::Aioquic => {
                let script = site
                    .source
                    .join("apps/aioquic_client.py")
                    .display()
                    .to_string();
                own_client(vec![program(site, "python"), script], site, port, &ca).await
            }
        };
        drop(server);
        outcome.unwrap_or_else(|error| Outcome::Fail(format!("{error:#}")))
    }
}

/// Starts the lab's server. Returns it with its port and the CA's certificate.
fn serve(commute: &Path, folder: &Path) -> anyhow::Result<(Process, u16, String)> {
    fs::create_dir_all(folder)?;
    let port = free_port()?;
    let (program, listen) = (commute.display().to_string(), format!("127.0.0.1:{port}"));
    let credentials = folder.display().to_string();
    let words = [
        &program,
        "serve",
        "--listen",
        &listen,
        "--credentials",
        &credentials,
    ];
    let start = Start {
        command: words.map(str::to_owned).to_vec(),
        folder: folder.to_owned(),
        port,
        over_tcp: true,
    };
    let ca = folder.join("ca.pem").display().to_string();
    Ok((start.start()?, port, ca))
}

fn program(site: &Site, name: &str) -> String {
    site.cache.join("bin").join(name).display().to_string()
}

async fn run(words: &[&str], site: &Site) -> anyhow::Result<tool::Output> {
    let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    tool::run(&words, &site.folder, LIMIT).await
}

/// Runs the suite several times: some of its tests depend on whether the response has ended.
async fn h2spec(site: &Site, port: u16) -> anyhow::Result<Outcome> {
    let (program, port) = (program(site, "h2spec"), port.to_string());
    let path = "/bytes/1000000";
    let words = [
        &program, "-h", NAME, "-p", &port, "-t", "-k", "-o", "5", "-P", path,
    ];
    let mut passed = 0;
    let mut failed: Vec<String> = Vec::new();
    for _ in 0..H2SPEC_RUNS {
        let output = run(&words, site).await?;
        // "145 tests, 142 passed, 1 skipped, 2 failed"
        let summary = output
            .out
            .lines()
            .rev()
            .find(|line| line.contains(" tests, "));
        passed += u32::from(summary.context("no summary")?.ends_with(" 0 failed"));
        // Each is listed twice: where it ran, and at the end.
        for (_, test) in output.out.lines().filter_map(|line| line.split_once('×')) {
            if !failed.iter().any(|known| known == test.trim()) {
                failed.push(test.trim().to_owned());
            }
        }
    }
    let summary = format!("{passed} of {H2SPEC_RUNS} runs without a failure");
    Ok(if failed.is_empty() {
        Outcome::Pass(summary)
    } else {
        Outcome::Fail(format!(
            "{summary}; failed at least once: {}",
            failed.join("; ")
        ))
    })
}

async fn h2load(site: &Site, port: u16) -> anyhow::Result<Outcome> {
    let (program, url) = (
        program(site, "h2load"),
        format!("https://{NAME}:{port}/health"),
    );
    let output = run(
        &[&program, "-n", "10000", "-c", "10", "-m", "100", &url],
        site,
    )
    .await?;
    let line = output
        .out
        .lines()
        .find(|line| line.starts_with("requests: "));
    let line = line.unwrap_or("no summary").to_owned();
    Ok(if line.contains(" 10000 succeeded, 0 failed") {
        Outcome::Pass("10,000 of 10,000 requests".to_owned())
    } else {
        Outcome::Fail(line)
    })
}

async fn curl(site: &Site, port: u16, ca: &str) -> anyhow::Result<Outcome> {
    let program = program(site, "curl-13");
    let url = format!("https://{NAME}:{port}/bytes/10000000");
    for (option, version) in [
        ("--http1.1", "1.1"),
        ("--http2", "2"),
        ("--http3-only", "3"),
    ] {
        let write = "%{http_code} %{http_version} %{size_download}";
        let words = [
            &program,
            "-sS",
            "--max-time",
            "60",
            "--cacert",
            ca,
            option,
            "-o",
            "/dev/null",
            "-w",
            write,
            &url,
        ];
        let output = run(&words, site).await?;
        let expected = format!("200 {version} 10000000");
        if output.out != expected {
            return Ok(Outcome::Fail(format!(
                "{option}: {} {}",
                output.out,
                tool::last_line(&output.err)
            )));
        }
    }
    Ok(Outcome::Pass(
        "10 MB over HTTP/1.1, HTTP/2 and HTTP/3".to_owned(),
    ))
}

/// Runs a client of interop/apps, which prints what it did and ends with 0 if all was right.
async fn own_client(
    mut command: Vec<String>,
    site: &Site,
    port: u16,
    ca: &str,
) -> anyhow::Result<Outcome> {
    let url = format!("https://{NAME}:{port}");
    command.extend(["-client", &url, "-ca", ca].map(str::to_owned));
    let output = tool::run(&command, &site.folder, LIMIT).await?;
    Ok(if output.success {
        Outcome::Pass(output.out.trim().to_owned())
    } else {
        Outcome::Fail(tool::last_line(&output.err))
    })
}
