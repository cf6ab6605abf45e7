//! `commute link --pcap --audit`: the captured files agree with the audit.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::process::Command;

use common::{CommandOutput, Sandbox};

/// Receives a mebibyte over one TCP connection, and sends twenty datagrams that are echoed. Uses
/// plain sockets, so that the traffic does not depend on the tools of the machine.
const TRAFFIC: &str = r#"
import socket, sys
host, port = "far", int(sys.argv[1])
tcp = socket.create_connection((host, port))
tcp.sendall(b"send\n")
received = 0
while True:
    data = tcp.recv(65536)
    if not data: break
    received += len(data)
assert received == 1 << 20, received
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(20)
udp.connect((host, port))
for n in range(20):
    udp.send(bytes([n]) * 1000)
    assert udp.recv(2000) == bytes([n]) * 1000
"#;

#[test]
fn capture_contains_every_packet_that_the_audit_counts() {
    let sandbox = Sandbox::new();
    let Some(python) = common::find_program("python3") else {
        return testing::skip("python3 is missing");
    };
    let port = start_service();
    let forward = format!("8000=127.0.0.1:{port}");
    let output = sandbox
        .run(&[
            "link",
            "lan",
            "--forward",
            &forward,
            "--pcap",
            "captured",
            "--audit",
            "--",
            python.to_str().unwrap(),
            "-c",
            TRAFFIC,
            "8000",
        ])
        .exits_with(0);
    let packets = packets_sent(&output);
    // A mebibyte takes 725 segments of 1448 B.
    assert!(packets > 700, "{packets} packets: {output}");
    assert!(
        output.stderr.contains("drops outside the model: 0 "),
        "{output}"
    );

    if common::find_program("tshark").is_none() {
        return testing::skip("tshark is missing: apt-get install tshark");
    }
    let mut inbound = 0;
    for end in ["client", "server"] {
        let file = sandbox.work().join(format!("captured/{end}.pcapng"));
        // None is lost, so each end sees every packet.
        let direction = ["-T", "fields", "-e", "frame.packet_flags_direction"];
        let all = tshark(&file, &direction);
        assert_eq!(all.stdout.lines().count(), packets, "{end}: {all}");
        inbound += all
            .stdout
            .lines()
            .filter(|flag| flag.ends_with('1'))
            .count();
        let bad = tshark(
            &file,
            &[
                "-Y",
                "ip.checksum.status == Bad or tcp.checksum.status == Bad \
                 or udp.checksum.status == Bad or _ws.malformed",
            ],
        );
        assert_eq!(
            bad.stdout, "",
            "malformed packets at the {end}'s end: {bad}"
        );
        let good = tshark(&file, &["-Y", "udp.checksum.status == Good"]);
        assert_eq!(good.stdout.lines().count(), 40, "{end}: {good}");
    }
    assert_eq!(inbound, packets, "each packet is received at one end");
}

#[test]
fn folder_that_cannot_be_written_is_an_error_before_the_command_runs() {
    let sandbox = Sandbox::new();
    sandbox.write("file", "");
    sandbox
        .run(&["link", "lan", "--pcap", "file", "--", "touch", "ran"])
        .exits_with(125)
        .stderr_contains("--pcap file");
    assert!(!sandbox.work().join("ran").exists());
}

fn tshark(file: &Path, options: &[&str]) -> CommandOutput {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file);
    for check in [
        "ip.check_checksum",
        "tcp.check_checksum",
        "udp.check_checksum",
    ] {
        tshark.args(["-o", &format!("{check}:TRUE")]);
    }
    tshark.args(options);
    CommandOutput::of(tshark).exits_with(0)
}

/// Returns the number of packets sent in both directions, from the audit's lines.
fn packets_sent(output: &CommandOutput) -> usize {
    let packets: Vec<usize> = output
        .stderr
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let direction = words.next()?;
            let count = words.next()?.parse().ok()?;
            (["up", "down"].contains(&direction) && words.next()? == "packets").then_some(count)
        })
        .collect();
    assert_eq!(packets.len(), 2, "{output}");
    packets.iter().sum()
}

/// Starts a service on the host, on the same port number of TCP and UDP: it answers a line with a
/// mebibyte, and echoes datagrams.
fn start_service() -> u16 {
    let (tcp, udp) = loop {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // Another program may use this number for UDP; then try another one.
        if let Ok(udp) = std::net::UdpSocket::bind(tcp.local_addr().unwrap()) {
            break (tcp, udp);
        }
    };
    let port = tcp.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut client, _) = tcp.accept().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(&client)
            .read_line(&mut line)
            .unwrap();
        client.write_all(&vec![7; 1 << 20]).unwrap();
    });
    std::thread::spawn(move || {
        let mut datagram = [0; 2000];
        while let Ok((len, from)) = udp.recv_from(&mut datagram) {
            udp.send_to(&datagram[..len], from).unwrap();
        }
    });
    port
}
