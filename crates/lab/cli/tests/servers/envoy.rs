//! Envoy in front of commute's server, at layer 7 and at layer 4.

use super::*;

#[test]
fn every_protocol_is_proven_behind_envoy() {
    let sandbox = sandbox();
    if !add_envoy(&sandbox) {
        testing::skip("stacks/envoy is not installed");
        return;
    }
    let study = format!("{STUDY}server = \"envoy\"\n{}{STEPS}", arms(""));
    sandbox.write("envoy.toml", &study);
    let output = sandbox
        .run(&["run", "envoy.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        check(cell, &output);
        for connection in &cell.connections {
            let library = connection.server_library.as_deref().unwrap();
            assert!(library.starts_with("Envoy 1."), "{}: {library}", cell.arm);
            assert_eq!(connection.group, "X25519", "{}", cell.arm);
            assert!(!connection.resumed, "{}", cell.arm);
        }
    }
}

#[test]
fn connections_are_proven_through_a_balancer_of_layer_4() {
    let sandbox = sandbox();
    if !add_envoy(&sandbox) {
        testing::skip("stacks/envoy is not installed");
        return;
    }
    let over_tcp = arms("").replace("[[arm]]\nstack = \"quinn\"\nprotocol = \"h3\"\n", "");
    let study = format!("{STUDY}server = \"envoy-l4\"\n{over_tcp}{STEPS}");
    sandbox.write("layer4.toml", &study);
    let output = sandbox
        .run(&["run", "layer4.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        check(cell, &output);
        let resumed: Vec<bool> = cell.connections.iter().map(|c| c.resumed).collect();
        // commute's server terminates TLS.
        assert_eq!(resumed, [false, true], "{}", cell.arm);
        for connection in &cell.connections {
            let library = connection.server_library.as_deref().unwrap();
            assert!(
                library.contains(" behind Envoy 1."),
                "{}: {library}",
                cell.arm
            );
            // What its sockets tell is of loopback; Envoy's are at the link.
            assert_eq!(connection.congestion, None, "{}", cell.arm);
            assert!(connection.sender.is_none(), "{}", cell.arm);
        }
        let last = cell.connections.last().unwrap();
        assert_eq!(
            last.server.as_ref().unwrap().nodelay,
            Some(true),
            "{}",
            cell.arm
        );
    }
}

#[test]
fn plaintext_mtls_and_authentication_are_proven_behind_envoy() {
    let sandbox = sandbox();
    if !add_envoy(&sandbox) {
        testing::skip("stacks/envoy is not installed");
        return;
    }
    let mut study = STUDY.replace("hyper h1", "envoy grpc security none");
    for server in ["envoy", "envoy-l4"] {
        for (stack, protocol, key, value) in [
            ("tonic", "grpc", "security", "none"),
            ("hyper", "h1", "security", "none"),
            ("tonic", "grpc", "security", "mtls"),
            ("tonic", "grpc", "auth", "jwt"),
            ("hyper", "h2", "auth", "hmac"),
        ] {
            study += &format!(
                "[[arm]]\nname = \"{server} {protocol} {key} {value}\"\nserver = {server:?}\n\
                 stack = {stack:?}\nprotocol = {protocol:?}\n{key} = {value:?}\n"
            );
        }
    }
    study += "[[step]]\ncall = \"echo\"\ntimes = 2\n[[step]]\nget = \"file\"\nbytes = 20000\n";
    sandbox.write("secured.toml", &study);
    let output = sandbox
        .run(&["run", "secured.toml", "--out", "run", "--no-self-test"])
        .exits_with(0);
    let data = sandbox.records("run");
    assert_complete(&data);
    for cell in counted_cells(&data) {
        let shown = format!("{}: {:?}: {output}", cell.arm, cell.outcome);
        assert_eq!(cell.calls.len(), 3, "{shown}");
        for call in &cell.calls {
            assert_eq!(call.result, CallResult::Ok, "{shown}");
            assert_eq!(call.proof, Proof::Server, "{shown}");
            assert_eq!(
                call.verify_ns.is_some(),
                cell.arm.contains("auth"),
                "{shown}"
            );
        }
        for connection in &cell.connections {
            let plaintext = cell.arm.contains("none");
            assert_eq!(connection.tls_version.is_empty(), plaintext, "{shown}");
            assert_eq!(connection.cipher.is_empty(), plaintext, "{shown}");
            assert_eq!(connection.chain_bytes == 0, plaintext, "{shown}");
        }
    }
}
