//! Calls to several origins.

use crate::common::test_server::{PROTOCOLS, TestServer};
use crate::common::{RawDriver, call, rust_driver, sequential};
use driver::protocol::{Action, Protocol, Reconnect, Setup, Step};

/// Returns a setup with two origins, which are two names of one server: `url` and `files`.
fn two_names(server: &TestServer, protocol: Protocol) -> Setup {
    let files = server.setup_by_address(protocol).url;
    Setup {
        origins: [("files".to_owned(), files)].into(),
        ..server.setup(protocol)
    }
}

/// Sends a step to the origin `files`.
fn to_files(step: Step) -> Step {
    Step {
        origin: Some("files".into()),
        ..step
    }
}

#[test]
fn each_origin_has_a_connection_of_its_own() {
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let setup = two_names(&server, protocol);
        let mut steps = sequential([call(), Action::Get { bytes: 1000 }, call(), call()]);
        for index in [1, 3] {
            steps[index] = to_files(steps[index].clone());
        }
        let rows = server.run(&setup, &steps);
        let log = server.stop();
        log.assert_agrees_with(&rows);
        assert_eq!(log.connections.len(), 2, "{protocol:?}");
        let seen: Vec<_> = rows
            .iter()
            .map(|row| (row.connection, row.reused))
            .collect();
        let expected = [(1, false), (2, false), (1, true), (2, true)];
        assert_eq!(seen, expected, "{protocol:?}");
        for row in &rows {
            let asked = log.request(row.id).authority.clone().unwrap();
            let url = match row.id {
                2 | 4 => &setup.origins["files"],
                _ => &setup.url,
            };
            assert_eq!(format!("https://{asked}"), *url, "{protocol:?} {row:?}");
        }
    }
}

#[test]
fn a_reconnect_closes_the_connections_of_all_origins() {
    let cold = Action::Reconnect {
        mode: Reconnect::Cold,
    };
    for protocol in PROTOCOLS {
        let server = TestServer::start();
        let setup = two_names(&server, protocol);
        let mut steps = sequential([call(), call(), cold.clone(), call(), call()]);
        for index in [1, 4] {
            steps[index] = to_files(steps[index].clone());
        }
        let rows = server.run(&setup, &steps);
        let log = server.stop();
        log.assert_agrees_with(&rows);
        let connections: Vec<_> = rows.iter().map(|row| row.connection).collect();
        assert_eq!(connections, [1, 2, 3, 4], "{protocol:?}");
        assert_eq!(log.connections.len(), 4, "{protocol:?}");
    }
}

#[test]
fn an_unknown_origin_fails_before_any_step() {
    let server = TestServer::start();
    let setup = server.setup(Protocol::H1);
    let mut driver = RawDriver::start(&rust_driver("hyper"));
    let setup = driver::protocol::Request::Setup(setup);
    let ready = driver.ask(&serde_json::to_string(&setup).unwrap());
    assert_eq!(ready["type"], "ready");
    let reply = driver.ask(
        r#"{"type":"run","steps":[{"id":1,"group":1,"origin":"film","step":"get","bytes":1}]}"#,
    );
    assert_eq!(reply["type"], "failed");
    assert_eq!(reply["reason"], r#"setup has no origin "film""#);
    assert!(server.stop().requests.is_empty());
}
