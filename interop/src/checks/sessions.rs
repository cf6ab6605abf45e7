//! Connections: resumption, 0-RTT, the change to HTTP/3, and a restart of the server.

use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use client::{Engine, Policy, Protocol, Response};
use tokio::time::sleep;

use super::{Target, same};
use crate::files;

/// How much of the body is read before the server is killed.
const READ_BEFORE_RESTART: usize = 20_000_000;
const WHOLE: usize = 100_000_000;
/// How long nothing listens on the server's port.
const DOWN: Duration = Duration::from_millis(500);
const TICKETS_WITHIN: Duration = Duration::from_millis(200);
const ALT_SVC_WITHIN: Duration = Duration::from_secs(15);
const ALT_SVC_EACH: Duration = Duration::from_millis(100);

pub(super) async fn resumption(target: &Target) -> anyhow::Result<String> {
    let response = again(target, &target.engine()?).await?;
    ensure!(
        response.report().resumed,
        "the second handshake resumed no session"
    );
    same(&response.bytes(100).await?, &files::content(12))?;
    Ok(String::new())
}

pub(super) async fn zero_rtt(target: &Target) -> anyhow::Result<String> {
    let builder = target.builder()?.early_data(true);
    let engine = builder.policy(Policy::H3).build()?;
    let response = again(target, &engine).await?;
    ensure!(
        response.report().early_data,
        "the server took no 0-RTT data"
    );
    same(&response.bytes(100).await?, &files::content(12))?;
    Ok(String::new())
}

/// Sends a GET, closes its connection and sends the GET again.
async fn again(target: &Target, engine: &Engine) -> anyhow::Result<Response> {
    target.get_file(engine, "small.txt").await?;
    // Tickets come after the handshake, maybe after the response.
    sleep(TICKETS_WITHIN).await;
    engine.disconnect().await;
    let response = target.get(engine, "/small.txt").send().await?;
    target.expect(&response, 200)?;
    Ok(response)
}

pub(super) async fn alt_svc(target: &Target) -> anyhow::Result<String> {
    let engine = target.builder()?.build()?;
    let began = Instant::now();
    let mut count = 0;
    while began.elapsed() < ALT_SVC_WITHIN {
        let response = target.get(&engine, "/small.txt").send().await?;
        ensure!(response.status() == 200, "status {}", response.status());
        count += 1;
        let over = response.report().protocol;
        same(&response.bytes(100).await?, &files::content(12))?;
        if over == Protocol::H3 {
            return Ok(format!("request {count}"));
        }
        sleep(ALT_SVC_EACH).await;
    }
    let explained = engine.explain(&target.origin).await.replace('\n', "; ");
    bail!("none of {count} requests came over HTTP/3: {explained}")
}

pub(super) async fn restart(target: &mut Target) -> anyhow::Result<String> {
    let (start, server) = target.server.take().context("a server started elsewhere")?;
    let engine = target.engine()?;
    let mut response = target.get(&engine, "/100m.bin").send().await?;
    target.expect(&response, 200)?;
    let mut body = Vec::with_capacity(WHOLE);
    while body.len() < READ_BEFORE_RESTART {
        let piece = response.chunk().await?.context("the body ended early")?;
        body.extend_from_slice(&piece);
    }
    let killed = Instant::now();
    server.kill();
    let again = tokio::task::spawn_blocking(move || {
        std::thread::sleep(DOWN);
        let server = start.start()?;
        anyhow::Ok((start, server))
    });
    let rest = async {
        while let Some(piece) = response.chunk().await? {
            body.extend_from_slice(&piece);
        }
        Ok::<_, client::Error>(killed.elapsed())
    };
    let (rest, again) = tokio::join!(rest, again);
    target.server = Some(again??);
    let took = rest.with_context(|| format!("after {} bytes", body.len()))?;
    same(&body, &files::content(WHOLE))?;
    let resumed = response.report().resumed_bodies;
    ensure!(
        resumed > 0,
        "the body was not in the middle when the server was killed"
    );
    Ok(format!("{:.1} s", took.as_secs_f64()))
}
