//! `commute link --between`, with a network namespace in place of each of the two machines.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::process::{Command, Stdio};

use common::server::Server;
use common::{Sandbox, is_root};

/// Makes one request over TLS from the phone. Prints the seconds until the first byte, and the
/// length of the body.
const PHONE: &str = r#"
import socket, ssl, sys, time
context = ssl.create_default_context(cafile=sys.argv[1])
start = time.monotonic()
tcp = socket.create_connection(("10.77.0.2", 8443), timeout=20)
tls = context.wrap_socket(tcp, server_hostname="10.77.0.2")
tls.sendall(b"GET /bytes/100000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
data = tls.recv(65536)
first_byte = time.monotonic() - start
while True:
    more = tls.recv(65536)
    if not more:
        break
    data += more
print(f"{first_byte:.4f} {len(data.split(bytes([13, 10, 13, 10]), 1)[1])}")
"#;

/// Two network namespaces, each connected to the host by a veth pair.
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
            // A frame is one packet, as on a phone's USB cable: no segmentation offload.
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

#[test]
fn link_delays_packets_between_two_machines() {
    let has_ip = Command::new("ip").arg("-V").stdout(Stdio::null()).status();
    if !is_root() || has_ip.is_err() {
        return testing::skip("bridging interfaces needs root and the command `ip`");
    }
    let sandbox = Sandbox::new();
    let _machines = Machines::new();
    let far = ["ip", "netns", "exec", "commute-t-far"];
    let server = Server::start(&sandbox, &far, "10.77.0.2:8443", "10.77.0.2");
    let script = sandbox.write("phone.py", PHONE);
    let output = sandbox
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
            script.to_str().unwrap(),
            server.ca.to_str().unwrap(),
        ])
        .exits_with(0);
    let mut words = output.stdout.split_whitespace();
    let first_byte: f64 = words.next().unwrap().parse().unwrap();
    // TCP handshake, TLS handshake and request take a round trip of 50 ms each. There is no upper
    // bound, since a busy machine can only add to that.
    assert!(first_byte >= 0.150, "{first_byte} s to the first byte");
    assert_eq!(words.next(), Some("100000"));
    output.stderr_contains("bridging ct-phone");
}

#[test]
fn error_names_the_missing_interface() {
    if !is_root() {
        return testing::skip("bridging interfaces needs root");
    }
    let sandbox = Sandbox::new();
    let args = ["link", "lan", "--between", "no-such-if", "lo"];
    sandbox
        .run(&args)
        .exits_with(2)
        .stderr_contains("no-such-if");
}
