//! A server on loopback that answers by the path, over HTTP/1.1: whole, in pieces, late, or wrong.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, LazyLock};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The paths, and what is answered. Connections end after one that does not say its length.
const ANSWERS: [(&str, &str); 6] = [
    (
        "/whole",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    ),
    (
        "/chunks",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nx-sum: 5\r\n\r\n",
    ),
    ("/cut", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"),
    ("/wrong", "220 mail.example ESMTP\r\n"),
    (
        "/large",
        "HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n",
    ),
    ("/silent", ""),
];
const LARGE: usize = 300_000;
/// Bytes that are read at once; a head that is longer is none.
const PIECE: usize = 8 << 10;

/// A server that runs as long as the process.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) urls: Vec<String>,
    pub(crate) roots_pem: String,
}

pub(crate) static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let (config, roots_pem) = tls();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has ports");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for tcp in listener.incoming() {
            let config = Arc::clone(&config);
            // A client may go at any time.
            std::thread::spawn(move || tcp.and_then(|tcp| serve(tcp, config)));
        }
    });
    let url = |(path, _): &(&str, &str)| format!("https://localhost:{port}{path}");
    Server {
        port,
        urls: ANSWERS.iter().map(url).collect(),
        roots_pem,
    }
});

/// Writes one buffer at a time: the standard library then sees to it that a client which has gone sends no
/// SIGPIPE. libFuzzer leaves that deadly, as C does, so that the library is tested under it.
struct OneByOne(TcpStream);

impl Read for OneByOne {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for OneByOne {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn serve(tcp: TcpStream, config: Arc<ServerConfig>) -> io::Result<()> {
    tcp.set_nodelay(true)?;
    let tls = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut tls = StreamOwned::new(tls, OneByOne(tcp));
    loop {
        let head = head(&mut tls)?;
        let path = head.split(' ').nth(1).unwrap_or("");
        let answer = ANSWERS.iter().find(|(known, _)| *known == path);
        let (path, answer) = answer.ok_or(io::ErrorKind::InvalidData)?;
        tls.write_all(answer.as_bytes())?;
        match *path {
            "/large" => tls.write_all(&vec![b'x'; LARGE])?,
            "/silent" => drop(tls.read_to_end(&mut Vec::new())?),
            "/cut" | "/wrong" => return Ok(()),
            _ => {}
        }
        if !head.starts_with("GET ") {
            // What follows may be a body.
            return Ok(());
        }
    }
}

/// Reads the head of a request, and what comes with it.
fn head(tls: &mut impl Read) -> io::Result<String> {
    let (mut head, mut piece) = (Vec::new(), [0; PIECE]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let got = tls.read(&mut piece)?;
        if got == 0 || head.len() > PIECE {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.extend_from_slice(&piece[..got]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn tls() -> (Arc<ServerConfig>, String) {
    let key = KeyPair::generate().expect("ring makes keys");
    let params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("ring signs");
    let der = PrivateKeyDer::try_from(key.serialize_der()).expect("PKCS #8");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], der);
    let mut config = config.expect("the key is the certificate's");
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Each handshake shows the certificate, so that it is checked.
    config.send_tls13_tickets = 0;
    (Arc::new(config), certificate.pem())
}
