//! The built-in networks, and how network files are parsed.

use link::{
    AqmKind, AqmSpec, BadLength, BurstSpec, Departure, Direction, Gate, GilbertElliottSpec,
    Handovers, LossSpec, NS_PER_MS, NatSpec, Network, NetworkError, OnClose, Path, PathSpec,
    PoliceSpec, PolicySpec, QueueSpec, RateSpec, ReorderSpec, StationSpec, Transport, builtin,
    find,
};

use crate::common::{arrival, poll_on_time};

pub(crate) const HEAD: &str = "about = 'a'\nsource = 's'\n";

pub(crate) fn parse(text: &str) -> Result<Network, String> {
    Network::parse("x.toml", text).map_err(|e| place_and_message(&e))
}

/// Formats an error without its column and the line that it shows.
fn place_and_message(error: &NetworkError) -> String {
    match error {
        NetworkError::File(e) => format!("{}:{}: {}", e.file, e.line, e.message),
        unknown => unknown.to_string(),
    }
}

/// Parses a `[down]` table whose first key is on line 5.
pub(crate) fn down(text: &str) -> Result<PathSpec, String> {
    parse(&format!("{HEAD}[up]\n[down]\n{text}")).map(|network| network.down)
}

#[test]
fn built_in_networks_have_their_published_numbers() {
    let numbers = |name| find(name).unwrap().numbers();
    assert_eq!(
        numbers("true-metro"),
        "down 6.3 up 9.7 Mbit/s · RTT 123 ms · loss 1.5 % down · queue 100 ms · rates and RTT measured"
    );
    assert_eq!(
        numbers("thai-wifi"),
        "down 5.7 up 2.8 Mbit/s · RTT 466 ms · loss 1.5 % down · queue 100 ms · rates and RTT measured"
    );
    assert_eq!(
        numbers("dtac-metro"),
        "down 2.3 up 4.7 Mbit/s · RTT 68 ms · loss 1.5 % down · queue 100 ms · rates and RTT measured"
    );
    assert_eq!(
        numbers("3g-750k"),
        "down 750 up 750 kbit/s · RTT 0 ms · no loss · queue 200 ms · rates and RTT derived"
    );
    assert_eq!(
        numbers("lighthouse-slow4g"),
        "down 1.6384 up 0.75 Mbit/s · RTT 150 ms · no loss · queue 100 ms · rates and RTT derived"
    );
    assert_eq!(
        numbers("android-gsm"),
        "down 14.4 up 14.4 kbit/s · RTT 350 ms ±200 · no loss · queue 10 packets · rates and RTT derived"
    );
}

#[test]
fn the_published_schema_is_that_of_the_types_and_every_network_is_valid() {
    let schema = Network::file_schema();
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../docs/network.schema.json"
    );
    let text = serde_json::to_string_pretty(&schema).unwrap();
    testing::golden(file, &format!("{text}\n"));
    for (name, text) in builtin() {
        let network: toml::Table = text.parse().unwrap();
        let network = serde_json::to_value(network).unwrap();
        testing::assert_valid(name, &network, &schema);
    }
}

#[test]
fn every_network_names_its_source_and_basis_and_carries_packets() {
    for (name, _) in builtin() {
        let network = find(name).unwrap();
        assert!(
            network.about.len() > 10 && network.source.len() > 20 && network.basis.is_some(),
            "{name}"
        );
        for (spec, direction) in [
            (&network.up, Direction::Up),
            (&network.down, Direction::Down),
        ] {
            // Of TCP, which no operator's policy touches.
            let packets: Vec<_> = (0..50)
                .map(|i| {
                    let mut arrival = arrival(i * 1000 * NS_PER_MS, i, network.mtu, 1);
                    arrival.packet.transport = Transport::Tcp;
                    arrival
                })
                .collect();
            let mut path = Path::new(spec, direction, 7);
            poll_on_time(&mut path, &packets);
            let counters = path.counters();
            // Packets a second apart never queue: they can only be lost at random, or while a gate is
            // closed.
            let dropped = &counters.dropped;
            assert_eq!(dropped.total(), dropped.loss + dropped.gate, "{name}");
            assert!(counters.delivered > 40, "{name}");
        }
    }
}

#[test]
fn networks_survive_json() {
    for (name, _) in builtin() {
        let network = find(name).unwrap();
        let json = serde_json::to_string(&network).unwrap();
        assert_eq!(serde_json::from_str::<Network>(&json).unwrap(), network);
    }
}

#[test]
fn trace_files_are_fetched_by_the_caller() {
    let text = format!("{HEAD}[up]\n[down]\nqueue_packets = 9\ntrace = 'lte.down'");
    let fetch = |name: &str| match name {
        "lte.down" => Ok("1\n2\n4\n".to_owned()),
        "bad" => Ok("\n9\n\n4\n".to_owned()),
        _ => Err("not there".to_owned()),
    };
    let network = Network::parse_with("x.toml", &text, &fetch).unwrap();
    assert_eq!(network.down.rate.mean_bps(), Some(9_000_000));
    let inlined = text.replace("trace = 'lte.down'", "trace_ms = [1, 2, 4]");
    assert_eq!(parse(&inlined).unwrap(), network);

    let missing = text.replace("lte.down", "lte.up");
    let error = Network::parse_with("x.toml", &missing, &fetch).unwrap_err();
    let error = place_and_message(&error);
    assert!(
        error.starts_with("x.toml:6: down.trace: not there; "),
        "{error}"
    );
    let wrong = text.replace("lte.down", "bad");
    let error = Network::parse_with("x.toml", &wrong, &fetch).unwrap_err();
    let error = place_and_message(&error);
    assert!(
        error.starts_with("x.toml:6: down.trace: bad: line 4 of the trace is less than"),
        "{error}"
    );
    assert!(
        parse(&text)
            .unwrap_err()
            .contains("write its times into trace_ms")
    );
}

#[test]
fn fractional_values_become_exact_whole_units() {
    let spec =
        down("rate_kbps = 14.4\ndelay_ms = 61.5\nloss_percent = 0.1\nqueue_ms = 5000").unwrap();
    assert_eq!(spec.rate, RateSpec::constant(14_400));
    assert_eq!(spec.delay_ns, 61_500_000);
    assert_eq!(spec.loss, Some(LossSpec::Iid { ppb: 1_000_000 }));
    assert_eq!(down("loss_percent = 0"), Ok(PathSpec::default()));
}

#[test]
fn every_key_reaches_the_spec() {
    let text = "rate_kbps = 750\nqueue_ms = 20\nqueue_packets = 9\nqueue_bytes = 4000\n\
                aqm = { kind = 'fq-codel', target_ms = 6, interval_ms = 120, quantum_bytes = 300 }\n\
                delay_ms = 30\njitter_ms = 5\n\
                [down.burst_loss]\ngood_ms = 950\nbad_ms = 50\nbad_length = 'fixed'\nloss_percent = 25\n\
                [down.gate]\nclosed_ms = [[10, 60], [70, 80.5]]\nevery_ms = 1000\nqueue = 'keep'\n\
                [down.policy]\nudp_block_after_ms = 9000\nudp_rate_kbps = 64\n\
                udp_burst_bytes = 3000\nudp_rate_after_ms = 5\nudp_ports = [443, 53]\n\
                [down.reorder]\npercent = 1\nextra_ms = 5\njitter_ms = 8";
    let closed_ns = vec![
        (10 * NS_PER_MS, 60 * NS_PER_MS),
        (70 * NS_PER_MS, 80_500_000),
    ];
    let expected = PathSpec {
        policy: Some(PolicySpec {
            block_after_ns: Some(9000 * NS_PER_MS),
            police: Some(PoliceSpec {
                rate_bps: 64_000,
                burst_bytes: 3000,
                after_ns: 5 * NS_PER_MS,
            }),
            udp_ports: vec![443, 53],
        }),
        gate: Some(Gate::new(closed_ns, Some(1000 * NS_PER_MS), OnClose::Keep).unwrap()),
        queue: QueueSpec {
            time_ns: Some(20 * NS_PER_MS),
            bytes: Some(4000),
            packets: Some(9),
        },
        aqm: Some(AqmSpec {
            kind: AqmKind::FqCodel,
            target_ns: 6 * NS_PER_MS,
            interval_ns: 120 * NS_PER_MS,
            quantum_bytes: Some(300),
            mtu: 1500,
        }),
        rate: RateSpec::constant(750_000),
        loss: Some(LossSpec::Burst(BurstSpec {
            good_ns: 950 * NS_PER_MS,
            bad_ns: 50 * NS_PER_MS,
            bad_length: BadLength::Fixed,
            loss_ppb: 250_000_000,
        })),
        delay_ns: 30 * NS_PER_MS,
        jitter_ns: 5 * NS_PER_MS,
        reorder: Some(ReorderSpec {
            ppb: 10_000_000,
            extra_ns: 5 * NS_PER_MS,
            jitter_ns: 8 * NS_PER_MS,
        }),
        radio: None,
        handovers: None,
    };
    assert_eq!(down(text), Ok(expected));

    let handover = "[handover]\nevery_ms = '20s'\n[[handover.station]]\nat_ms = 5000\n\
                    interruption_ms = 40.5\nextra_delay_ms = 15\nqueue = 'flush'\n";
    let network = parse(&format!("{HEAD}[up]\n[down]\n{handover}")).unwrap();
    let station = StationSpec {
        at_ns: 5000 * NS_PER_MS,
        interruption_ns: 40_500_000,
        extra_delay_ns: 15 * NS_PER_MS,
        queue: OnClose::Flush,
    };
    let expected = Handovers::new(vec![station], Some(20_000 * NS_PER_MS)).ok();
    assert_eq!(
        [network.up.handovers, network.down.handovers],
        [expected.clone(), expected]
    );

    let codel = |kind| {
        down(&format!(
            "rate_kbps = 9\nqueue_packets = 9\naqm = {{ kind = '{kind}' }}"
        ))
    };
    for (name, kind) in [("codel", AqmKind::Codel), ("fq-codel", AqmKind::FqCodel)] {
        assert_eq!(codel(name).unwrap().aqm, Some(AqmSpec::new(kind, 1500)));
    }

    let nat = "[nat]\nrebind_at_ms = [2500, 1.5]\nudp_idle_ms = 30000\ntcp_idle_ms = 300000";
    let network = parse(&format!("{HEAD}[up]\n[down]\n{nat}")).unwrap();
    let expected = NatSpec {
        rebind_at_ns: vec![1_500_000, 2500 * NS_PER_MS],
        udp_idle_ns: Some(30_000 * NS_PER_MS),
        tcp_idle_ns: Some(300_000 * NS_PER_MS),
    };
    assert_eq!(network.nat, Some(expected));

    let chain = "[down.gilbert_elliott]\np_percent = 0.5\nr_percent = 20";
    let defaults = GilbertElliottSpec {
        to_bad_ppb: 5_000_000,
        to_good_ppb: 200_000_000,
        good_loss_ppb: 0,
        bad_loss_ppb: 1_000_000_000,
    };
    let loss = |text: &str| down(text).unwrap().loss;
    assert_eq!(loss(chain), Some(LossSpec::GilbertElliott(defaults)));
    assert_eq!(
        loss(&format!(
            "{chain}\ngood_loss_percent = 1\nbad_loss_percent = 50"
        )),
        Some(LossSpec::GilbertElliott(GilbertElliottSpec {
            good_loss_ppb: 10_000_000,
            bad_loss_ppb: 500_000_000,
            ..defaults
        }))
    );
    assert_eq!(
        loss("[down.burst_loss]\ngood_ms = 1\nbad_ms = 1"),
        Some(LossSpec::Burst(BurstSpec {
            good_ns: NS_PER_MS,
            bad_ns: NS_PER_MS,
            bad_length: BadLength::Exponential,
            loss_ppb: 1_000_000_000,
        }))
    );
}

/// Returns in which seconds a small packet that is sent in the middle of each gets through.
fn seconds_open(spec: &PathSpec, direction: Direction, transport: Transport) -> Vec<u64> {
    let packets: Vec<_> = (0..15)
        .map(|second| {
            let mut packet = arrival((second * 1000 + 500) * NS_PER_MS, second, 100, 1);
            packet.packet.transport = transport;
            packet
        })
        .collect();
    let mut path = Path::new(spec, direction, 7);
    path.start(0);
    let departures = poll_on_time(&mut path, &packets);
    let delivered = |departure: &Departure| match departure {
        Departure::Deliver { token, .. } => Some(*token),
        Departure::Drop { .. } => None,
    };
    departures.iter().filter_map(delivered).collect()
}

#[test]
fn networks_that_fail_do_so_when_their_names_say() {
    let always: Vec<u64> = (0..15).collect();
    let first_five: Vec<u64> = (0..5).collect();
    let around_a_tunnel: Vec<u64> = (0..5).chain(10..15).collect();
    for (name, over_udp, over_tcp) in [
        ("udp-blocked", &vec![], &always),
        ("udp-dies-5s", &first_five, &always),
        ("udp-policed-200k", &always, &always),
        ("tunnel-5s", &around_a_tunnel, &around_a_tunnel),
    ] {
        let Network { up, down, .. } = find(name).unwrap();
        for (spec, direction) in [(up, Direction::Up), (down, Direction::Down)] {
            let open = |transport| seconds_open(&spec, direction, transport);
            assert_eq!(open(Transport::Udp), *over_udp, "{name} {direction:?}");
            assert_eq!(open(Transport::Tcp), *over_tcp, "{name} {direction:?}");
        }
    }
}

#[test]
fn policed_udp_gets_its_rate_and_one_burst_while_tcp_is_free() {
    let spec = find("udp-policed-200k").unwrap().down;
    let delivered_bytes = |transport| {
        // 4 Mbit/s for 10 s.
        let packets: Vec<_> = (0..5000)
            .map(|i| {
                let mut packet = arrival(i * 2 * NS_PER_MS, i, 1000, 1);
                packet.packet.transport = transport;
                packet
            })
            .collect();
        let mut path = Path::new(&spec, Direction::Down, 7);
        poll_on_time(&mut path, &packets);
        path.counters().delivered * 1000
    };
    assert_eq!(delivered_bytes(Transport::Tcp), 5_000_000);
    // 30 kB, and 25 kB/s for 10 s, less what the bucket still holds.
    let policed = delivered_bytes(Transport::Udp);
    assert!((278_000..=280_000).contains(&policed), "{policed}");
}
