use std::io;

use super::*;
use crate::plan::small_plan::SMALL;
use crate::{Arm, Study};
use driver::protocol::{Codec, Protocol};

const STEP: &str = "call = \"echo\"\ntimes = 2\n";

/// Returns a study with these lines for those of SMALL's step, and these files, as the lab's servers would
/// serve it.
fn study(lines: &str, files: &[(&str, &[u8])]) -> Result<Study, String> {
    assert!(SMALL.ends_with(STEP));
    let text = SMALL.replace(STEP, lines);
    let read = |path: &str, _: u64| {
        let found = files.iter().find(|(name, _)| *name == path);
        let content = found.map(|(_, content)| content.to_vec());
        content.ok_or(io::ErrorKind::NotFound.into())
    };
    let study = Study::parse_with("s.toml", &text, &read).map_err(|e| e.to_string())?;
    match &study.not_for_lab {
        Some(refused) => Err(refused.to_string()),
        None => Ok(study),
    }
}

/// Returns the one request of a study's own.
fn own(lines: &str, files: &[(&str, &[u8])]) -> OwnRequest {
    let study = study(&format!("call = \"orders\"\n{lines}"), files).unwrap();
    match &study.workload[..] {
        [Step::Own { request, .. }] => (**request).clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn keys_that_are_left_out_have_their_defaults() {
    let get = own("path = \"/a\"", &[]);
    assert_eq!((get.method.as_str(), get.path.as_str()), ("GET", "/a"));
    assert_eq!((get.request, get.response), (None, None));
    let files: [(&str, &[u8]); 1] = [("order.json", b"{}")];
    let post = own("request = \"order.json\"\nresponse_bytes = 3", &files);
    assert_eq!((post.method.as_str(), post.path.as_str()), ("POST", "/"));
    assert_eq!(post.request.unwrap().content_type, "application/json");
    let response = post.response.unwrap();
    assert_eq!(response.content_type, "application/octet-stream");
    assert_eq!(response.content.len(), 3);
    let typed = own(
        "request_bytes = 1\ncontent_type = \"image/png\"\nheaders = { X-App = \"a b\" }",
        &[],
    );
    assert_eq!(typed.request.unwrap().content_type, "image/png");
    assert_eq!(typed.headers["x-app"], "a b");
    let grpc_web = own(
        "request_bytes = 1\ncontent_type = \"application/grpc-web\"",
        &[],
    );
    assert_eq!(
        grpc_web.request.unwrap().content_type,
        "application/grpc-web"
    );
}

#[test]
fn what_a_server_or_client_would_refuse_is_refused_with_its_line() {
    for (lines, reason) in [
        (
            "request = \"none.json\"",
            "request = \"none.json\": entity not found",
        ),
        (
            "request_bytes = 40000000",
            "request_bytes: the study's own requests and responses have more than 32 MiB",
        ),
        (
            "request = \"a\"\nrequest_bytes = 1",
            "a body is one of them",
        ),
        (
            "response = \"a\"\nresponse_bytes = 1",
            "`response` is a file and `response_bytes`",
        ),
        (
            "request_bytes = 1\ncontent_type = \"application/grpc+proto\"",
            "servers would take the request for one of gRPC",
        ),
        (
            "content_type = \"a/b\"",
            "`content_type` goes with `request`",
        ),
        (
            "response_type = \"a/b\"",
            "`response_type` goes with `response`",
        ),
        (
            "response_bytes = 1\nresponse_type = \"a\\n\"",
            "use printable ASCII",
        ),
        (
            "method = \"get\"",
            "use one of GET, POST, PUT, PATCH, DELETE",
        ),
        (
            "method = \"GET\"\nrequest_bytes = 1",
            "a GET has no body here",
        ),
        ("path = \"v1\"", "without scheme and host"),
        ("path = \"https://a/b\"", "without scheme and host"),
        ("path = \"/a b\"", "percent-encode anything else"),
        ("path = \"/a#b\"", "percent-encode anything else"),
        ("path = \"/a%2\"", "percent-encode anything else"),
        ("path = \"//a\"", "one slash of two"),
        ("path = \"/a/../b\"", "resolve the parts . and .."),
        ("path = \"/echo?a\"", "a route of its own"),
        ("path = \"/bytes/7\"", "a route of its own"),
        (
            "headers = { Connection = \"close\" }",
            "leave out `Connection`: it is about the connection",
        ),
        ("headers = { content-length = \"1\" }", "the client sets it"),
        (
            "headers = { \"a b\" = \"1\" }",
            "is no name of a header field",
        ),
        ("headers = { a = \"\" }", "use printable ASCII"),
        ("headers = { a = \"1\", A = \"2\" }", "is there twice"),
        (
            "path = \"/a\"\nbody = \"{}\"",
            "use `request` or `request_bytes`",
        ),
        (
            "path = \"/a\"\nmessage = \"small\"",
            "`message` goes with exchange",
        ),
        ("path = \"/a\"\ntimes = 0", "times = 0"),
    ] {
        let refused = study(&format!("call = \"orders\"\n{lines}"), &[("a", b"1")]).unwrap_err();
        assert!(refused.contains(reason), "{lines}: {refused}");
        // The key that is wrong is marked, not the step.
        assert!(
            refused.contains(" | ") && refused.contains('^'),
            "{refused}"
        );
        assert!(!refused.contains("| [[step]]"), "{refused}");
    }
    let long = format!("call = \"orders\"\npath = \"/{}\"", "a".repeat(2048));
    assert!(study(&long, &[]).unwrap_err().contains("at most 2048"));
    let refused = study("get = \"f\"\nbytes = 1\npath = \"/a\"", &[]).unwrap_err();
    assert!(
        refused.contains("`path` goes with call, not with get"),
        "{refused}"
    );
}

#[test]
fn own_requests_stand_where_calls_do() {
    let own = "call = \"orders\", path = \"/a\"";
    for step in [
        "call = \"orders\"\npath = \"/a\"\nfor_s = 1\noutstanding = 4".to_owned(),
        format!("repeat = 2\nsteps = [{{ {own} }}]"),
        format!("parallel = true\nsteps = [{{ {own}, times = 3 }}, {{ call = \"echo\" }}]"),
    ] {
        let study = study(&step, &[]).unwrap();
        let mut paths = Vec::new();
        each(&study.workload, &mut |request| {
            paths.push(request.path.clone());
        });
        assert_eq!(paths, ["/a"], "{step}");
        let workload = crate::plan::Workload::expand(&study.workload);
        let first = workload.steps.iter().find(|step| step.action.is_call());
        assert!(workload.own.of(&first.unwrap().action).is_some());
        assert_eq!(workload.own.iter().count(), 1);
    }
}

#[test]
fn a_path_has_one_response_and_one_set_of_fields() {
    let two = |first: &str, second: &str| {
        let step = |lines: &str| format!("call = \"orders\"\npath = \"/a\"\n{lines}\n");
        study(&format!("{}[[step]]\n{}", step(first), step(second)), &[])
    };
    two("request_bytes = 1", "request_bytes = 2").unwrap();
    two("method = \"POST\"", "response_bytes = 2").unwrap();
    two("headers = { a = \"1\" }", "headers = { a = \"2\" }").unwrap();
    for (first, second, reason) in [
        (
            "response_bytes = 1",
            "response_bytes = 2",
            "different responses",
        ),
        ("headers = { a = \"1\" }", "", "different header fields"),
        (
            "method = \"POST\"",
            "request_bytes = 2",
            "different header fields",
        ),
    ] {
        let refused = two(first, second).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
        assert!(refused.contains("/a have"), "{refused}");
    }
}

#[test]
fn arms_that_cannot_send_a_request_are_refused() {
    let with_arm = |line: &str, step: &str| {
        let arm = format!("stack = \"quinn\"\n{line}");
        let text = SMALL.replace("stack = \"quinn\"", &arm).replace(STEP, step);
        let text = match line {
            "grpc" => SMALL.replace("\"h3\"", "\"grpc\"").replace(STEP, step),
            _ => text,
        };
        let read = |_: &str, _: u64| Ok(b"{\"a\": [1, 2]}".to_vec());
        Study::parse_with("s.toml", &text, &read).map_err(|e| e.to_string())
    };
    let call = |keys: &str| format!("call = \"orders\"\n{keys}\n");
    let json = call("request = \"order.json\"");
    for (line, step, reason) in [
        (
            "auth = \"jwt\"",
            call("headers = { authorization = \"x\" }"),
            "`auth` sets",
        ),
        (
            "auth = \"hmac\"",
            call("headers = { signature = \"x\" }"),
            "`auth` sets",
        ),
        (
            "grpc",
            call("headers = { grpc-timeout = \"1\" }"),
            "gRPC's own",
        ),
        (
            "grpc",
            call("request_bytes = 4194304"),
            "whose libraries receive at most 4194304",
        ),
        (
            "codec = \"protobuf\"",
            call("request_bytes = 1"),
            "codec = \"protobuf\" is for JSON",
        ),
        (
            "codec = \"msgpack-old\"",
            json.clone(),
            "is for commute's own messages",
        ),
    ] {
        let refused = with_arm(line, &step).unwrap_err();
        assert!(refused.contains("arm `quinn "), "{refused}");
        assert!(refused.contains(reason), "{refused}");
    }
    with_arm("codec = \"msgpack+zstd-3\"", &json).unwrap();
    with_arm(
        "auth = \"hmac\"",
        &call("headers = { authorization = \"x\" }"),
    )
    .unwrap();
}

#[test]
fn json_that_is_none_is_refused_where_it_must_be_read() {
    let files: [(&str, &[u8]); 1] = [("order.json", b"{")];
    let step = "call = \"orders\"\nrequest = \"order.json\"";
    study(step, &files).unwrap();
    let grpc = SMALL.replace("\"h3\"", "\"grpc\"").replace(STEP, step);
    let read = |_: &str, _: u64| Ok(b"{".to_vec());
    let refused = Study::parse_with("s.toml", &grpc, &read).unwrap_err();
    let refused = refused.to_string();
    assert!(refused.contains("order.json, line 1 column 1"), "{refused}");
}

/// A study may name any JSON of its user's.
#[test]
fn messages_have_nothing_of_a_file() {
    let step = "call = \"orders\"\nrequest = \"order.json\"";
    let grpc = SMALL.replace("\"h3\"", "\"grpc\"").replace(STEP, step);
    let msgpack = SMALL
        .replace(
            "stack = \"quinn\"",
            "stack = \"quinn\"\ncodec = \"msgpack\"",
        )
        .replace(STEP, step);
    let deep = format!("{}1{}", "{\"SECRET\":".repeat(120), "}".repeat(120));
    for (json, reason) in [
        ("{\"SECRET: a\": 1, \"SECRET: a\": 2}", "duplicate key"),
        ("{\"SECRET\": SECRET}", "expected value"),
        ("\"SECRET\"", "is a single string"),
        (&deep, "100 levels"),
    ] {
        let read = |_: &str, _: u64| Ok(json.as_bytes().to_vec());
        let refused = Study::parse_with("s.toml", &grpc, &read).unwrap_err();
        let refused = refused.to_string();
        assert!(!refused.contains("SECRET"), "{refused}");
        assert!(refused.contains(reason), "{refused}");
        if let Err(refused) = Study::parse_with("s.toml", &msgpack, &read) {
            assert!(!refused.to_string().contains("SECRET"), "{refused}");
        }
    }
}

#[test]
fn every_form_reads_back() {
    let json = br#"{"id": 7, "tags": ["a", "b"]}"#;
    let payload = |content_type: &str, content: &[u8]| {
        Payload::new(Some("a".into()), content_type.into(), content.into())
    };
    let in_form = |protocol: Protocol, codec: &str, payload: &Payload| {
        let mut steps = [Step::Own {
            group: "a".into(),
            request: Box::new(OwnRequest {
                method: "POST".into(),
                path: "/".into(),
                headers: BTreeMap::new(),
                request: Some(payload.clone()),
                response: None,
            }),
            times: 1,
        }];
        let arm = Arm {
            codec: Codec(codec.into()),
            ..Arm::plain("any", protocol)
        };
        prepare(&mut steps, &arm).unwrap();
        let [Step::Own { request, .. }] = steps else {
            unreachable!()
        };
        let payload = request.request.unwrap();
        let form = Form::of(&arm);
        (payload.in_form(&form).to_vec(), payload.type_in(&form))
    };
    let of_json = payload("application/problem+json; charset=utf-8", json);
    let sample = ::payload::Sample { name: "a", json };
    let protobuf = ::payload::infer(&[sample])
        .unwrap()
        .encode(&sample)
        .unwrap();
    let (plain, of_plain) = in_form(Protocol::H2, "json", &of_json);
    assert_eq!(
        (&plain[..], of_plain.as_str()),
        (&json[..], of_json.content_type.as_str())
    );
    let (sent, content_type) = in_form(Protocol::H2, "protobuf", &of_json);
    assert_eq!(
        (&sent, content_type.as_str()),
        (&protobuf, "application/protobuf")
    );
    let (sent, content_type) = in_form(Protocol::H3, "json+gzip-6", &of_json);
    let mut gzip = messages::Compressor::new(messages::Compression::Gzip(6));
    assert_eq!(&gzip.decompress(&sent, 1000).unwrap()[..], &json[..]);
    assert_eq!(content_type, of_json.content_type);
    let (sent, _) = in_form(Protocol::H1, "msgpack", &of_json);
    assert_eq!(sent, ::payload::msgpack(&sample).unwrap());
    assert_eq!(in_form(Protocol::Grpc, "protobuf", &of_json).0, protobuf);
    let bytes = payload("image/png", &[7; 200]);
    let (sent, _) = in_form(Protocol::Grpc, "protobuf", &bytes);
    assert_eq!(
        (&sent[..3], &sent[3..]),
        (&[0x0a, 200, 1][..], &[7; 200][..])
    );
}
