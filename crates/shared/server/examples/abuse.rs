//! Measures on loopback what many slow clients cost a well-behaved one.
//!
//! ```text
//! cargo run --release -p commute-server --example abuse [seconds]
//! ```
//!
//! The server runs in a separate process (this program again), so that its memory can be measured.
//! A well-behaved client sends echoes over HTTP/2, one every few ms, before, during and after a
//! phase of abuse. In that phase 1,000 TCP clients send their request heads one byte at a time.
//! Another 1,000 clients over QUIC have sent a first packet and nothing since. Bounded to 60
//! seconds, 2,000 sockets and loopback.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use server::{Config, Server};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UdpSocket};
use tokio::runtime;
use tokio_rustls::TlsConnector;

/// Slow clients per transport.
const SLOW_CLIENTS: usize = 1000;
/// The longest time that echoes are measured without slow clients, before and after.
const BASELINE: Duration = Duration::from_secs(15);
/// The pause between two echoes.
const ECHO_PAUSE: Duration = Duration::from_millis(4);
/// The pause between two bytes of a slow client.
const BYTE_PAUSE: Duration = Duration::from_secs(2);
/// The most memory that the slow clients may cost.
const MAX_MIB: f64 = 64.0;
/// The most that the median echo may slow down, percent.
const MAX_SLOWDOWN: f64 = 10.0;

type Fallible<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Fallible {
    let mut args = std::env::args().skip(1);
    let first = args.next();
    match first.as_deref() {
        Some("--serve") => serve(Path::new(&args.next().ok_or("--serve FOLDER")?)),
        seconds => measure(seconds.unwrap_or("60").parse()?),
    }
}

/// Runs the server's process: prints its address and serves until stdin is closed.
#[tokio::main]
async fn serve(folder: &Path) -> Fallible {
    let config = Config {
        listen: vec![([127, 0, 0, 1], 0).into()],
        credentials_dir: Some(folder.to_owned()),
        ..Config::default()
    };
    let server = Server::bind(config).await?;
    println!("{}", server.addresses()[0]);
    let parent_gone = tokio::task::spawn_blocking(|| std::io::stdin().lines().for_each(drop));
    server
        .run(async {
            parent_gone.await.ok();
        })
        .await?;
    Ok(())
}

/// Runs the clients' process.
#[tokio::main(flavor = "current_thread")]
async fn measure(seconds: u64) -> Fallible {
    let during = Duration::from_secs(seconds.clamp(1, 60));
    let folder = tempfile::tempdir()?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--serve".as_ref(), folder.path()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
    let address: SocketAddr = line.trim().parse()?;
    let ca = CertificateDer::from_pem_file(folder.path().join("ca.pem"))?;

    let mut client = connect(address, &ca).await?;
    echoes(&mut client, Duration::from_secs(2)).await?;
    let memory_before = memory(&child)?;
    let mut times_without = echoes(&mut client, during.min(BASELINE)).await?;

    // On a thread of their own, so that they do not delay the well-behaved client's clock.
    let slow_runtime = runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let tls = connector(&ca, "http/1.1")?;
    let connected = Arc::new(tokio::sync::Semaphore::new(0));
    let slow_clients: Vec<_> = (0..SLOW_CLIENTS)
        .map(|_| slow_runtime.spawn(slow_head(address, tls.clone(), connected.clone())))
        .collect();
    let all = connected.acquire_many(SLOW_CLIENTS as u32);
    tokio::time::timeout(during, all).await??.forget();
    let memory_tcp = memory(&child)?;
    let mut half_open = Vec::new();
    for _ in 0..SLOW_CLIENTS {
        half_open.push(first_packet(address).await?);
    }

    let start = Instant::now();
    let mut peak = memory(&child)?;
    let mut times = Vec::new();
    while start.elapsed() < during {
        times.extend(echoes(&mut client, Duration::from_secs(1)).await?);
        peak = peak.max(memory(&child)?);
    }
    let slow_left = slow_clients
        .iter()
        .filter(|client| !client.is_finished())
        .count();
    slow_runtime.shutdown_background();
    drop(half_open);
    // Both before and after, so that drift of the machine is not taken for an effect.
    times_without.extend(echoes(&mut client, during.min(BASELINE)).await?);
    // The child ends when its stdin is closed.
    drop(child.stdin.take());
    child.wait()?;

    let tcp_cost = mib(memory_tcp - memory_before);
    let (p50_without, p50_during) = (median(&mut times_without), median(&mut times));
    let cost = mib(peak - memory_before);
    let slowdown = p50_during.as_secs_f64() / p50_without.as_secs_f64() * 100.0 - 100.0;
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{SLOW_CLIENTS} slow heads over TCP ({slow_left} connected to the end), {SLOW_CLIENTS} \
         half-open over QUIC"
    )?;
    writeln!(
        out,
        "memory  +{cost:.1} MiB from {:.1}, {tcp_cost:.1} of it for TCP",
        mib(memory_before)
    )?;
    writeln!(
        out,
        "echo    p50 {p50_without:?} (n {}) -> {p50_during:?} (n {}), {slowdown:+.1} %",
        times_without.len(),
        times.len()
    )?;
    if cost >= MAX_MIB || slowdown >= MAX_SLOWDOWN {
        return Err(format!("over the bound of {MAX_MIB} MiB or {MAX_SLOWDOWN} %").into());
    }
    Ok(())
}

async fn connect(
    address: SocketAddr,
    ca: &CertificateDer<'static>,
) -> Fallible<SendRequest<Full<Bytes>>> {
    let tcp = TcpStream::connect(address).await?;
    tcp.set_nodelay(true)?;
    let stream = connector(ca, "h2")?.connect(localhost()?, tcp).await?;
    let (requests, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(requests)
}

/// Sends echoes during this time, a few ms apart, and returns the time of each.
async fn echoes(
    requests: &mut SendRequest<Full<Bytes>>,
    during: Duration,
) -> Fallible<Vec<Duration>> {
    let end = Instant::now() + during;
    let mut times = Vec::new();
    while Instant::now() < end {
        let request = http::Request::post("https://localhost/echo")
            .body(Full::from(r#"{"start_ts":1763757325123}"#))?;
        let start = Instant::now();
        let response = requests.send_request(request).await?;
        response.into_body().collect().await?;
        times.push(start.elapsed());
        tokio::time::sleep(ECHO_PAUSE).await;
    }
    Ok(times)
}

/// Sends a request head that never ends, a byte every two seconds.
async fn slow_head(
    address: SocketAddr,
    tls: TlsConnector,
    connected: Arc<tokio::sync::Semaphore>,
) -> Fallible {
    let mut stream = tls
        .connect(localhost()?, TcpStream::connect(address).await?)
        .await?;
    connected.add_permits(1);
    for byte in b"GET /health HTTP/1.1\r\nhost: localhost\r\nx-endless-header-name: "
        .iter()
        .cycle()
    {
        stream.write_all(&[*byte]).await?;
        tokio::time::sleep(BYTE_PAUSE).await;
    }
    Ok(())
}

/// Sends a client's valid Initial packet; answers are never read.
async fn first_packet(address: SocketAddr) -> Fallible<UdpSocket> {
    let socket = UdpSocket::bind((address.ip(), 0)).await?;
    socket.connect(address).await?;
    socket.send(&initial()?).await?;
    Ok(socket)
}

/// Returns the first packet of a QUIC client.
fn initial() -> Fallible<Vec<u8>> {
    let mut tls = client_config(None)?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(tls)?;
    let config = quinn::ClientConfig::new(Arc::new(crypto));
    let mut endpoint =
        quinn_proto::Endpoint::new(Arc::new(quinn::EndpointConfig::default()), None, true, None);
    let now = Instant::now();
    let unused = ([127, 0, 0, 1], 9).into();
    let (_, mut connection) = endpoint.connect(now, config, unused, "localhost")?;
    let mut packet = Vec::new();
    let transmit = connection
        .poll_transmit(now, 1, &mut packet)
        .ok_or("no first packet")?;
    packet.truncate(transmit.size);
    Ok(packet)
}

fn connector(ca: &CertificateDer<'static>, alpn: &str) -> Fallible<TlsConnector> {
    let mut tls = client_config(Some(ca))?;
    tls.alpn_protocols = vec![alpn.into()];
    Ok(Arc::new(tls).into())
}

fn client_config(ca: Option<&CertificateDer<'static>>) -> Fallible<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    if let Some(ca) = ca {
        roots.add(ca.clone())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_protocol_versions(&[&rustls::version::TLS13])?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn localhost() -> Fallible<ServerName<'static>> {
    Ok(ServerName::try_from("localhost")?)
}

/// Returns the resident memory of the child, bytes.
fn memory(child: &Child) -> Fallible<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? << 10)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
