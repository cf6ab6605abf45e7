//! Discovery of HTTP/3 without a hint, and the bounds on what is open at a time.

use std::time::Duration;

use route::{
    CallId, Command, Config, ConnId, DnsAnswer, DnsRecords, Event, Fault, H3Record, MAX_CALLS,
    MAX_CONNS, MonotonicTime, Origin, Policy, Protocol, QueryId, RequestTraits, Router, Switches,
    Transport,
};

fn traits() -> RequestTraits {
    RequestTraits {
        replayable: true,
        resends: true,
        bytes: None,
        kind: 1,
        urgent: false,
        early: false,
        policy: Policy::Adaptive,
    }
}

fn origin() -> Origin {
    Origin::new("api.example", 443)
}

fn at(ms: u64) -> MonotonicTime {
    MonotonicTime::from_ns(ms * 1_000_000)
}

fn commands(router: &mut Router) -> Vec<Command> {
    std::iter::from_fn(|| router.poll()).collect()
}

fn addresses() -> Option<DnsAnswer> {
    Some(DnsAnswer::Addresses(vec![
        "192.0.2.1".parse().expect("an address"),
    ]))
}

/// Makes a request. Returns the queries for the HTTPS record and for addresses.
fn asked(router: &mut Router) -> (QueryId, QueryId) {
    let (id, origin) = (CallId(1), origin());
    router.handle(
        Event::Call {
            id,
            origin: &origin,
            traits: traits(),
        },
        at(0),
    );
    let mut queries = commands(router)
        .into_iter()
        .filter_map(|command| match command {
            Command::Resolve { query, records, .. } => Some((query, records)),
            _ => None,
        });
    let (https, records) = queries.next().expect("it asks for the record");
    assert_eq!(records, DnsRecords::Https);
    (https, queries.next().expect("it asks for addresses").0)
}

fn head(call: CallId, conn: ConnId, alt_svc: &[u8]) -> Event<'_> {
    Event::Head {
        call,
        conn,
        misdirected: false,
        kept: true,
        alt_svc,
        resumable: false,
    }
}

fn opened(router: &mut Router) -> Vec<(Transport, u16)> {
    let opened = commands(router)
        .into_iter()
        .filter_map(|command| match command {
            Command::Open { over, address, .. } => Some((over, address.port())),
            _ => None,
        });
    opened.collect()
}

fn record(port: u16) -> H3Record {
    let ttl = Duration::from_secs(60);
    H3Record { port, ttl }
}

fn asking_https() -> Router {
    Router::new(Config {
        https_records: true,
        ..Config::default()
    })
}

#[test]
fn an_https_record_is_an_offer() {
    let mut router = asking_https();
    let (https, a) = asked(&mut router);
    let answer = Some(DnsAnswer::H3(Some(record(444))));
    router.handle(
        Event::Resolved {
            query: https,
            answer,
        },
        at(5),
    );
    router.handle(
        Event::Resolved {
            query: a,
            answer: addresses(),
        },
        at(6),
    );
    assert_eq!(opened(&mut router), [(Transport::Quic, 444)]);
}

#[test]
fn addresses_wait_fifty_ms_for_a_record_and_no_longer() {
    let mut router = asking_https();
    let (_, a) = asked(&mut router);
    router.handle(
        Event::Resolved {
            query: a,
            answer: addresses(),
        },
        at(6),
    );
    assert_eq!(opened(&mut router), []);
    assert_eq!(router.deadline(), Some(at(56)));
    router.handle(Event::Time, at(56));
    assert_eq!(opened(&mut router), [(Transport::Tcp, 443)]);
}

#[test]
fn a_record_that_is_late_serves_the_next_race_for_as_long_as_it_holds() {
    let mut router = asking_https();
    let (https, a) = asked(&mut router);
    let answer = addresses();
    router.handle(Event::Resolved { query: a, answer }, at(6));
    router.handle(Event::Time, at(56));
    assert_eq!(opened(&mut router), [(Transport::Tcp, 443)]);
    let answer = Some(DnsAnswer::H3(Some(record(444))));
    router.handle(
        Event::Resolved {
            query: https,
            answer,
        },
        at(900),
    );
    let known = |router: &mut Router, ms: u64| {
        router.handle(Event::Time, at(ms));
        router.explain(&origin()).contains("HTTP/3 here: untried")
    };
    assert!(known(&mut router, 60_899));
    assert!(!known(&mut router, 60_900));
}

/// The app may ask its own resolver.
#[test]
fn a_record_that_the_app_reports_is_an_offer_for_as_long_as_it_holds() {
    let mut router = Router::new(Config::default());
    let (id, of, record) = (CallId(1), origin(), record(444));
    let origin = &of;
    router.handle(Event::HttpsRecord { origin, record }, at(5));
    let traits = traits();
    router.handle(Event::Call { id, origin, traits }, at(6));
    let query = commands(&mut router)
        .into_iter()
        .find_map(|command| match command {
            Command::Resolve { query, .. } => Some(query),
            _ => None,
        });
    let (query, answer) = (query.expect("it asks for addresses"), addresses());
    router.handle(Event::Resolved { query, answer }, at(7));
    assert_eq!(opened(&mut router), [(Transport::Quic, 444)]);
    router.handle(Event::Time, at(60_005));
    assert!(!router.explain(origin).contains("HTTP/3 here: untried"));
}

/// Returns whether the next lookup waits for a record that the app has asked for.
fn awaits_record(router: &mut Router, policy: Policy) -> bool {
    let (id, of) = (CallId(9), origin());
    let (origin, traits) = (&of, RequestTraits { policy, ..traits() });
    router.handle(Event::Call { id, origin, traits }, at(0));
    let waits = commands(router)
        .into_iter()
        .find_map(|command| match command {
            Command::Resolve {
                records: DnsRecords::Addresses,
                awaits_record,
                ..
            } => Some(awaits_record),
            _ => None,
        });
    waits.expect("it asks for addresses")
}

#[test]
fn a_record_is_awaited_where_it_can_help() {
    for (policy, expected) in [
        (Policy::Adaptive, true),
        (Policy::Race, true),
        (Policy::H3, true),
        (Policy::H2, false),
        (Policy::H1, false),
    ] {
        let mut router = Router::new(Config::default());
        assert_eq!(awaits_record(&mut router, policy), expected, "{policy:?}");
    }
    let mut router = Router::new(Config::default());
    let (origin, port) = (&origin(), 443);
    router.handle(Event::Hint { origin, port }, at(0));
    assert!(!awaits_record(&mut router, Policy::Adaptive));
    // It asks itself, and waits for that.
    assert!(!awaits_record(&mut asking_https(), Policy::Adaptive));
    let mut router = Router::new(Config::default());
    let off = Switches {
        h3_percent: 0,
        generation: 1,
        ..Switches::default()
    };
    router.handle(Event::Switches(off), at(0));
    assert!(!awaits_record(&mut router, Policy::Adaptive));
}

#[test]
fn a_record_shortens_no_offer() {
    let origin = &origin();
    let known = |router: &mut Router, s: u64| {
        router.handle(Event::Time, at(s * 1_000));
        router.explain(origin).contains("HTTP/3 here: untried")
    };
    let tell = |router: &mut Router, port, s| {
        let ttl = Duration::from_secs(s);
        let record = H3Record { port, ttl };
        router.handle(Event::HttpsRecord { origin, record }, at(0));
    };
    let mut router = Router::new(Config::default());
    router.handle(Event::Hint { origin, port: 443 }, at(0));
    tell(&mut router, 444, 60);
    assert!(known(&mut router, 86_400));
    let mut router = Router::new(Config::default());
    exchange(&mut router, 1, origin, b"h3=\":443\"; ma=100");
    tell(&mut router, 443, 60);
    assert!(known(&mut router, 99));
    tell(&mut router, 443, 200);
    assert!(known(&mut router, 298));
    assert!(!known(&mut router, 300));
    // One that holds for 0 s is there for the lookup at least.
    let mut router = Router::new(Config::default());
    tell(&mut router, 443, 0);
    assert!(known(&mut router, 0));
    assert!(!known(&mut router, 2));
}

#[test]
fn alt_svc_of_a_response_is_an_offer_until_it_is_withdrawn() {
    let mut router = Router::new(Config::default());
    exchange(&mut router, 1, &origin(), b"h3=\":443\"");
    assert!(router.explain(&origin()).contains("HTTP/3 here: untried"));
    exchange(&mut router, 2, &origin(), b"clear");
    assert!(router.explain(&origin()).contains("HTTP/3 here: unknown"));
}

/// Makes one request, and opens whatever it needs.
fn exchange(router: &mut Router, id: u64, origin: &Origin, alt_svc: &[u8]) -> i64 {
    let (call, now, mut open) = (CallId(id), at(id), 0);
    router.handle(
        Event::Call {
            id: call,
            origin,
            traits: traits(),
        },
        now,
    );
    while let Some(command) = router.poll() {
        match command {
            Command::Resolve { query, .. } => {
                router.handle(
                    Event::Resolved {
                        query,
                        answer: addresses(),
                    },
                    now,
                );
            }
            Command::Open { conn, .. } => {
                open += 1;
                let rtt = Duration::from_millis(1);
                router.handle(Event::FirstPacket { conn, rtt }, now);
                router.handle(
                    Event::Ready {
                        conn,
                        protocol: Protocol::H2,
                        migrates: false,
                    },
                    now,
                );
            }
            Command::Close(_) => open -= 1,
            Command::Send { conn, .. } => {
                router.handle(head(call, conn, alt_svc), now);
                router.handle(
                    Event::Done {
                        call,
                        conn,
                        bytes: 1,
                    },
                    now,
                );
            }
            _ => {}
        }
    }
    open
}

#[test]
fn idle_connections_to_many_origins_are_bounded() {
    let mut router = Router::new(Config::default());
    let open: i64 = (1..=1_000)
        .map(|i| {
            exchange(
                &mut router,
                i,
                &Origin::new(&format!("{i}.example"), 443),
                b"",
            )
        })
        .sum();
    assert_eq!(open, MAX_CONNS as i64);
}

#[test]
fn connections_beyond_the_bound_are_closed_when_their_requests_end() {
    let mut router = Router::new(Config::default());
    let (mut open, mut sent) = (0, Vec::new());
    for i in 0..100 {
        let (id, traits) = (CallId(i), traits());
        let origin = &Origin::new(&format!("{i}.example"), 443);
        router.handle(Event::Call { id, origin, traits }, at(0));
        while let Some(command) = router.poll() {
            match command {
                Command::Resolve { query, .. } => {
                    let answer = addresses();
                    router.handle(Event::Resolved { query, answer }, at(0));
                }
                Command::Open { conn, .. } => {
                    open += 1;
                    let (protocol, migrates) = (Protocol::H2, false);
                    let ready = Event::Ready {
                        conn,
                        protocol,
                        migrates,
                    };
                    router.handle(ready, at(0));
                }
                Command::Send { call, conn, .. } => sent.push((call, conn)),
                _ => {}
            }
        }
    }
    assert_eq!((open, sent.len()), (100, 100));
    for (call, conn) in sent {
        router.handle(head(call, conn, b""), at(1));
        let bytes = 1;
        router.handle(Event::Done { call, conn, bytes }, at(1));
    }
    let closed = commands(&mut router)
        .into_iter()
        .filter(|command| matches!(command, Command::Close(_)));
    assert_eq!(open - closed.count(), MAX_CONNS);
}

#[test]
fn requests_at_a_time_are_bounded() {
    let mut router = Router::new(Config::default());
    let origin = origin();
    for id in 1..=MAX_CALLS as u64 + 1 {
        let id = CallId(id);
        router.handle(
            Event::Call {
                id,
                origin: &origin,
                traits: traits(),
            },
            at(0),
        );
    }
    let refused: Vec<Command> = commands(&mut router)
        .into_iter()
        .filter(|command| matches!(command, Command::Fail { .. }))
        .collect();
    let call = CallId(MAX_CALLS as u64 + 1);
    let (fault, may_have_acted) = (Fault::TooMany, false);
    assert_eq!(
        refused,
        [Command::Fail {
            call,
            fault,
            may_have_acted
        }]
    );
}

#[test]
fn what_names_nothing_known_is_ignored() {
    let mut router = Router::new(Config::default());
    let (call, conn) = (CallId(7), ConnId(7));
    for event in [
        Event::Cancel(call),
        Event::GoAway(conn),
        Event::Ready {
            conn,
            protocol: Protocol::H3,
            migrates: true,
        },
        Event::Closed {
            conn,
            fault: Fault::Reset,
        },
        head(call, conn, b""),
        Event::Done {
            call,
            conn,
            bytes: 1,
        },
        Event::Resolved {
            query: QueryId(7),
            answer: addresses(),
        },
    ] {
        router.handle(event, at(1));
    }
    assert_eq!(commands(&mut router), []);
}
