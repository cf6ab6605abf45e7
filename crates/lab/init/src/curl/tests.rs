use proptest::prelude::*;

use super::*;

fn parse(command: &str) -> Result<Seen, CurlError> {
    let file = |name: &str| match name {
        "body.json" => Ok(b"{\"a\":\n1}".to_vec()),
        _ => Err("there is no such file".to_owned()),
    };
    read(command, true, &file, &mut Notes::default())
}

#[test]
fn a_command_of_a_browser_is_read() {
    let seen = parse(
        "curl 'https://app.example/v1/orders?page=2' \\\n  -H 'accept: application/json' \\\n  \
         -H 'content-type: application/json; charset=utf-8' \\\n  -b 'id=1' \\\n  \
         --data-raw $'{\"note\":\"it\\'s\\u0021\\\\n\"}' --compressed",
    )
    .unwrap();
    assert_eq!(
        (seen.method.as_str(), seen.path.as_str()),
        ("POST", "/v1/orders?page=x")
    );
    assert_eq!(seen.kept_path.as_deref(), Some("/v1/orders?page=2"));
    assert_eq!(seen.origin, "https://app.example:443");
    assert_eq!(
        seen.headers,
        [("accept".to_owned(), "application/json".to_owned())]
    );
    assert_eq!(
        seen.request.content_type.as_deref(),
        Some("application/json")
    );
    let body = r#"{"note":"it's!\n"}"#;
    assert_eq!(seen.request.json.as_deref(), Some(body));
    assert_eq!(seen.request.bytes, body.len() as u64);
}

#[test]
fn methods_and_bodies_follow_curl() {
    for (command, method, path, bytes) in [
        ("app.example/a", "GET", "/a", 0),
        (
            "curl -sSXPUT -d a=1 -db=2 http://app.example",
            "PUT",
            "/",
            7,
        ),
        (
            "curl --request=DELETE --url http://app.example/x",
            "DELETE",
            "/x",
            0,
        ),
        (
            "curl -G -d q=abc http://app.example/x",
            "GET",
            "/x?q=xxx",
            0,
        ),
        ("curl -d @body.json http://app.example/x", "POST", "/x", 7),
        ("curl -g http://[::1]:81/x{1}", "GET", "/xx1x", 0),
        (
            "curl --data-binary @body.json http://app.example/x",
            "POST",
            "/x",
            8,
        ),
        (
            "curl --json @body.json http://app.example/x",
            "POST",
            "/x",
            8,
        ),
    ] {
        let seen = parse(command).unwrap_or_else(|e| panic!("{command}: {e}"));
        let got = (seen.method.as_str(), seen.path.as_str(), seen.request.bytes);
        assert_eq!(got, (method, path, bytes), "{command}");
    }
    let form = parse("curl -d a=1 http://app.example").unwrap().request;
    assert_eq!(
        (form.content_type.as_deref(), form.json),
        (Some(FORM), None)
    );
    let json = parse("curl --json @body.json http://app.example").unwrap();
    assert!(json.request.json.is_some());
    assert_eq!(
        json.headers,
        [("accept".to_owned(), "application/json".to_owned())]
    );
}

#[test]
fn what_cannot_be_taken_over_is_named() {
    for (command, error) in [
        ("curl", "the command has no URL"),
        ("curl 'http://a", "quotes do not match"),
        ("curl $'http://a", "quotes do not match"),
        (
            "curl http://a http://b",
            "more than one URL, http://a and http://b",
        ),
        (
            "curl -F a=b http://a",
            "states the body that -F makes by its size",
        ),
        ("curl -sF a=b http://a", "states the body that -F makes"),
        ("curl --upload-file x http://a", "that --upload-file makes"),
        ("curl --form-s a=b http://a", "that --form-string makes"),
        ("curl http://a <<EOF\nx\nEOF", "here-document"),
        ("curl \"http://a\" ^\n  -H \"a: b\"", "Windows' cmd"),
        ("Invoke-WebRequest -Uri \"http://a\"", "PowerShell"),
        ("fetch(\"http://a\")", "JavaScript"),
        ("curl http://a -H", "curl's option -H needs a value"),
        ("curl -d @none http://a", "-d @none: there is no such file"),
        ("curl -I http://a", "curl's option -I cannot be taken over"),
        (
            "curl --head http://a",
            "curl's option --head cannot be taken over",
        ),
        ("curl -X BREW http://a", "its method is none of GET"),
        ("curl ftp://a", "not one of http or https"),
        ("curl 'http://a b'", "its URL has no valid host"),
        (
            "curl 'http://a/{b,c}d'",
            "several requests of {b,c} in the URL",
        ),
        (
            "curl 'http://[::1]/a[1-3]'",
            "several requests of [1-3] in the URL",
        ),
        (
            "curl -d x -H 'content-type: application/grpc' http://a",
            "it is one of gRPC",
        ),
    ] {
        let got = parse(command).unwrap_err().to_string();
        assert!(got.contains(error), "{command}: {got}");
    }
}

#[test]
fn credentials_are_left_out() {
    let mut notes = Notes::default();
    let command = "curl -u jo:secret -b id=1 -H 'Authorization: Bearer x' http://a";
    let seen = read(command, true, &|_| Err(String::new()), &mut notes).unwrap();
    assert_eq!(seen.headers, []);
    let lines = notes.lines().join("\n");
    for left_out in ["-u", "-b", "authorization"] {
        assert!(lines.contains(left_out), "{lines}");
    }
}

#[test]
fn what_surrounds_a_pasted_command_is_dropped() {
    for command in [
        "$ curl -s http://a.example/x | jq .",
        "TOKEN=1 curl http://a.example/x > out.json 2>&1",
        "curl http://a.example/x 2>/dev/null; echo done",
        "# curl http://a.example/x &> 'my file'|jq .",
        "curl http://a.example/x >f&& echo",
        "curl -s \\\r\n  http://a.example/x",
        "curl -s \\  \n  http://a.example/x && echo",
        "curl --sil --max-redirs 3 --tlsv1.2 --no-keepalive -O http://a.example/x",
    ] {
        let seen = parse(command).unwrap_or_else(|e| panic!("{command}: {e}"));
        assert_eq!(seen.path, "/x", "{command}");
    }
    let quoted = parse("curl 'http://a.example/x?a=1|2' -d 'a;b>c' -d $'it\\'s|'").unwrap();
    assert_eq!(quoted.request.bytes, "a;b>c&it's|".len() as u64);
}

#[test]
fn bodies_and_urls_are_encoded_as_curl_does() {
    for (command, path, bytes) in [
        (
            "curl http://a/q --data-urlencode 'msg=hello there'",
            "/q",
            "msg=hello+there".len(),
        ),
        (
            "curl http://a/q --data-urlencode 'a b' --data-urlencode '=c&'",
            "/q",
            "a+b&c%26".len(),
        ),
        (
            "curl -G http://a/q --data-urlencode msg@body.json",
            "/q?msg=%7B%22a%22%3A%0A1%7D",
            0,
        ),
        (
            "curl http://a/q --url-query a=b --url-query +c%20d",
            "/q?a=b&c%20d",
            0,
        ),
        (r"curl 'http://a/get?q=\[GET\]'", "/get?q=%5BGET%5D", 0),
        ("curl 'http://a/get?ids[]=1'", "/get?ids%5B%5D=1", 0),
        ("curl http://a/a/../b", "/b", 0),
        (r"curl http://a/q --data-raw $'caf\303\251'", "/q", 5),
        (r"curl http://a/q --data-raw $'\U0001F600\x41\0x'", "/q", 5),
        (
            r"curl http://a/q --data-raw $'cost $5; it\'s' | jq",
            "/q",
            13,
        ),
    ] {
        let seen = parse(command).unwrap_or_else(|e| panic!("{command}: {e}"));
        let got = (seen.kept_path.as_deref(), seen.request.bytes);
        assert_eq!(got, (Some(path), bytes as u64), "{command}");
    }
}

proptest! {
    #[test]
    fn any_command_is_read_or_refused(command in "(curl )?[-$'\"\\\\ a-zHXd@:/.=\\n]{0,60}") {
        drop(parse(&command));
    }
}
