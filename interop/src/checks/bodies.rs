//! Bodies in both directions, alone and many at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use client::{Engine, Response};
use futures_util::future::join_all;
use http::Method;

use super::{Target, text};
use crate::files;

const UPLOAD: usize = 10_000_000;
const SLOW_UPLOAD: usize = 500_000;
const SMALL_UPLOAD: usize = 1_000;
const PIECE: usize = 65_536;
const ROUNDS: u32 = 5;

static UPLOADS: AtomicUsize = AtomicUsize::new(0);

pub(super) async fn get(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    target.get_file(&engine, "small.txt").await?;
    target.get_file(&engine, "1m.bin").await?;
    Ok(String::new())
}

pub(super) async fn get_100mb(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    let began = Instant::now();
    target.get_file(&engine, "100m.bin").await?;
    Ok(format!("{:.1} s", began.elapsed().as_secs_f64()))
}

pub(super) async fn held_upload(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    post(target, &engine, UPLOAD).await?;
    Ok(String::new())
}

pub(super) async fn streamed_upload(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    let id = new_id();
    let body = files::content(UPLOAD);
    let request = target.request(&engine, Method::POST, &format!("/upload?id={id}"));
    let (request, mut writer) = request.streamed(None);
    let write = async {
        for piece in body.chunks(PIECE) {
            writer.write(Bytes::copy_from_slice(piece)).await?;
        }
        writer.finish().await
    };
    let (response, written) = tokio::join!(request.send(), write);
    check_upload(target, response?, &body).await?;
    written.context("write the body")?;
    target.seen_once(&engine, &id).await?;
    Ok(String::new())
}

/// Uploads as the app of a phone on 3G would. The server must get the upload once although a PUT may be sent again.
pub(super) async fn slow_upload(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    let (id, began) = (new_id(), Instant::now());
    let body = files::content(SLOW_UPLOAD);
    let request = target.request(&engine, Method::PUT, &format!("/upload?id={id}"));
    let response = request.body(body.clone()).send().await?;
    let took = began.elapsed().as_secs_f64();
    check_upload(target, response, &body).await?;
    target.seen_once(&engine, &id).await?;
    Ok(format!("{took:.1} s"))
}

pub(super) async fn parallel_100(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    let one = async |index: usize| match index % 2 {
        0 => target.get_file(&engine, "10k.bin").await,
        _ => post(target, &engine, SMALL_UPLOAD).await,
    };
    all(join_all((0..100).map(one)).await)
}

/// Makes 1,000 parallel requests in five rounds, each over new connections. The requests that a closing connection
/// carries differ each time.
pub(super) async fn parallel_1000(target: &Target) -> anyhow::Result<String> {
    let began = Instant::now();
    for round in 1..=ROUNDS {
        let engine = target.engine()?;
        let one = |_| target.get_file(&engine, "10k.bin");
        let results = join_all((0..1_000).map(one)).await;
        all(results).with_context(|| format!("round {round} of {ROUNDS}"))?;
    }
    let mean = began.elapsed().as_secs_f64() / f64::from(ROUNDS);
    Ok(format!("{mean:.1} s"))
}

/// Fails unless all succeeded, and says how many did.
fn all(results: Vec<anyhow::Result<()>>) -> anyhow::Result<String> {
    let (count, mut failed) = (results.len(), results.into_iter().filter_map(Result::err));
    let Some(first) = failed.next() else {
        return Ok(String::new());
    };
    bail!(
        "{} of {count}; the first error: {first:#}",
        count - 1 - failed.count()
    );
}

async fn post(target: &Target, engine: &Engine, length: usize) -> anyhow::Result<()> {
    let id = new_id();
    let body = files::content(length);
    let request = target.request(engine, Method::POST, &format!("/upload?id={id}"));
    let response = request.body(body.clone()).send().await?;
    check_upload(target, response, &body).await?;
    target.seen_once(engine, &id).await
}

/// Fails unless the server answers with the digest and length of the body.
async fn check_upload(target: &Target, response: Response, body: &[u8]) -> anyhow::Result<()> {
    target.expect(&response, 200)?;
    let answer = text(&response.bytes(1_000).await?);
    let expected = format!("{} {}", files::digest(body), body.len());
    ensure!(
        answer.trim() == expected,
        "the server got another body: {}",
        answer.trim()
    );
    Ok(())
}

/// Returns an ID that no other process uses. Process IDs repeat: the command of `commute link` has a namespace of its own.
fn new_id() -> String {
    let count = UPLOADS.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!("{}-{count}", now.map_or(0, |since| since.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_counted() {
        assert!(all(vec![Ok(()), Ok(())]).is_ok());
        let broken = || Err(anyhow::anyhow!("broken"));
        let error = all(vec![Ok(()), broken(), broken()]).unwrap_err();
        assert_eq!(error.to_string(), "1 of 3; the first error: broken");
    }
}
