//! Parts of messages that servers treat differently: HEAD, ranges, trailers, 103.

use anyhow::{Context, ensure};
use http::Method;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE};

use super::{Target, same};
use crate::files;

pub(super) async fn head(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    let response = target
        .request(&engine, Method::HEAD, "/1m.bin")
        .send()
        .await?;
    target.expect(&response, 200)?;
    let length = response.headers().get(CONTENT_LENGTH).cloned();
    let body = response.bytes(1).await?;
    ensure!(body.is_empty(), "HEAD has a body");
    // The connection must be in order after a response that has a length and no body.
    target.get_file(&engine, "small.txt").await?;
    match length {
        Some(length) => {
            ensure!(length == "1000000", "content-length {length:?}");
            Ok(String::new())
        }
        None => Ok("without a length".to_owned()),
    }
}

pub(super) async fn range(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    let request = target
        .get(&engine, "/1m.bin")
        .header(RANGE, "bytes=500000-509999");
    let response = request.send().await?;
    target.expect(&response, 206)?;
    let range = response.headers().get(CONTENT_RANGE).cloned();
    let range = range.context("no content-range")?;
    ensure!(
        range == "bytes 500000-509999/1000000",
        "content-range {range:?}"
    );
    let body = response.bytes(20_000).await?;
    same(&body, &files::content(1_000_000)[500_000..510_000])?;
    Ok(String::new())
}

pub(super) async fn trailers(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    // Over HTTP/1.1 servers may leave trailers out unless they are asked for (RFC 9110 section 6.5.1).
    let request = target.get(&engine, "/trailers");
    let mut response = request.send().await?;
    target.expect(&response, 200)?;
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await? {
        body.extend_from_slice(&piece);
    }
    same(&body, b"body\n")?;
    let trailer = response.trailers().and_then(|all| all.get("x-interop"));
    let trailer = trailer.context("no trailer came")?;
    ensure!(trailer == "trailer", "trailer {trailer:?}");
    Ok(String::new())
}

pub(super) async fn early_hints(target: &Target) -> anyhow::Result<String> {
    let engine = target.engine()?;
    let response = target.get(&engine, "/hints").send().await?;
    target.expect(&response, 200)?;
    same(&response.bytes(100).await?, b"body\n")?;
    Ok(String::new())
}
