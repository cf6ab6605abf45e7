//! Messages there and back in every codec, against the real server.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeMap;

use common::bench::{ALL, Bench, hello};
use common::{Driver, in_order, soon};
use driver::protocol::{Action, Codec, ErrorKind, Protocol, Setup};
use driver::{RunAnswer, SetupAnswer};
use wire::Name;

fn exchange(name: &str) -> Action {
    Action::Exchange {
        message: name.into(),
        kind: name.parse::<Name>().unwrap().kind().name().into(),
    }
}

/// Value files, as a cell writes them.
fn values(dir: &tempfile::TempDir, names: &[&str]) -> BTreeMap<String, String> {
    let value = |name: &&str| {
        let path = dir.path().join(format!("{name}.value"));
        let message = name.parse::<Name>().unwrap().message(1);
        std::fs::write(&path, wire::to_value(&message)).unwrap();
        ((*name).to_owned(), path.to_str().unwrap().to_owned())
    };
    names.iter().map(value).collect()
}

#[test]
fn every_codec_over_every_protocol() {
    let dir = tempfile::tempdir().unwrap();
    // A large one, whose JSON and base64 exceed every window.
    let names = ["api-2kB", "diag-1MB"];
    let values = values(&dir, &names);
    for protocol in ALL {
        for codec in hello(protocol).codecs {
            let bench = Bench::start();
            let setup = Setup {
                codec: codec.clone(),
                values: values.clone(),
                ..bench.setup(protocol)
            };
            let steps = in_order(["big-7", names[0], names[1], names[0]].map(exchange));
            let rows = bench.run(&setup, &steps);
            let log = bench.stop();
            log.agrees_with(&rows);
            for row in &rows {
                assert_eq!(row.created_ns.is_some(), row.id == 1, "{row:?}");
                let moments = [
                    Some(row.start_ns),
                    row.created_ns.or(row.encoded_ns),
                    row.encoded_ns,
                    row.request_sent_ns,
                    row.first_byte_ns,
                    row.received_ns,
                    Some(row.end_ns),
                ];
                assert!(moments.is_sorted() && !moments.contains(&None), "{row:?}");
                let hit = log.requests.iter().find(|hit| hit.id == Some(row.id));
                assert_eq!(hit.unwrap().codec.as_deref(), Some(codec.name()));
            }
        }
    }
}

#[test]
fn what_it_cannot_exchange_it_says() {
    for protocol in ALL {
        let bench = Bench::start();
        let program = common::bench::program(protocol);
        let mut driver = Driver::start(&[program], &[]);
        driver.host.hello(soon()).unwrap();
        let with = |codec: &str, values: &[(&str, &str)]| Setup {
            codec: Codec(codec.into()),
            values: values
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
            ..bench.setup(protocol)
        };
        let refused = |answer| match answer {
            SetupAnswer::Unsupported { what, reason } => (what, reason),
            SetupAnswer::Ready => panic!("it took what it has not"),
        };
        let answer = driver
            .host
            .setup(&with("json+gzip-1", &[]), soon())
            .unwrap();
        let (what, reason) = refused(answer);
        assert_eq!(what, "codec json+gzip-1");
        assert!(reason.contains("protobuf"), "{reason}");
        let ready = driver.host.setup(&bench.setup(protocol), soon()).unwrap();
        assert_eq!(ready, SetupAnswer::Ready);
        let unread = driver.host.run(&in_order([exchange("api-2kB")]), soon());
        let reason = unread.unwrap_err().to_string();
        assert!(reason.contains("no value of api-2kB"), "{reason}");
        driver.close();

        let mut driver = Driver::start(&[program], &[]);
        driver.host.hello(soon()).unwrap();
        let missing = with(bench.setup(protocol).codec.name(), &[("small", "/nowhere")]);
        let reason = driver.host.setup(&missing, soon()).unwrap_err().to_string();
        assert!(reason.contains("value file of small, /nowhere"), "{reason}");
        bench.stop();
    }
}

/// A refusal of the server's is a row, its moments as far as it came.
#[test]
fn a_refused_message_is_a_failed_call() {
    let dir = tempfile::tempdir().unwrap();
    for protocol in ALL {
        let bench = Bench::start();
        // More than the server takes.
        let setup = Setup {
            values: values(&dir, &["perl-2000"]),
            ..bench.setup(protocol)
        };
        let mut driver = Driver::start(&[common::bench::program(protocol)], &[]);
        driver.host.hello(soon()).unwrap();
        driver.host.setup(&setup, soon()).unwrap();
        let steps = in_order([exchange("perl-2000"), exchange("big-1")]);
        let RunAnswer::Rows(rows) = driver.host.run(&steps, soon()).unwrap() else {
            panic!("unsupported")
        };
        let error = rows[0].error.as_ref().unwrap();
        let kinds = [ErrorKind::Status, ErrorKind::Reset];
        assert!(kinds.contains(&error.kind), "{protocol:?} {error:?}");
        assert!(rows[0].encoded_ns.is_some() && rows[0].received_ns.is_none());
        // HTTP/1.1 has no way to refuse a body but to close under it, perhaps under the next
        // call too.
        assert!(rows[1].error.is_none() || protocol == Protocol::H1);
        driver.close();
        bench.stop();
    }
}
