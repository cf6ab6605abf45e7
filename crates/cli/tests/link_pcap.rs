//! `commute link --pcap --audit`: the file, the audit and tshark agree.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::process::Command;

use common::{House, Said};

/// A client of plain sockets, since the count must be the same wherever the test runs: one
/// TCP connection with a megabyte down, and twenty datagrams with their answers.
const TRAFFIC: &str = r#"
import socket, sys
host, port = "far", int(sys.argv[1])
tcp = socket.create_connection((host, port))
tcp.sendall(b"please\n")
got = 0
while True:
    piece = tcp.recv(65536)
    if not piece: break
    got += len(piece)
assert got == 1 << 20, got
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.settimeout(20)
udp.connect((host, port))
for n in range(20):
    udp.send(bytes([n]) * 1000)
    assert udp.recv(2000) == bytes([n]) * 1000
"#;

#[test]
fn tshark_reads_every_packet_that_the_audit_counts() {
    let house = House::new();
    let Some(python) = common::program("python3") else {
        return testing::skip("python3 is missing, so there is no traffic to capture");
    };
    let port = service();
    let forward = format!("8000=127.0.0.1:{port}");
    let said = house
        .run(&[
            "link",
            "lan",
            "--forward",
            &forward,
            "--pcap",
            "all.pcapng",
            "--audit",
            "--",
            python.to_str().unwrap(),
            "-c",
            TRAFFIC,
            "8000",
        ])
        .code(0);
    let counted = counted(&said);
    assert!(counted > 700, "a megabyte is 725 packets of 1448 B: {said}");
    assert!(said.err.contains("drops outside the model: 0 "), "{said}");

    if common::program("tshark").is_none() {
        return testing::skip("tshark is missing: apt-get install tshark");
    }
    let file = house.work().join("all.pcapng");
    // Each packet is there twice: as it came to the link and, nothing lost, as it left.
    let fields = [
        "-T",
        "fields",
        "-e",
        "frame.interface_name",
        "-e",
        "frame.packet_flags_direction",
    ];
    let all = tshark(&file, &fields);
    assert_eq!(all.out.lines().count(), 2 * counted, "{all}");
    for direction in ["1", "2"] {
        let seen = all.out.lines().filter(|line| line.ends_with(direction));
        assert_eq!(seen.count(), counted, "direction {direction}: {all}");
    }
    let bad = tshark(
        &file,
        &[
            "-Y",
            "ip.checksum.status == Bad or tcp.checksum.status == Bad \
             or udp.checksum.status == Bad or _ws.malformed",
        ],
    );
    assert_eq!(bad.out, "", "broken packets: {bad}");
    let good = tshark(&file, &["-Y", "udp.checksum.status == Good"]);
    assert_eq!(good.out.lines().count(), 2 * 40, "{good}");
}

fn tshark(file: &Path, options: &[&str]) -> Said {
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
    Said::of(tshark).code(0)
}

/// Packets sent, up and down, by the lines of the audit.
fn counted(said: &Said) -> usize {
    let packets: Vec<usize> = said
        .err
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let direction = words.next()?;
            let count = words.next()?.parse().ok()?;
            (["up", "down"].contains(&direction) && words.next()? == "packets").then_some(count)
        })
        .collect();
    assert_eq!(packets.len(), 2, "{said}");
    packets.iter().sum()
}

/// A service of the host: a megabyte for whoever says a line, and an echo of datagrams.
fn service() -> u16 {
    use std::io::{BufRead as _, Write as _};
    let (tcp, udp) = loop {
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // The same number may be taken over UDP; then another one is tried.
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
