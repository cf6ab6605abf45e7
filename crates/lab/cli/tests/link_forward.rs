//! `commute link --forward`: commands reach a service on the host's loopback over TCP and QUIC, as
//! root and as an ordinary user.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use common::command::Running;
use common::server::Server;
use common::{CommandOutput, Sandbox, User, users};

/// Starts a server on the host's loopback whose certificate is for the far end of the link.
fn start_server(sandbox: &Sandbox) -> Server {
    Server::start(sandbox, &[], "127.0.0.1:0", "far")
}

/// Returns `commute link basic.toml --forward 8443=127.0.0.1:PORT -- CMD`.
fn link(sandbox: &Sandbox, user: User, port: u16, command: &[&str]) -> Command {
    sandbox.write("basic.toml", common::study::BASIC_NETWORK);
    let forward = format!("8443=127.0.0.1:{port}");
    let args = [
        &["link", "basic.toml", "--forward", &forward, "--"],
        command,
    ]
    .concat();
    sandbox.commute_as(user, &args)
}

#[test]
fn curl_reaches_the_server_over_tcp() {
    if common::find_program("curl").is_none() {
        return testing::skip("curl is missing");
    }
    for user in users() {
        let sandbox = Sandbox::new();
        let server = start_server(&sandbox);
        for version in ["--http1.1", "--http2"] {
            let url = "https://far:8443/bytes/100000";
            let curl = [
                "curl", "-sS", "--fail", "--cacert", "ca.pem", version, "-o", "body", url,
            ];
            let command = link(&sandbox, user, server.address.port(), &curl);
            CommandOutput::of(command)
                .exits_with(0)
                .stderr_contains("-> 127.0.0.1:")
                .stderr_contains("proxied");
            let body = sandbox.work().join("body");
            let bytes = fs::metadata(&body).unwrap().len();
            assert_eq!(bytes, 100_000, "{user:?} {version}");
            fs::remove_file(body).unwrap();
        }
    }
}

#[test]
fn drivers_reach_the_server_over_tcp_and_quic() {
    for user in users() {
        for (name, protocol) in [("hyper", "h2"), ("quinn", "h3")] {
            let sandbox = Sandbox::new();
            let server = start_server(&sandbox);
            let row = run_driver(&sandbox, user, &server, name, protocol);
            assert!(row.contains("\"status\":200"), "{user:?} {protocol}: {row}");
            assert!(row.contains("\"response_bytes\":50000"), "{user:?}: {row}");
            assert!(
                row.contains(&format!("\"protocol\":\"{protocol}\"")),
                "{row}"
            );
        }
    }
}

/// Has a driver make one request over the link, and returns its row.
fn run_driver(
    sandbox: &Sandbox,
    user: User,
    server: &Server,
    driver: &str,
    protocol: &str,
) -> String {
    let program = sandbox.work().join("driver");
    fs::copy(env!("CARGO_BIN_EXE_commute"), &program).unwrap();
    let program = program.to_str().unwrap();
    let requests = [
        r#"{"type":"hello","version":2}"#.to_owned(),
        format!(
            r#"{{"type":"setup","url":"https://far:8443","ca_file":"{}","protocol":"{protocol}","codec":"json","timeout_ns":30000000000}}"#,
            server.ca.display()
        ),
        r#"{"type":"run","steps":[{"id":1,"group":1,"step":"get","bytes":50000}]}"#.to_owned(),
        r#"{"type":"close"}"#.to_owned(),
    ];
    sandbox.write("requests", &(requests.join("\n") + "\n"));
    let replies = sandbox.write("replies", "");
    fs::set_permissions(&replies, fs::Permissions::from_mode(0o666)).unwrap();
    let mut command = link(
        sandbox,
        user,
        server.address.port(),
        &[program, "driver", driver],
    );
    command
        .env("COMMUTE_IN", sandbox.work().join("requests"))
        .env("COMMUTE_OUT", &replies);
    let output = CommandOutput::of(command).exits_with(0);
    let replies = fs::read_to_string(replies).unwrap();
    let row = replies.lines().find(|line| line.contains("\"row\""));
    row.unwrap_or_else(|| panic!("no row: {replies}{output}"))
        .to_owned()
}

#[test]
fn refused_connections_are_reset() {
    let Some(python) = common::find_program("python3") else {
        return testing::skip("python3 is missing");
    };
    let script = "
import socket
s = socket.create_connection(('far', 8443), timeout=30)
try:
    s.sendall(b'hello')
    print(repr(s.recv(1)))
except ConnectionResetError:
    print('reset')
";
    let sandbox = Sandbox::new();
    // Nothing listens on a port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let python = [python.to_str().unwrap(), "-c", script];
    let output = CommandOutput::of(link(&sandbox, User::Caller, port, &python)).exits_with(0);
    assert_eq!(output.stdout, "reset\n", "{output}");
}

#[test]
fn half_close_is_relayed() {
    let Some(python) = common::find_program("python3") else {
        return testing::skip("python3 is missing");
    };
    // The service answers only after it has read to the end of the question.
    let script = "
import socket
s = socket.create_connection(('far', 8443), timeout=30)
s.sendall(b'question')
s.shutdown(socket.SHUT_WR)
print(s.makefile().read())
";
    let sandbox = Sandbox::new();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    let python = [python.to_str().unwrap(), "-c", script];
    let running = Running::start(link(&sandbox, User::Caller, port, &python));
    let (mut client, _) = service.accept().unwrap();
    let mut question = String::new();
    client.read_to_string(&mut question).unwrap();
    assert_eq!(question, "question");
    client.write_all(b"answer").unwrap();
    drop(client);
    let output = running.finish().exits_with(0);
    assert_eq!(output.stdout, "answer\n", "{output}");
}

#[test]
fn relay_survives_a_shortage_of_descriptors() {
    let Some(python) = common::find_program("python3") else {
        return testing::skip("python3 is missing");
    };
    // Each connection takes two descriptors of the relay. All are held at once, and more than the
    // limit allows; then three that come one by one must be answered.
    let script = "
import socket
def connect():
    s = socket.create_connection(('far', 8443), timeout=30)
    s.sendall(b'x')
    return s
def answered(s):
    try:
        return s.recv(1) == b'x'
    except OSError:
        return False
held = [connect() for _ in range(90)]
some = answered(held[0])
for s in held:
    s.close()
later = 0
while later < 3:
    s = connect()
    later += answered(s)
    s.close()
print(some, later)
";
    let sandbox = Sandbox::new();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in service.incoming() {
            let mut client = client.unwrap();
            std::thread::spawn(move || {
                let mut byte = [0];
                if client.read_exact(&mut byte).is_ok() {
                    client.write_all(&byte).ok();
                }
                // Until the client closes.
                client.read_exact(&mut byte).ok();
            });
        }
    });
    let python = [python.to_str().unwrap(), "-c", script];
    let link = link(&sandbox, User::Caller, port, &python);
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "ulimit -n 100 && exec \"$0\" \"$@\""])
        .arg(link.get_program())
        .args(link.get_args());
    sandbox.configure(&mut limited, User::Caller);
    let output = CommandOutput::of(limited).exits_with(0);
    assert_eq!(output.stdout, "True 3\n", "{output}");
}

#[test]
fn a_thousand_flows_are_relayed_at_once() {
    let Some(python) = common::find_program("python3") else {
        return testing::skip("python3 is missing");
    };
    let script = "
import resource, socket
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
def tcp():
    return socket.create_connection(('far', 8443), timeout=60)
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(60)
    s.connect(('far', 8443))
    return s
for opened in tcp, udp:
    flows = []
    for i in range(1000):
        s = opened()
        s.send(i.to_bytes(2, 'big'))
        assert s.recv(2) == i.to_bytes(2, 'big')
        flows.append(s)
    # All are still open.
    for s in flows:
        s.send(b'zz')
        assert s.recv(2) == b'zz'
    print(len(flows))
";
    let sandbox = Sandbox::new();
    let hard = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
    if hard.is_some_and(|hard| hard < 4096) {
        return testing::skip("the hard limit of descriptors is below 4096");
    }
    let limit = rustix::process::Rlimit {
        current: hard,
        maximum: hard,
    };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).unwrap();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = service.local_addr().unwrap();
    let datagrams = std::net::UdpSocket::bind(address).unwrap();
    std::thread::spawn(move || {
        for client in service.incoming() {
            let mut client = client.unwrap();
            std::thread::spawn(move || {
                let mut bytes = [0; 2];
                while client.read_exact(&mut bytes).is_ok() {
                    client.write_all(&bytes).unwrap();
                }
            });
        }
    });
    std::thread::spawn(move || {
        let mut bytes = [0; 2];
        loop {
            let (_, from) = datagrams.recv_from(&mut bytes).unwrap();
            datagrams.send_to(&bytes, from).unwrap();
        }
    });
    let forward = format!("8443={address}");
    let python = python.to_str().unwrap();
    let args = [
        "link",
        "lan",
        "--forward",
        &forward,
        "--",
        python,
        "-c",
        script,
    ];
    let output = sandbox.run(&args).exits_with(0);
    assert_eq!(output.stdout, "1000\n1000\n", "{output}");
}
