//! A server on loopback and the drivers that talk to it.

use std::io::BufRead;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::JoinHandle;

use driver::protocol::{Hello, Protocol, Row, Setup, Step};
use driver::{RunAnswer, SetupAnswer};
use record::server_log::{ConnectionEvent, RequestEvent, ServerEvent, Transport};
use server::{Config, Server};
use tokio::sync::oneshot;

use super::{Driver, setup, soon};

pub struct Bench {
    folder: tempfile::TempDir,
    address: SocketAddr,
    mtls_address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

/// What the server saw.
pub struct Log {
    pub connections: Vec<ConnectionEvent>,
    pub requests: Vec<RequestEvent>,
}

pub fn program(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::H1 | Protocol::H2 => env!("CARGO_BIN_EXE_commute-driver-hyper"),
        Protocol::H3 => env!("CARGO_BIN_EXE_commute-driver-quinn"),
        Protocol::Grpc => env!("CARGO_BIN_EXE_commute-driver-tonic"),
    }
}

pub const ALL: [Protocol; 4] = [Protocol::H1, Protocol::H2, Protocol::H3, Protocol::Grpc];

impl Bench {
    pub fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let free: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let config = Config {
            listen: vec![free],
            mtls_listen: vec![free],
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
                bound.send(server.addresses()).unwrap();
                let stopped = async { stopped.await.unwrap_or_default() };
                server.run(stopped).await.unwrap();
            });
        });
        let addresses = addresses.recv().unwrap();
        let (address, mtls_address) = (addresses[0], addresses[1]);
        Self {
            folder,
            address,
            mtls_address,
            stop,
            thread,
        }
    }

    pub fn setup(&self, protocol: Protocol) -> Setup {
        let url = format!("https://localhost:{}", self.address.port());
        setup(&url, &self.file("ca.pem"), protocol)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

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

    /// Runs one driver through these steps; its rows.
    pub fn run(&self, setup: &Setup, steps: &[Step]) -> Vec<Row> {
        self.run_on(&[program(setup.protocol)], setup, steps)
    }

    pub fn run_on(&self, command: &[&str], setup: &Setup, steps: &[Step]) -> Vec<Row> {
        let mut driver = Driver::start(command, &[]);
        driver.host.hello(soon()).unwrap();
        assert_eq!(
            driver.host.setup(setup, soon()).unwrap(),
            SetupAnswer::Ready
        );
        let answer = driver.host.run(steps, soon()).unwrap();
        driver.close();
        match answer {
            RunAnswer::Rows(rows) => rows,
            RunAnswer::Unsupported { what, reason } => panic!("{what}: {reason}"),
        }
    }

    /// Stops the server and reads its log.
    pub fn stop(self) -> Log {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap();
        let file = std::fs::File::open(self.folder.path().join("log")).unwrap();
        let mut log = Log {
            connections: Vec::new(),
            requests: Vec::new(),
        };
        for line in std::io::BufReader::new(file).lines() {
            match serde_json::from_str(&line.unwrap()).unwrap() {
                ServerEvent::Connection(connection) => log.connections.push(connection),
                ServerEvent::Request(request) => log.requests.push(request),
            }
        }
        log
    }

    fn file(&self, name: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        path.to_str().unwrap().into()
    }
}

impl Log {
    /// Every row was seen by the server, once, as the row says.
    pub fn agrees_with(&self, rows: &[Row]) {
        for row in rows {
            assert_eq!(row.error, None, "{row:?}");
            let hits: Vec<_> = self
                .requests
                .iter()
                .filter(|hit| hit.id == Some(row.id))
                .collect();
            let [hit] = hits[..] else {
                panic!("{row:?} was seen as {hits:?}")
            };
            let connection = self.connection(hit);
            assert_eq!(
                row.local_port,
                Some(connection.peer_port),
                "{row:?} {hit:?}"
            );
            assert_eq!(row.resumed, connection.resumed, "{row:?} {connection:?}");
            assert_eq!(row.early_data, hit.early_data, "{row:?} {hit:?}");
            assert_eq!(row.request_bytes, hit.request_bytes, "{row:?} {hit:?}");
            assert_eq!(row.response_bytes, hit.response_bytes, "{row:?} {hit:?}");
            assert_eq!(
                row.digest.as_ref(),
                Some(&hit.response_digest),
                "{row:?} {hit:?}"
            );
            assert_eq!(row.status, Some(hit.status), "{row:?} {hit:?}");
            assert_eq!(row.attempts, 1, "{row:?}");
            let (protocol, transport) = match row.protocol.unwrap() {
                Protocol::H1 => ("http/1.1", Transport::Tcp),
                Protocol::H2 => ("h2", Transport::Tcp),
                Protocol::H3 => ("h3", Transport::Quic),
                Protocol::Grpc => ("grpc", Transport::Tcp),
            };
            assert_eq!(
                (hit.protocol.as_str(), connection.transport),
                (protocol, transport)
            );
            assert!(
                row.start_ns <= hit.start_ns && hit.start_ns <= row.end_ns,
                "{row:?} {hit:?}"
            );
        }
    }

    /// The server's number of the connection that carried a row.
    pub fn connection_of(&self, row: &Row) -> u64 {
        self.requests
            .iter()
            .find(|hit| hit.id == Some(row.id))
            .unwrap()
            .connection
    }

    fn connection(&self, hit: &RequestEvent) -> &ConnectionEvent {
        self.connections
            .iter()
            .find(|line| line.connection == hit.connection)
            .unwrap()
    }
}

/// Also asks the driver who it is.
pub fn hello(protocol: Protocol) -> Hello {
    let mut driver = Driver::start(&[program(protocol)], &[]);
    let hello = driver.host.hello(soon()).unwrap();
    driver.close();
    hello
}
