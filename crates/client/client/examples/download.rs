//! Downloads a URL to a file, and goes on where it broke off when it is run again:
//! `cargo run -p commute-client --example download https://www.example.com/file FILE`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (url, to) = words
        .next()
        .zip(words.next())
        .ok_or("usage: download https://... FILE")?;
    let engine = client::Engine::builder().hint_h3(&url).build()?;
    let done = engine.get(&url).download(&to).await?;
    println!(
        "{} bytes, {} of them kept from before",
        done.bytes, done.kept_bytes
    );
    println!("{}", done.report.reason);
    Ok(())
}
