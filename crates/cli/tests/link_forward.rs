//! `commute link --forward`: a service of the host's loopback, reached across the link over
//! TCP and QUIC, as root and as an ordinary user.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::command::Running;
use common::{House, Said, Who, driver, everybody};

/// `commute serve` on the host's loopback. Killed when dropped.
struct Server {
    child: Child,
    port: u16,
    credentials: PathBuf,
}

impl Server {
    fn start(house: &House) -> Server {
        let credentials = house.work().join("credentials");
        let mut child = house
            .commute(&[
                "serve",
                "--json",
                "--listen",
                "127.0.0.1:0",
                "--name",
                "far",
            ])
            .arg("--credentials")
            .arg(&credentials)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let port = line
            .split(|c: char| !c.is_ascii_digit())
            .rfind(|digits| !digits.is_empty())
            .and_then(|digits| digits.parse().ok())
            .unwrap_or_else(|| panic!("no port in {line:?}"));
        let server = Server {
            child,
            port,
            credentials,
        };
        // The certificate is public; its folder is not, since the client's key lies there.
        fs::copy(
            server.credentials.join("ca.pem"),
            house.work().join("ca.pem"),
        )
        .unwrap();
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// `commute link gentle.toml --forward 8443=127.0.0.1:PORT -- CMD`.
fn link(house: &House, who: Who, port: u16, command: &[&str]) -> Command {
    house.write("gentle.toml", common::study::GENTLE);
    let forward = format!("8443=127.0.0.1:{port}");
    let args = [
        &["link", "gentle.toml", "--forward", &forward, "--"],
        command,
    ]
    .concat();
    house.commute_as(who, &args)
}

#[test]
fn curl_reaches_the_server_over_tcp() {
    if common::program("curl").is_none() {
        return testing::skip("curl is missing");
    }
    for who in everybody() {
        let house = House::new();
        let server = Server::start(&house);
        for version in ["--http1.1", "--http2"] {
            let url = "https://far:8443/bytes/100000";
            let curl = [
                "curl", "-sS", "--fail", "--cacert", "ca.pem", version, "-o", "got", url,
            ];
            Said::of(link(&house, who, server.port, &curl))
                .code(0)
                .complains("-> 127.0.0.1:")
                .complains("proxied");
            let got = house.work().join("got");
            assert_eq!(
                fs::metadata(&got).unwrap().len(),
                100_000,
                "{who:?} {version}"
            );
            fs::remove_file(got).unwrap();
        }
        drop(server);
    }
}

#[test]
fn drivers_reach_the_server_over_tcp_and_quic() {
    for who in everybody() {
        for (name, protocol) in [
            ("commute-driver-hyper", "h2"),
            ("commute-driver-quinn", "h3"),
        ] {
            let house = House::new();
            let server = Server::start(&house);
            let row = drive(&house, who, &server, &driver(name), protocol);
            assert!(row.contains("\"status\":200"), "{who:?} {protocol}: {row}");
            assert!(row.contains("\"response_bytes\":50000"), "{who:?}: {row}");
            assert!(
                row.contains(&format!("\"protocol\":\"{protocol}\"")),
                "{row}"
            );
            drop(server);
        }
    }
}

/// Has a driver fetch a file over the link, by the protocol of all drivers; its row.
fn drive(house: &House, who: Who, server: &Server, driver: &Path, protocol: &str) -> String {
    let program = house.work().join("driver");
    fs::copy(driver, &program).unwrap();
    let ca = house.work().join("ca.pem");
    let requests = [
        r#"{"type":"hello","version":2}"#.to_owned(),
        format!(
            r#"{{"type":"setup","url":"https://far:8443","ca_file":"{}","protocol":"{protocol}","codec":"json","timeout_ns":30000000000}}"#,
            ca.display()
        ),
        r#"{"type":"run","steps":[{"id":1,"group":1,"step":"get","bytes":50000}]}"#.to_owned(),
        r#"{"type":"close"}"#.to_owned(),
    ];
    house.write("requests", &(requests.join("\n") + "\n"));
    let replies = house.write("replies", "");
    fs::set_permissions(&replies, fs::Permissions::from_mode(0o666)).unwrap();
    let mut command = link(house, who, server.port, &[program.to_str().unwrap()]);
    command
        .env("COMMUTE_IN", house.work().join("requests"))
        .env("COMMUTE_OUT", &replies);
    let said = Said::of(command).code(0);
    let replies = fs::read_to_string(replies).unwrap();
    let row = replies.lines().find(|line| line.contains("\"row\""));
    row.unwrap_or_else(|| panic!("no row: {replies}{said}"))
        .to_owned()
}

#[test]
fn a_refusal_is_relayed_as_an_error() {
    let Some(python) = common::program("python3") else {
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
    let house = House::new();
    // A port that was free a moment ago: nothing listens there.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let python = [python.to_str().unwrap(), "-c", script];
    let said = Said::of(link(&house, Who::Caller, port, &python)).code(0);
    assert_eq!(said.out, "reset\n", "{said}");
}

#[test]
fn a_half_close_is_relayed() {
    let Some(python) = common::program("python3") else {
        return testing::skip("python3 is missing");
    };
    // The answer comes only after the service has seen the end of the question.
    let script = "
import socket
s = socket.create_connection(('far', 8443), timeout=30)
s.sendall(b'question')
s.shutdown(socket.SHUT_WR)
print(s.makefile().read())
";
    let house = House::new();
    let service = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    let python = [python.to_str().unwrap(), "-c", script];
    let running = Running::start(link(&house, Who::Caller, port, &python));
    let (mut client, _) = service.accept().unwrap();
    let mut question = String::new();
    client.read_to_string(&mut question).unwrap();
    assert_eq!(question, "question");
    client.write_all(b"answer").unwrap();
    drop(client);
    let said = running.end().code(0);
    assert_eq!(said.out, "answer\n", "{said}");
}
