//! A server of the test's own.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use rustls::ServerConfig;

use crate::NAME;
use crate::common::Sandbox;

/// A server over HTTP/1.1 that answers every request alike.
pub(crate) struct Answering {
    pub(crate) address: SocketAddr,
    pub(crate) requests: Arc<AtomicUsize>,
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Answering {
    pub(crate) fn start(
        config: &Arc<ServerConfig>,
        address: SocketAddr,
        response: &str,
    ) -> Answering {
        let listener = TcpListener::bind(address).unwrap();
        let address = listener.local_addr().unwrap();
        let (requests, ends) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (config, response) = (Arc::clone(config), response.to_owned());
        let (counted, ended) = (Arc::clone(&requests), Arc::clone(&ends));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let (config, counted) = (Arc::clone(&config), Arc::clone(&counted));
                let (stream, response) = (stream.unwrap(), response.clone());
                std::thread::spawn(move || answer(stream, config, &response, &counted));
            }
        });
        Answering {
            address,
            requests,
            ends,
            thread,
        }
    }

    /// Closes its port.
    pub(crate) fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        self.thread.join().unwrap();
    }
}

/// Makes the server's key, and writes its authority to `ca.pem`.
pub(crate) fn make_credentials(sandbox: &Sandbox) -> Arc<ServerConfig> {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut authority = rcgen::CertificateParams::default();
    authority.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    sandbox.write("ca.pem", &authority.self_signed(&key).unwrap().pem());
    let issuer = rcgen::Issuer::new(authority, key);
    let own = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new([NAME.to_owned()]).unwrap();
    let leaf = leaf.signed_by(&own, &issuer).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(own.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    Arc::new(config)
}

fn answer(stream: TcpStream, config: Arc<ServerConfig>, response: &str, counted: &AtomicUsize) {
    let connection = rustls::ServerConnection::new(config).unwrap();
    let mut stream = BufReader::new(rustls::StreamOwned::new(connection, stream));
    let mut line = String::new();
    // Connections without a request, which measure the round trip, end here.
    while stream.read_line(&mut line).is_ok_and(|length| length > 0) {
        if line == "\r\n" {
            counted.fetch_add(1, Ordering::Relaxed);
            stream.get_mut().write_all(response.as_bytes()).unwrap();
        }
        line.clear();
    }
}
