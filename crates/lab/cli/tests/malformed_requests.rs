//! Drivers that send malformed requests fail the conformance suite, which names the rule.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::Sandbox;

/// What a driver sends beside its calls, and a part of what the suite reports.
const REQUESTS: [(&str, &str); 19] = [
    ("h1:two-hosts", "with 400: a request needs one Host header"),
    ("h1:no-host", "with 400: a request needs one Host header"),
    ("h1:bad-length", "with 400: invalid content-length"),
    ("h1:two-lengths", "with 400: invalid content-length"),
    ("h1:bad-chunk", "with 400: Invalid chunk size"),
    (
        "h2:connection-field",
        "with PROTOCOL_ERROR: a field concerns one connection",
    ),
    (
        "h2:upper-case",
        "with PROTOCOL_ERROR: a name has upper case",
    ),
    (
        "h2:no-path",
        "with PROTOCOL_ERROR: the pseudo-field \":path\" is missing",
    ),
    (
        "h2:length-without-body",
        "with PROTOCOL_ERROR: the body is shorter",
    ),
    (
        "h3:connection-field",
        "with H3_MESSAGE_ERROR: the field \"connection\" concerns one connection",
    ),
    ("h3:upper-case", "with H3_MESSAGE_ERROR: "),
    ("h3:no-path", "with H3_MESSAGE_ERROR: "),
    (
        "h3:length-without-body",
        "with H3_MESSAGE_ERROR: the body is shorter",
    ),
    // The rule is named beside what else is wrong.
    ("h1:two-hosts and-dies", "exited or closed its pipe"),
    ("h2:no-path and-dies", "exited or closed its pipe"),
    ("h3:no-path and-dies", "exited or closed its pipe"),
    ("h1:two-hosts and-lies", "call 1: "),
    ("h2:no-path and-lies", "call 1: "),
    ("h3:no-path and-lies", "call 1: "),
];

#[test]
fn malformed_requests_fail_the_suite_with_their_rule() {
    let sandbox = Sandbox::new();
    let program = testing::example("commute-driver-malformed");
    let name = |request: &str| request.replace([':', ' '], "-");
    for (request, _) in REQUESTS {
        let words = [program.to_str().unwrap()].into_iter();
        let command: Vec<&str> = words.chain(request.split(' ')).collect();
        let protocol = format!("{:?}", &request[..2]);
        sandbox.add_stack(&name(request), &protocol, &command);
    }
    let output = sandbox
        .run(&["stacks", "check", "--case", "calls", "--jobs", "4"])
        .exits_with(3);
    let mut wrong = Vec::new();
    for (request, expected) in REQUESTS {
        let begin = format!("{} {} calls: FAIL: ", name(request), &request[..2]);
        let mut lines = output.stdout.lines();
        let finding = lines.find_map(|line| line.strip_prefix(&begin));
        let finding = finding.unwrap_or("no finding");
        if !finding.contains("the server refused a message with ") || !finding.contains(expected) {
            wrong.push(format!("{request}: {finding}"));
        }
    }
    assert!(wrong.is_empty(), "{}\n{output}", wrong.join("\n"));
}
