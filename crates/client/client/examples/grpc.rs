//! Calls the gRPC service of `commute serve` and says how:
//! `cargo run -p commute-client --example grpc https://localhost:8443 ca.pem`.

use messages::v1::{EchoRequest, bench_client::BenchClient};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1).zip(std::env::args().skip(2));
    let (url, ca) = words.next().ok_or("usage: grpc https://... CA.pem")?;
    let trust = client::Trust::Roots(std::fs::read(ca)?);
    let engine = client::Engine::builder().trust(trust).build()?;
    let mut bench = BenchClient::with_origin(engine.grpc(), url.parse()?);
    let reply = bench.echo(EchoRequest::default()).await?;
    let report = reply.extensions().get::<client::Report>();
    println!(
        "{:?} by {}",
        reply.get_ref(),
        report.ok_or("no report")?.reason
    );
    Ok(())
}
