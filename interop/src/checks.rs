//! The checks: requests of the client to a running server, and their expected results.

mod bodies;
mod messages;
mod sessions;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use client::{Engine, Policy, Request, Response, Trust};
use http::Method;
use serde::{Deserialize, Serialize};

use crate::child::{Process, Start};
use crate::files;

/// The longest that one request may take.
const REQUEST_LIMIT: Duration = Duration::from_secs(90);

/// A version of HTTP; the client is pinned to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Protocol {
    /// HTTP/1.1.
    H1,
    /// HTTP/2.
    H2,
    /// HTTP/3.
    H3,
}

/// A column of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "kebab-case")]
pub(crate) enum Check {
    /// GET of 12 bytes and of 1 MB.
    Get,
    /// GET of 100 MB.
    #[value(name = "get-100mb")]
    Get100Mb,
    /// POST of 10 MB given whole.
    HeldUpload,
    /// POST of 10 MB written in pieces, without a length.
    StreamedUpload,
    /// 100 requests at once, half of them POST.
    #[value(name = "parallel-100")]
    Parallel100,
    /// 1,000 GETs at once.
    #[value(name = "parallel-1000")]
    Parallel1000,
    /// HEAD.
    Head,
    /// A range in the middle of a file.
    Range,
    /// Trailers of a response.
    Trailers,
    /// 103 (Early Hints) before the response.
    EarlyHints,
    /// TLS resumption.
    Resumption,
    /// A request as 0-RTT data.
    #[value(name = "0-rtt")]
    ZeroRtt,
    /// The change to HTTP/3 that `Alt-Svc` offers.
    AltSvc,
    /// A server killed and started again while 100 MB are read.
    Restart,
    /// PUT of 500 kB over the network webpagetest-3g.
    SlowLink,
}

impl Protocol {
    /// Returns the protocol's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }

    fn policy(self) -> Policy {
        match self {
            Self::H1 => Policy::H1,
            Self::H2 => Policy::H2,
            Self::H3 => Policy::H3,
        }
    }

    fn expected(self) -> client::Protocol {
        match self {
            Self::H1 => client::Protocol::H1,
            Self::H2 => client::Protocol::H2,
            Self::H3 => client::Protocol::H3,
        }
    }
}

impl Check {
    /// All checks, in the order of the columns.
    pub(crate) const ALL: [Self; 15] = [
        Self::Get,
        Self::Get100Mb,
        Self::HeldUpload,
        Self::StreamedUpload,
        Self::Parallel100,
        Self::Parallel1000,
        Self::Head,
        Self::Range,
        Self::Trailers,
        Self::EarlyHints,
        Self::Resumption,
        Self::ZeroRtt,
        Self::AltSvc,
        Self::Restart,
        Self::SlowLink,
    ];

    /// Returns the check's name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Get100Mb => "get-100mb",
            Self::HeldUpload => "held-upload",
            Self::StreamedUpload => "streamed-upload",
            Self::Parallel100 => "parallel-100",
            Self::Parallel1000 => "parallel-1000",
            Self::Head => "head",
            Self::Range => "range",
            Self::Trailers => "trailers",
            Self::EarlyHints => "early-hints",
            Self::Resumption => "resumption",
            Self::ZeroRtt => "0-rtt",
            Self::AltSvc => "alt-svc",
            Self::Restart => "restart",
            Self::SlowLink => "slow-link",
        }
    }

    /// Returns the head of the check's column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Get100Mb => "100 MB",
            Self::HeldUpload => "held upload",
            Self::StreamedUpload => "streamed upload",
            Self::Parallel100 => "100 parallel",
            Self::Parallel1000 => "1,000 parallel",
            Self::Head => "HEAD",
            Self::Range => "range",
            Self::Trailers => "trailers",
            Self::EarlyHints => "103",
            Self::Resumption => "resumption",
            Self::ZeroRtt => "0-RTT",
            Self::AltSvc => "Alt-Svc",
            Self::Restart => "restart",
            Self::SlowLink => "slow link",
        }
    }

    /// Returns why the check applies to no server over this protocol, if it does not.
    pub(crate) fn never_over(self, protocol: Protocol) -> Option<&'static str> {
        match (self, protocol) {
            (Self::ZeroRtt, Protocol::H1 | Protocol::H2) => {
                Some("the client has 0-RTT over QUIC only")
            }
            (Self::AltSvc, Protocol::H1) => Some("checked over HTTP/2"),
            (Self::AltSvc, Protocol::H3) => Some("it leads to HTTP/3"),
            _ => None,
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A running server to check, and how to start it again.
pub(crate) struct Target {
    /// `https://HOST:PORT`.
    pub(crate) origin: String,
    /// The CA's certificate.
    pub(crate) ca: PathBuf,
    /// The version of HTTP to use.
    pub(crate) protocol: Protocol,
    /// The server, unless it was started elsewhere.
    pub(crate) server: Option<(Start, Process)>,
}

/// Runs a check. Returns what it measured, in words, or why it failed.
pub(crate) async fn run(check: Check, target: &mut Target) -> anyhow::Result<String> {
    match check {
        Check::Get => bodies::get(target).await,
        Check::Get100Mb => bodies::get_100mb(target).await,
        Check::HeldUpload => bodies::held_upload(target).await,
        Check::StreamedUpload => bodies::streamed_upload(target).await,
        Check::Parallel100 => bodies::parallel_100(target).await,
        Check::Parallel1000 => bodies::parallel_1000(target).await,
        Check::Head => messages::head(target).await,
        Check::Range => messages::range(target).await,
        Check::Trailers => messages::trailers(target).await,
        Check::EarlyHints => messages::early_hints(target).await,
        Check::Resumption => sessions::resumption(target).await,
        Check::ZeroRtt => sessions::zero_rtt(target).await,
        Check::AltSvc => sessions::alt_svc(target).await,
        Check::Restart => sessions::restart(target).await,
        Check::SlowLink => bodies::slow_upload(target).await,
    }
}

impl Target {
    /// Makes an engine that is pinned to the protocol.
    fn engine(&self) -> anyhow::Result<Engine> {
        Ok(self.builder()?.policy(self.protocol.policy()).build()?)
    }

    fn builder(&self) -> anyhow::Result<client::Builder> {
        let ca = std::fs::read(&self.ca).context("read the CA's certificate")?;
        let builder = Engine::builder().trust(Trust::Roots(ca));
        Ok(builder.resolve("localhost", vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    fn request(&self, engine: &Engine, method: Method, path: &str) -> Request {
        engine
            .request(method, &self.url(path))
            .time_limit(REQUEST_LIMIT)
    }

    fn get(&self, engine: &Engine, path: &str) -> Request {
        self.request(engine, Method::GET, path)
    }

    /// Fails unless the response has this status and came over the protocol.
    fn expect(&self, response: &Response, status: u16) -> anyhow::Result<()> {
        let (got, over) = (response.status(), response.report().protocol);
        ensure!(got == status, "status {got}");
        ensure!(
            over == self.protocol.expected(),
            "the response came over {over:?}"
        );
        Ok(())
    }

    /// Fails unless this file comes whole.
    async fn get_file(&self, engine: &Engine, name: &str) -> anyhow::Result<()> {
        let response = self.get(engine, &format!("/{name}")).send().await?;
        self.expect(&response, 200)?;
        let length = file_length(name)?;
        let body = response.bytes(length + 1).await?;
        same(&body, &files::content(length))
    }

    /// Fails unless the server has seen the upload with this id once.
    async fn seen_once(&self, engine: &Engine, id: &str) -> anyhow::Result<()> {
        let response = self.get(engine, &format!("/seen?id={id}")).send().await?;
        self.expect(&response, 200)?;
        let times = response.bytes(100).await?;
        ensure!(
            &times[..] == b"1\n",
            "the server has seen the upload {} times",
            text(&times).trim()
        );
        Ok(())
    }
}

fn file_length(name: &str) -> anyhow::Result<usize> {
    let file = files::FILES.iter().find(|(known, _)| *known == name);
    Ok(file.with_context(|| format!("no file {name}"))?.1)
}

/// Fails unless both have the same digest.
fn same(got: &[u8], expected: &[u8]) -> anyhow::Result<()> {
    if files::digest(got) != files::digest(expected) {
        bail!(
            "wrong digest: {} of {} bytes came",
            got.len(),
            expected.len()
        );
    }
    Ok(())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
