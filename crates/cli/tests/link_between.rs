//! `commute link --between`: two machines, here two namespaces, with the link as their cable.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{House, is_root};

/// Two network namespaces, each with one end of a cable whose other end is on the host.
struct Machines;

impl Machines {
    fn new() -> Machines {
        let machines = Machines;
        for (n, (name, port)) in [
            (1, ("commute-t-phone", "ct-phone")),
            (2, ("commute-t-far", "ct-far")),
        ] {
            ip(&["netns", "add", name]);
            ip(&[
                "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", name,
            ]);
            // A phone's USB cable knows no frames of several packets.
            ip(&["-n", name, "link", "set", "eth0", "gso_max_segs", "1", "up"]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
            ip(&[
                "-n",
                name,
                "addr",
                "add",
                &format!("10.77.0.{n}/24"),
                "dev",
                "eth0",
            ]);
            ip(&["link", "set", port, "up"]);
        }
        machines
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        for name in ["commute-t-phone", "commute-t-far"] {
            ip(&["netns", "del", name]);
        }
    }
}

fn ip(args: &[&str]) {
    let status = Command::new("ip").args(args).status().unwrap();
    assert!(status.success(), "ip {}", args.join(" "));
}

/// Ends the server with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// What the phone does: one download over TLS, and how long it took to the first byte and whole.
const PHONE: &str = r#"
import hashlib, socket, ssl, sys, time
context = ssl.create_default_context(cafile=sys.argv[1])
begun = time.monotonic()
raw = socket.create_connection(("10.77.0.2", 8443), timeout=20)
tls = context.wrap_socket(raw, server_hostname="10.77.0.2")
tls.sendall(b"GET /bytes/100000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
data = tls.recv(65536)
first = time.monotonic() - begun
while True:
    more = tls.recv(65536)
    if not more:
        break
    data += more
print(f"{first:.4f} {len(data.split(bytes([13, 10, 13, 10]), 1)[1])}")
"#;

#[test]
fn two_machines_are_as_far_apart_as_the_network_says() {
    let has_ip = Command::new("ip").arg("-V").stdout(Stdio::null()).status();
    if !is_root() || has_ip.is_err() {
        return testing::skip("joining interfaces needs root and the command `ip`");
    }
    let house = House::new();
    let _machines = Machines::new();
    let credentials = house.work().join("credentials");
    let commute = env!("CARGO_BIN_EXE_commute");
    let server = Command::new("ip")
        .args(["netns", "exec", "commute-t-far", commute, "serve"])
        .args([
            "--listen",
            "10.77.0.2:8443",
            "--name",
            "10.77.0.2",
            "--credentials",
        ])
        .arg(&credentials)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _server = Ended(server);
    let ca = credentials.join("ca.pem");
    let until = Instant::now() + Duration::from_secs(20);
    while !ca.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    let phone = house.write("phone.py", PHONE);
    let said = house
        .run(&[
            "link",
            "4g-tether",
            "--between",
            "ct-phone",
            "ct-far",
            "--audit",
            "--",
            "ip",
            "netns",
            "exec",
            "commute-t-phone",
            "python3",
            phone.to_str().unwrap(),
            ca.to_str().unwrap(),
        ])
        .code(0);
    let mut words = said.out.split_whitespace();
    let first: f64 = words.next().unwrap().parse().unwrap();
    // Three round trips of 50 ms: known physics, of which only the lower bound is certain.
    assert!(first >= 0.150, "{first} s to the first byte");
    assert_eq!(words.next(), Some("100000"));
    said.complains("bridging ct-phone");
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    if !is_root() {
        return testing::skip("joining interfaces needs root");
    }
    let house = House::new();
    let args = ["link", "lan", "--between", "no-such-if", "lo"];
    house.run(&args).code(4).complains("no-such-if");
}
