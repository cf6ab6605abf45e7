//! Files of every format, and malformed ones.

use super::*;

/// A time and a frame.
type Frame = (u64, Vec<u8>);
type Frames = Vec<Frame>;

/// What the frames show.
const PARTS: [(Part, u64); 3] = [
    (Part::TcpHandshake, 50),
    (Part::Exchange, 50),
    (Part::Unexplained, 80),
];

/// Returns the frames of a request and its response, at the client.
fn frames() -> Frames {
    let mut talk = Talk::new();
    let connected = talk.open(0);
    let asked = talk.data(UP, connected, 200);
    talk.data(DOWN, asked + 80 * MS, 300);
    talk.frames[0].clone()
}

/// Returns the frames with another header in front of their IP packets.
fn with_link(frame: impl Fn(&[u8]) -> Vec<u8>) -> Frames {
    let frames = frames().into_iter();
    frames
        .map(|(at_ns, ethernet)| (at_ns, frame(&ethernet[14..])))
        .collect()
}

fn block(kind: u32, body: &[u8], is_big: bool) -> Vec<u8> {
    let word = |word: u32| {
        if is_big {
            word.to_be_bytes()
        } else {
            word.to_le_bytes()
        }
    };
    let length = word(body.len() as u32 + 12);
    [&word(kind)[..], &length, body, &length].concat()
}

/// Returns a file of pcapng whose interface has options, with times in units per second.
fn pcapng(frames: &[Frame], options: &[u8], units: u128, is_big: bool) -> Vec<u8> {
    let word = |word: u32| {
        if is_big {
            word.to_be_bytes()
        } else {
            word.to_le_bytes()
        }
    };
    let half = |half: u16| {
        if is_big {
            half.to_be_bytes()
        } else {
            half.to_le_bytes()
        }
    };
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let interface = [&half(ETHERNET)[..], &[0; 6], options].concat();
    let mut file = block(0x0a0d_0d0a, &section, is_big);
    file.extend(block(1, &interface, is_big));
    for (at_ns, frame) in frames {
        let at = u128::from(*at_ns) * units / 1_000_000_000;
        let length = word(frame.len() as u32);
        let mut body = [
            word(0),
            word((at >> 32) as u32),
            word(at as u32),
            length,
            length,
        ]
        .concat();
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        file.extend(block(6, &body, is_big));
    }
    file
}

fn explained(file: &[u8]) -> Explained {
    let capture = Capture::read("a.pcap", file).unwrap();
    explain(&[capture], None).unwrap()
}

#[track_caller]
fn check(file: &[u8]) {
    let found = explained(file);
    assert_eq!(parts(&found, 0), PARTS);
}

#[test]
fn every_link_type_is_read() {
    let vlan = |ip: &[u8]| [&[0; 12][..], &[0x81, 0, 0, 7, 8, 0], ip].concat();
    let links: [(u16, Frames); 8] = [
        (1, frames()),
        (1, with_link(vlan)),
        (101, with_link(<[u8]>::to_vec)),
        (228, with_link(<[u8]>::to_vec)),
        (113, with_link(|ip| [&[0; 14][..], &[8, 0], ip].concat())),
        (276, with_link(|ip| [&[8, 0][..], &[0; 18], ip].concat())),
        (0, with_link(|ip| [&[2, 0, 0, 0], ip].concat())),
        (108, with_link(|ip| [&[0, 0, 0, 2], ip].concat())),
    ];
    for (link, frames) in links {
        let found = explained(&pcap(link, &frames));
        assert_eq!(parts(&found, 0), PARTS, "link type {link}");
    }
}

#[test]
fn ipv6_is_read_with_its_extensions() {
    let of_six = |ip: &[u8]| {
        let length = (ip.len() - 20 + 8) as u16;
        let address = |at: usize| [&[0xfd; 12][..], &ip[at..at + 4]].concat();
        let fixed = [&[0x60, 0, 0, 0][..], &length.to_be_bytes(), &[60, 64]].concat();
        // Options for the destination: padding.
        let options = [6, 0, 1, 4, 0, 0, 0, 0];
        [&fixed[..], &address(12), &address(16), &options, &ip[20..]].concat()
    };
    check(&pcap(229, &with_link(of_six)));
    check(&pcap(101, &with_link(of_six)));
}

#[test]
fn times_of_every_unit_are_read() {
    let micro = |is_big: bool| {
        let word = |word: u32| {
            if is_big {
                word.to_be_bytes()
            } else {
                word.to_le_bytes()
            }
        };
        let mut file = word(0xa1b2_c3d4).to_vec();
        file.extend(
            [
                if is_big { [0, 2, 0, 4] } else { [2, 0, 4, 0] },
                [0; 4],
                [0; 4],
            ]
            .concat(),
        );
        file.extend([word(65_535), word(1)].concat());
        for (at_ns, frame) in frames() {
            let length = frame.len() as u32;
            let at = [
                (at_ns / 1_000_000_000) as u32,
                (at_ns % 1_000_000_000 / 1_000) as u32,
            ];
            file.extend([at[0], at[1], length, length].map(word).concat());
            file.extend(frame);
        }
        file
    };
    check(&micro(false));
    check(&micro(true));
    let option = |code: u16, value: &[u8], is_big: bool| {
        let half = |half: u16| {
            if is_big {
                half.to_be_bytes()
            } else {
                half.to_le_bytes()
            }
        };
        let mut option = [half(code), half(value.len() as u16)].concat();
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    };
    for is_big in [false, true] {
        check(&pcapng(&frames(), &[], 1_000_000, is_big));
        check(&pcapng(
            &frames(),
            &option(9, &[9], is_big),
            1_000_000_000,
            is_big,
        ));
        check(&pcapng(
            &frames(),
            &option(9, &[0x80 | 20], is_big),
            1 << 20,
            is_big,
        ));
        let hour = if is_big {
            3_600_i64.to_be_bytes()
        } else {
            3_600_i64.to_le_bytes()
        };
        let file = pcapng(&frames(), &option(14, &hour, is_big), 1_000_000, is_big);
        check(&file);
        let capture = Capture::read("a", &file).unwrap();
        assert_eq!(capture.span_ns[0], START + 3_600_000 * MS);
    }
}

#[test]
fn headers_are_enough() {
    let cut = |length: usize| pcap_cut(ETHERNET, &frames(), length);
    let (with, without) = (explained(&cut(55)), explained(&cut(54)));
    assert!(!with.connections[0].lacks_payload && without.connections[0].lacks_payload);
    assert_eq!(parts(&with, 0), parts(&without, 0));
    assert_eq!(with.connections[0].exchanges[0].response_bytes, 300);
    for (length, what) in [(53, "TCP header"), (33, "IP header"), (13, "link's header")] {
        let capture = Capture::read("a.pcap", &cut(length)).unwrap();
        let error = explain(&[capture], None).unwrap_err().to_string();
        let expected = format!(
            "a.pcap: packet 1: the {what} is cut off after {length} of 54 bytes: capture 128 or more (`tcpdump -s 128`). \
             No TCP connection with its handshake is left beside 5 malformed packets"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn what_is_not_tcp_is_counted() {
    let udp = {
        let mut ip = frames()[0].1[14..].to_vec();
        ip[9] = 17;
        ethernet(&ip)
    };
    let fragment = {
        let mut ip = frames()[0].1[14..].to_vec();
        (ip[6], ip[7]) = (0x20, 0);
        ethernet(&ip)
    };
    let arp = [&[0; 12][..], &[8, 6], &[0; 28]].concat();
    let mut all = frames();
    all.extend([udp.clone(), udp, fragment, arp].map(|frame| (START, frame)));
    let left_out = explained(&pcap(ETHERNET, &all)).left_out;
    assert_eq!(
        (
            left_out.udp_packets,
            left_out.fragments,
            left_out.other_packets
        ),
        (2, 1, 1)
    );
}

#[test]
fn malformed_files_are_errors_with_their_place() {
    let valid = pcap(ETHERNET, &frames());
    let change = |at: usize, to: &[u8]| {
        let mut file = valid.clone();
        file[at..at + to.len()].copy_from_slice(to);
        file
    };
    let next = pcapng(&frames(), &[], 1_000_000, false);
    let change_next = |at: usize, to: &[u8]| {
        let mut file = next.clone();
        file[at..at + to.len()].copy_from_slice(to);
        file
    };
    // The section takes 28 bytes, the interface 20; then comes a packet.
    let cases = [
        (
            Vec::new(),
            "at byte 0: neither pcap nor pcapng: write one with `tcpdump -w FILE tcp`",
        ),
        (
            b"GET / HTTP/1.1\r\n".to_vec(),
            "at byte 0: neither pcap nor pcapng",
        ),
        (
            vec![0x1f, 0x8b, 8, 0],
            "at byte 0: compressed: decompress the file with gunzip",
        ),
        (
            valid[..20].to_vec(),
            "at byte 0: the file's header is cut off",
        ),
        (
            valid[..60].to_vec(),
            "packet 1: the file ends within the frame: keep what is whole with `editcap IN OUT`",
        ),
        (
            change(20, &[105]),
            "packet 1: link type 105, 802.11, is not read: capture on an interface with",
        ),
        (change(20, &[99]), "packet 1: link type 99 is not read"),
        (
            change(28, &[0xff; 4]),
            "packet 1: its time has 4294967295 parts of a second, of which there are 1000000000",
        ),
        (
            change(36, &[1]),
            "packet 1: 54 bytes of 1 are said to be kept",
        ),
        (
            next[..40].to_vec(),
            "at byte 28: the file ends within a block: keep what is whole with `editcap IN OUT`",
        ),
        (
            change_next(8, &[0]),
            "at byte 0: the section's byte order is unknown",
        ),
        (change_next(32, &[3]), "at byte 28: a block is malformed"),
        (
            change_next(56, &[9]),
            "packet 1: it is of interface 9, and the section describes 1",
        ),
        (
            change_next(60, &[0xff; 4]),
            "packet 1: its time is before 1970 or after 2554",
        ),
        (
            change_next(48, &[3]),
            "packet 1: it has no time, as in all Simple Packet Blocks",
        ),
        (
            change_next(48, &[2]),
            "packet 1: an obsolete Packet Block: rewrite the file with `editcap IN OUT`",
        ),
    ];
    for (file, expected) in cases {
        let error = Capture::read("a.pcap", &file).unwrap_err().to_string();
        let expected = format!("a.pcap: {expected}");
        assert!(
            error.starts_with(&expected),
            "{error}\nexpected: {expected}"
        );
    }
}

/// The last packet is malformed, or a packet of its own is.
#[test]
fn malformed_packets_are_counted_and_left_out() {
    // Of IP's header and of TCP's: lengths that do not fit, and too short a one.
    for (at, value) in [(14, 0x4f), (46, 0x10), (46, 0xf0)] {
        let mut all = frames();
        let mut malformed = all[2].clone();
        malformed.1[at] = value;
        all.push(malformed);
        let found = explained(&pcap(ETHERNET, &all));
        assert_eq!(parts(&found, 0), PARTS);
        assert_eq!(found.left_out.malformed_packets, 1);
    }
}

/// Times may be zero, far apart, or out of order.
#[test]
fn strange_times_cause_no_overflow() {
    let option = [9, 0, 1, 0, 9, 0, 0, 0];
    let file = |times: &[u64]| {
        let frames = frames().into_iter().zip(times.iter().cycle());
        let frames = frames.map(|((_, frame), at_ns)| (*at_ns, frame));
        pcapng(&frames.collect::<Frames>(), &option, 1_000_000_000, false)
    };
    let far = u64::MAX;
    for times in [
        &[0][..],
        &[far],
        &[0, far],
        &[0, 0, 0, 0, far],
        &[0, far, far, far, far],
        &[0, far / 2, far / 2, far, far],
        &[far, 5, 9, 0, far - 7],
    ] {
        let capture = Capture::read("strange", &file(times)).unwrap();
        let other = Capture::read("other", &pcap(ETHERNET, &frames())).unwrap();
        let _one = explain(std::slice::from_ref(&capture), Some(1));
        let _two = explain(&[capture.clone(), other.clone()], Some(1));
        let _swapped = explain(&[other, capture], Some(1));
    }
    let mut last_first = frames();
    last_first.rotate_right(1);
    check(&pcap(ETHERNET, &last_first));
}

/// Every file that is cut short or has one wrong byte is explained or refused.
#[test]
fn no_damage_causes_a_panic() {
    for valid in [
        pcap(ETHERNET, &frames()),
        pcapng(&frames(), &[], 1_000_000, false),
    ] {
        let whole = Capture::read("whole", &valid).unwrap();
        let read = |file: &[u8]| {
            if let Ok(capture) = Capture::read("damaged", file) {
                let _one = explain(std::slice::from_ref(&capture), Some(1));
                let _two = explain(&[capture, whole.clone()], Some(1));
            }
        };
        for at in 0..valid.len() {
            read(&valid[..at]);
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut file = valid.clone();
                file[at] = value;
                read(&file);
            }
        }
    }
}
