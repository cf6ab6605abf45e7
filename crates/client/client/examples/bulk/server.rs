//! A server over HTTP/3: the first request of a connection gets a byte, and each later one the whole file.

use std::io::Read;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Connection, Endpoint, SendStream};
use rustls::pki_types::PrivatePkcs8KeyDer;

use super::Outcome;

/// A control stream with empty SETTINGS (RFC 9114 section 6.2.1).
const CONTROL: &[u8] = b"\x00\x04\x00";
/// A HEADERS frame with `:status: 200` (RFC 9204 appendix A).
const HEAD: &[u8] = b"\x01\x03\x00\x00\xd9";
/// The length of a DATA frame is an integer of eight bytes with these bits (RFC 9000 section 16).
const EIGHT_BYTES: u64 = 0b11 << 62;
const PIECE: Bytes = Bytes::from_static(&[0; 64 << 10]);
/// The server sends what is due once in this time.
const TICK: Duration = Duration::from_millis(1);

/// Serves on a free port, which is printed, until standard input ends. Writes its certificate to a folder.
pub(super) fn run(folder: &Path, mbit_per_s: u64, bytes: u64) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let endpoint = listen(folder)?;
        println!("{}", endpoint.local_addr()?.port());
        tokio::spawn(async move {
            while let Some(incoming) = endpoint.accept().await {
                tokio::spawn(async move {
                    if let Ok(quic) = incoming.await {
                        serve(quic, mbit_per_s, bytes).await;
                    }
                });
            }
        });
        tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await??;
        Ok(())
    })
}

fn listen(folder: &Path) -> Outcome<Endpoint> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    std::fs::write(folder.join("ca.pem"), own.cert.pem())?;
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = Arc::new(QuicServerConfig::try_from(tls)?);
    let config = quinn::ServerConfig::with_crypto(crypto);
    Ok(Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into())?)
}

async fn serve(quic: Connection, mbit_per_s: u64, bytes: u64) {
    let Ok(mut control) = quic.open_uni().await else {
        return;
    };
    control.write_all(CONTROL).await.ok();
    let mut length = 1;
    while let Ok((send, mut request)) = quic.accept_bi().await {
        tokio::spawn(async move {
            if request.read_to_end(64 << 10).await.is_ok() {
                // A client may end before it has all.
                answer(send, length, mbit_per_s).await.ok();
            }
        });
        length = bytes;
    }
}

async fn answer(mut to: SendStream, bytes: u64, mbit_per_s: u64) -> Outcome<()> {
    to.write_all(HEAD).await?;
    to.write_all(&[0]).await?;
    to.write_all(&(bytes | EIGHT_BYTES).to_be_bytes()).await?;
    let (began, mut sent) = (Instant::now(), 0);
    while sent < bytes {
        let piece = PIECE.len().min(usize::try_from(bytes - sent)?);
        to.write_chunk(PIECE.slice(..piece)).await?;
        sent += piece as u64;
        while mbit_per_s > 0
            && sent as f64 * 8e-6 > began.elapsed().as_secs_f64() * mbit_per_s as f64
        {
            tokio::time::sleep(TICK).await;
        }
    }
    to.finish()?;
    Ok(())
}
