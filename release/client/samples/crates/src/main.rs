//! Fetches a URL and says how it came: `client-sample URL ROOTS.pem`.

use client::{Engine, Trust};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(roots)) = (arguments.next(), arguments.next()) else {
        return Err("usage: client-sample URL ROOTS.pem".into());
    };
    let trust = Trust::Roots(std::fs::read(roots)?);
    let engine = Engine::builder().trust(trust).build()?;
    let response = engine.get(&url).send().await?;
    let (status, protocol) = (response.status(), response.report().protocol);
    let body = response.bytes(1 << 20).await?;
    println!(
        "{}, {protocol:?}: {}",
        status.as_u16(),
        String::from_utf8_lossy(&body).trim()
    );
    Ok(())
}
