//! The server on loopback, its log, and the drivers that use it.

use std::io::BufRead;
use std::net::SocketAddr;
use std::thread::JoinHandle;

use driver::clock::monotonic_ns;
use driver::protocol::{Auth, Hello, Protocol, Row, Setup, Step};
use driver::{RunAnswer, SetupAnswer};
use record::server_log::{ConnectionEvent, RequestEvent, ServerEvent, Transport};
use server::{AuthScheme, Config, KEY_ID, Server};
use tokio::sync::oneshot;

use super::{Driver, deadline, rust_driver, setup};

pub const PROTOCOLS: [Protocol; 4] = [Protocol::H1, Protocol::H2, Protocol::H3, Protocol::Grpc];

/// A server in a thread of its own, and the folder with its credentials and log.
pub struct TestServer {
    folder: tempfile::TempDir,
    address: SocketAddr,
    mtls_address: SocketAddr,
    plaintext_address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// The server's log.
pub struct ServerLog {
    pub connections: Vec<ConnectionEvent>,
    pub requests: Vec<RequestEvent>,
}

/// Returns the command of the Rust driver for this protocol.
pub fn driver_for(protocol: Protocol) -> [&'static str; 2] {
    rust_driver(match protocol {
        Protocol::H1 | Protocol::H2 => "hyper",
        Protocol::H3 => "quinn",
        Protocol::Grpc => "tonic",
        Protocol::Auto => "client",
    })
}

impl TestServer {
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// Starts a server that demands this of every request.
    pub fn start_with(auth: Option<AuthScheme>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let config = Config {
            listen: vec![free],
            mtls_listen: vec![free],
            plaintext_listen: vec![free],
            auth,
            names: vec!["localhost".into(), "127.0.0.1".into()],
            early_data: true,
            credentials_dir: Some(folder.path().into()),
            log: Some(std::fs::File::create(folder.path().join("log")).unwrap()),
            ..Config::default()
        };
        let (stop, stopped) = oneshot::channel::<()>();
        let (bound, addresses) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let server = Server::bind(config).await.unwrap();
                let plaintext = server.plaintext_addresses();
                bound.send((server.addresses(), plaintext)).unwrap();
                let stopped = async { stopped.await.unwrap_or_default() };
                server.run(stopped).await.unwrap();
            });
        });
        let (addresses, plaintext) = addresses.recv().unwrap();
        let (address, mtls_address) = (addresses[0], addresses[1]);
        Self {
            folder,
            address,
            mtls_address,
            plaintext_address: plaintext[0],
            stop,
            thread,
        }
    }

    pub fn setup(&self, protocol: Protocol) -> Setup {
        let url = format!("https://localhost:{}", self.address.port());
        setup(&url, &self.file("ca.pem"), protocol)
    }

    /// Returns a setup whose requests carry what a server of [`start_with`](Self::start_with)
    /// demands.
    pub fn auth_setup(&self, protocol: Protocol, scheme: AuthScheme) -> Setup {
        let auth = match scheme {
            AuthScheme::Jwt => Auth::Jwt {
                token_file: self.file("token.jwt"),
            },
            AuthScheme::Hmac => Auth::Hmac {
                key_id: KEY_ID.into(),
                key_file: self.file("hmac.key"),
            },
        };
        Setup {
            auth: Some(auth),
            ..self.setup(protocol)
        }
    }

    pub fn plaintext_setup(&self, protocol: Protocol) -> Setup {
        Setup {
            url: format!("http://localhost:{}", self.plaintext_address.port()),
            ..self.setup(protocol)
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns a setup like [`setup`](Self::setup), with an IP address in the URL.
    pub fn setup_by_address(&self, protocol: Protocol) -> Setup {
        let url = format!("https://{}", self.address);
        Setup {
            url,
            ..self.setup(protocol)
        }
    }

    pub fn mtls_setup(&self, protocol: Protocol) -> Setup {
        Setup {
            url: format!("https://localhost:{}", self.mtls_address.port()),
            client_cert_file: Some(self.file("client.pem")),
            client_key_file: Some(self.file("client.key")),
            ..self.setup(protocol)
        }
    }

    /// Runs the protocol's driver through these steps and returns its rows.
    pub fn run(&self, setup: &Setup, steps: &[Step]) -> Vec<Row> {
        self.run_on(&driver_for(setup.protocol), setup, steps)
    }

    /// Runs any driver through these steps and returns its rows.
    pub fn run_on(&self, command: &[&str], setup: &Setup, steps: &[Step]) -> Vec<Row> {
        self.run_and_time(command, setup, steps).1
    }

    /// Runs steps like [`run_on`](Self::run_on); also returns when the run was sent
    /// (`CLOCK_MONOTONIC`).
    pub fn run_and_time(&self, command: &[&str], setup: &Setup, steps: &[Step]) -> (u64, Vec<Row>) {
        let mut driver = Driver::start(command);
        driver.host.hello(deadline()).unwrap();
        assert_eq!(
            driver.host.setup(setup, deadline()).unwrap(),
            SetupAnswer::Ready
        );
        let sent_ns = monotonic_ns();
        let answer = driver.host.run(steps, deadline()).unwrap();
        driver.close();
        match answer {
            RunAnswer::Rows(rows) => (sent_ns, rows),
            RunAnswer::Unsupported { what, reason } => panic!("{what}: {reason}"),
        }
    }

    /// Stops the server and returns its log.
    pub fn stop(self) -> ServerLog {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
        let file = std::fs::File::open(self.folder.path().join("log")).unwrap();
        let mut log = ServerLog {
            connections: Vec::new(),
            requests: Vec::new(),
        };
        for line in std::io::BufReader::new(file).lines() {
            match serde_json::from_str(&line.unwrap()).unwrap() {
                ServerEvent::Connection(connection) => log.connections.push(connection),
                ServerEvent::Request(request) => log.requests.push(request),
                ServerEvent::Refused(_) | ServerEvent::Closed(_) => {}
            }
        }
        log
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().into()
    }
}

impl ServerLog {
    /// Asserts that every row is of a successful call that the server logged once and in the
    /// same way.
    pub fn assert_agrees_with(&self, rows: &[Row]) {
        for row in rows {
            assert_eq!(row.error, None, "{row:?}");
            let events: Vec<_> = self
                .requests
                .iter()
                .filter(|event| event.id == Some(row.id))
                .collect();
            let [event] = events[..] else {
                panic!("{row:?} was logged as {events:?}")
            };
            let connection = self.connection(event);
            assert_eq!(
                row.local_port,
                Some(connection.peer_port),
                "{row:?} {event:?}"
            );
            assert_eq!(
                row.resumed,
                Some(connection.resumed),
                "{row:?} {connection:?}"
            );
            assert_eq!(row.early_data, event.early_data, "{row:?} {event:?}");
            assert_eq!(row.request_bytes, event.request_bytes, "{row:?} {event:?}");
            assert_eq!(
                row.response_bytes, event.response_bytes,
                "{row:?} {event:?}"
            );
            assert_eq!(
                row.digest.as_ref(),
                Some(&event.response_digest),
                "{row:?} {event:?}"
            );
            assert_eq!(row.status, Some(event.status), "{row:?} {event:?}");
            assert_eq!(row.attempts, 1, "{row:?}");
            let (protocol, transport) = match row.protocol.unwrap() {
                Protocol::H1 => ("http/1.1", Transport::Tcp),
                Protocol::H2 => ("h2", Transport::Tcp),
                Protocol::H3 => ("h3", Transport::Quic),
                Protocol::Grpc => ("grpc", Transport::Tcp),
                Protocol::Auto => panic!("a row names the protocol that was spoken: {row:?}"),
            };
            assert_eq!(
                (event.protocol.as_str(), connection.transport),
                (protocol, transport)
            );
            assert!(
                row.start_ns <= event.start_ns && event.start_ns <= row.end_ns,
                "{row:?} {event:?}"
            );
        }
    }

    /// Returns the event of the request with this id.
    pub fn request(&self, id: u32) -> &RequestEvent {
        let mut requests = self.requests.iter();
        requests.find(|request| request.id == Some(id)).unwrap()
    }

    /// Returns the server's number of the connection that carried a call.
    pub fn connection_of(&self, row: &Row) -> u64 {
        self.request(row.id).connection
    }

    fn connection(&self, request: &RequestEvent) -> &ConnectionEvent {
        self.connections
            .iter()
            .find(|event| event.connection == request.connection)
            .unwrap()
    }
}

/// Returns the hello of the protocol's driver.
pub fn hello(protocol: Protocol) -> Hello {
    let mut driver = Driver::start(&driver_for(protocol));
    let hello = driver.host.hello(deadline()).unwrap();
    driver.close();
    hello
}
