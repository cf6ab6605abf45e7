//! No input makes a parser panic, and every message survives a round trip.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use driver::protocol::{
    Action, Auth, CallError, Clock, Codec, Coded, CodedMessage, ErrorKind, Protocol, Reconnect,
    Reply, Request, Row, Setup, Start, Step, Until,
};
use driver::rows::Rows;
use proptest::prelude::*;

fn protocol() -> impl Strategy<Value = Protocol> {
    prop::sample::select(vec![
        Protocol::H1,
        Protocol::H2,
        Protocol::H3,
        Protocol::Grpc,
    ])
}

fn start() -> impl Strategy<Value = Option<Start>> {
    prop::option::of(prop_oneof![
        any::<u32>().prop_map(Start::After),
        any::<u64>().prop_map(Start::AtNs),
    ])
}

fn action() -> impl Strategy<Value = Action> {
    let mode = prop::sample::select(vec![
        Reconnect::Cold,
        Reconnect::Resume,
        Reconnect::EarlyData,
    ]);
    prop_oneof![
        any::<String>().prop_map(|body| Action::Call { body }),
        any::<u64>().prop_map(|bytes| Action::Get { bytes }),
        any::<u64>().prop_map(|bytes| Action::Put { bytes }),
        any::<(String, u32)>().prop_map(|(body, messages)| Action::Stream { body, messages }),
        any::<(String, String)>().prop_map(|(message, kind)| Action::Exchange { message, kind }),
        any::<(String, Option<u64>)>().prop_map(|(message, chunk_bytes)| Action::Submit {
            message,
            kind: "Diag".into(),
            chunk_bytes
        }),
        any::<(String, String, Option<String>)>().prop_map(|(method, path, payload)| {
            Action::Fetch {
                headers: [(method.clone(), path.clone())].into(),
                method,
                path,
                answer: payload.clone(),
                payload,
            }
        }),
        any::<u64>().prop_map(|ns| Action::Pause { ns }),
        mode.prop_map(|mode| Action::Reconnect { mode }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let until = any::<Option<(u32, u64)>>();
    let until = until.prop_map(|until| until.map(|(after, ns)| Until { after, ns }));
    let head = (
        any::<u32>(),
        start(),
        until,
        any::<u32>(),
        any::<(Option<u64>, Option<String>)>(),
    );
    (head, action()).prop_map(
        |((id, start, until, group, (cancel_after_ns, origin)), action)| Step {
            until,
            cancel_after_ns,
            origin,
            id,
            start,
            group,
            action,
        },
    )
}

fn setup() -> impl Strategy<Value = Setup> {
    let codec = prop_oneof![
        Just("json".to_owned()),
        Just("protobuf+zstd-3".to_owned()),
        any::<String>(),
    ];
    let values = prop::collection::btree_map(any::<String>(), any::<String>(), 0..3);
    (
        any::<(String, Option<String>, Option<String>, u64)>(),
        protocol(),
        codec.prop_map(Codec),
        values,
    )
        .prop_map(
            |((url, warmup_url, file, timeout_ns), protocol, codec, values)| Setup {
                url,
                warmup_url,
                ca_file: "ca".into(),
                auth: file.clone().map(|token_file| Auth::Jwt { token_file }),
                client_cert_file: file.clone(),
                client_key_file: file.clone(),
                protocol,
                codec,
                timeout_ns,
                congestion: None,
                warmup_calls: None,
                observe: None,
                discovery: None,
                policy: None,
                origins: values.clone(),
                payloads: values.clone(),
                coded: (values.iter())
                    .map(|(name, file)| {
                        let message = CodedMessage {
                            descriptors_file: file.clone(),
                            name: name.clone(),
                        };
                        (
                            name.clone(),
                            Coded {
                                message: Some(message),
                            },
                        )
                    })
                    .collect(),
                values,
                schema_file: file,
            },
        )
}

fn row() -> impl Strategy<Value = Row> {
    let times = any::<(u64, Option<u64>, Option<u64>, u64)>();
    let exchange_times = any::<(Option<u64>, Option<u64>, Option<u64>)>();
    let error = prop::option::of(any::<String>());
    (
        any::<(u32, u32, Option<u16>, bool)>(),
        times,
        exchange_times,
        prop::option::of(protocol()),
        error,
    )
        .prop_map(
            |(
                (id, attempts, local_port, flag),
                (start_ns, dns_ns, tls_ns, end_ns),
                (created_ns, encoded_ns, received_ns),
                protocol,
                error,
            )| {
                let error = error.map(|detail| CallError {
                    kind: ErrorKind::Tls,
                    detail,
                });
                Row {
                    id,
                    attempts,
                    local_port,
                    start_ns,
                    dns_ns,
                    tls_ns,
                    created_ns,
                    encoded_ns,
                    received_ns,
                    end_ns,
                    protocol,
                    reused: flag,
                    error,
                    ..Row::default()
                }
            },
        )
}

/// Generates JSON with the keys of a request and wrong values.
fn almost_request() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "\"hello\"",
        "\"setup\"",
        "\"run\"",
        "\"close\"",
        "\"h2\"",
        "\"get\"",
        "null",
        "[]",
        "{}",
        "-1",
        "1e999",
        "[{\"step\":3}]",
        "[{\"step\":\"get\",\"start\":{\"x\":1}}]",
        "\"\\ud800\"",
    ]);
    let key = prop::sample::select(vec!["type", "steps", "protocol", "codec", "version", "url"]);
    prop::collection::vec((key, word), 0..6).prop_map(|fields| {
        let fields: Vec<_> = fields
            .iter()
            .map(|(key, word)| format!("\"{key}\":{word}"))
            .collect();
        format!("{{{}}}", fields.join(","))
    })
}

proptest! {
    #[test]
    fn no_line_makes_the_parsers_panic(line in any::<String>()) {
        Request::parse(&line).ok();
        serde_json::from_str::<Reply>(&line).ok();
    }

    #[test]
    fn no_wrong_value_makes_the_parsers_panic(line in almost_request()) {
        Request::parse(&line).ok();
        serde_json::from_str::<Reply>(&line).ok();
    }

    #[test]
    fn requests_survive_a_round_trip(steps in prop::collection::vec(step(), 0..8), setup in setup()) {
        for request in [Request::Run { steps }, Request::Setup(setup)] {
            let line = serde_json::to_string(&request).unwrap();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(Request::parse(&line), Ok(request));
        }
    }

    /// The rows of an exchange are accepted exactly when their times are in order.
    #[test]
    fn exchange_times_are_accepted_only_in_order(
        times in prop::collection::vec(1_000_u64..1_010, 7),
        created in any::<bool>(),
    ) {
        let [start, made, encoded, sent, first, received, end] = times[..] else {
            unreachable!()
        };
        let steps = [Step {
            id: 1,
            start: None,
            group: 1,
            until: None,
            cancel_after_ns: None,
            origin: None,
            action: Action::Exchange { message: "big-7".into(), kind: "Big".into() },
        }];
        let row = Row {
            id: 1,
            connection: 1,
            start_ns: start,
            created_ns: created.then_some(made),
            encoded_ns: Some(encoded),
            request_sent_ns: Some(sent),
            first_byte_ns: Some(first),
            received_ns: Some(received),
            end_ns: end,
            status: Some(200),
            digest: Some("0".repeat(64)),
            protocol: Some(Protocol::H1),
            attempts: 1,
            ..Row::default()
        };
        let sending: Vec<u64> = [start].into_iter().chain(created.then_some(made))
            .chain([encoded, sent, end]).collect();
        let in_order = sending.is_sorted() && [start, first, received, end].is_sorted();
        let added = Rows::new(&steps, Clock::Monotonic, 1_000).add(row, 1_010);
        prop_assert_eq!(added.is_ok(), in_order, "{:?}", added);
    }

    #[test]
    fn rows_survive_a_round_trip(row in row()) {
        let reply = Reply::Row(row);
        let line = serde_json::to_string(&reply).unwrap();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(serde_json::from_str::<Reply>(&line).unwrap(), reply);
    }
}
