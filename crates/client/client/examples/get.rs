//! Fetches a URL and says how: `cargo run -p commute-client --example get https://www.example.com/`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).ok_or("usage: get https://...")?;
    let engine = client::Engine::builder().hint_h3(&url).build()?;
    let response = engine.get(&url).send().await?;
    println!("{} by {}", response.status(), response.report().reason);
    println!("{} bytes", response.bytes(64 << 20).await?.len());
    println!("{}", engine.explain(&url).await);
    Ok(())
}
