//! Exchanges in every codec, against the real server.

use crate::common::test_server::{PROTOCOLS, TestServer, driver_for, hello};
use crate::common::{Driver, deadline, sequential, values};
use driver::protocol::{Action, Codec, ErrorKind, Protocol, Setup};
use driver::{RunAnswer, SetupAnswer};
use messages::Name;

fn exchange(name: &str) -> Action {
    Action::Exchange {
        message: name.into(),
        kind: name.parse::<Name>().unwrap().kind().name().into(),
    }
}

#[test]
fn every_codec_over_every_protocol() {
    let dir = tempfile::tempdir().unwrap();
    // The second is larger, as JSON with base64, than every flow control window.
    let names = ["api-2kB", "diag-1MB"];
    let values = values(&dir, &names);
    for protocol in PROTOCOLS {
        for codec in hello(protocol).codecs {
            let server = TestServer::start();
            let setup = Setup {
                codec: codec.clone(),
                values: values.clone(),
                ..server.setup(protocol)
            };
            let steps = sequential(["big-7", names[0], names[1], names[0]].map(exchange));
            let rows = server.run(&setup, &steps);
            let log = server.stop();
            log.assert_agrees_with(&rows);
            for row in &rows {
                assert_eq!(row.created_ns.is_some(), row.id == 1, "{row:?}");
                let times = [
                    Some(row.start_ns),
                    row.created_ns.or(row.encoded_ns),
                    row.encoded_ns,
                    row.request_sent_ns,
                    row.first_byte_ns,
                    row.received_ns,
                    Some(row.end_ns),
                ];
                assert!(times.is_sorted() && !times.contains(&None), "{row:?}");
                let request = log.request(row.id);
                assert_eq!(request.codec.as_deref(), Some(codec.name()));
            }
        }
    }
}

#[test]
fn unknown_codecs_and_missing_values_are_named() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let mut driver = Driver::start(&driver_for(protocol));
        driver.host.hello(deadline()).unwrap();
        let with = |codec: &str, values: &[(&str, &str)]| Setup {
            codec: Codec(codec.into()),
            values: values
                .iter()
                .map(|(k, v)| ((*k).into(), (*v).into()))
                .collect(),
            ..server.setup(protocol)
        };
        let unsupported = |answer| match answer {
            SetupAnswer::Unsupported { what, reason } => (what, reason),
            SetupAnswer::Ready => panic!("json+gzip-1 was accepted"),
        };
        let answer = driver
            .host
            .setup(&with("json+gzip-1", &[]), deadline())
            .unwrap();
        let (what, reason) = unsupported(answer);
        assert_eq!(what, "codec json+gzip-1");
        assert!(reason.contains("protobuf"), "{reason}");
        let ready = driver
            .host
            .setup(&server.setup(protocol), deadline())
            .unwrap();
        assert_eq!(ready, SetupAnswer::Ready);
        let outcome = driver
            .host
            .run(&sequential([exchange("api-2kB")]), deadline());
        let reason = outcome.unwrap_err().to_string();
        assert!(reason.contains("no value file of api-2kB"), "{reason}");
        driver.close();

        let mut driver = Driver::start(&driver_for(protocol));
        driver.host.hello(deadline()).unwrap();
        let missing = with(
            server.setup(protocol).codec.name(),
            &[("small", "/nowhere")],
        );
        let reason = driver
            .host
            .setup(&missing, deadline())
            .unwrap_err()
            .to_string();
        assert!(reason.contains("value file of small, /nowhere"), "{reason}");
        server.stop();
    }
}

/// The row has the times of the phases that were reached.
#[test]
fn message_rejected_by_the_server_is_a_failed_call() {
    let dir = tempfile::tempdir().unwrap();
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        // More than the server accepts.
        let setup = Setup {
            values: values(&dir, &["perl-2000"]),
            ..server.setup(protocol)
        };
        let mut driver = Driver::start(&driver_for(protocol));
        driver.host.hello(deadline()).unwrap();
        driver.host.setup(&setup, deadline()).unwrap();
        let steps = sequential([exchange("perl-2000"), exchange("big-1")]);
        let RunAnswer::Rows(rows) = driver.host.run(&steps, deadline()).unwrap() else {
            panic!("unsupported")
        };
        let error = rows[0].error.as_ref().unwrap();
        let kinds = [ErrorKind::Status, ErrorKind::Reset];
        assert!(kinds.contains(&error.kind), "{protocol:?} {error:?}");
        assert!(rows[0].encoded_ns.is_some() && rows[0].received_ns.is_none());
        // HTTP/1.1 can only close the connection to reject a body, possibly during the next call.
        assert!(rows[1].error.is_none() || protocol == Protocol::H1);
        driver.close();
        server.stop();
    }
}
