//! Recordings as programs really write them: with holes, streams, other scripts and too much of everything.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use init::{Arms, Options, Written, from_curl_to, from_har, from_har_to};
use serde_json::{Value, json};

const OPTIONS: Options<'_> = Options {
    name: "app",
    folder: Some("app"),
    keep_values: false,
    origin: None,
    arms: Arms::BuiltIn,
};

/// A request that began so many ms after the first and was answered after 10 ms.
fn entry(at_ms: u64, method: &str, url: &str, text: &str) -> Value {
    let at = format!(
        "2026-03-02T08:{:02}:{:02}.{:03}Z",
        at_ms / 60_000,
        at_ms / 1000 % 60,
        at_ms % 1000
    );
    json!({
        "startedDateTime": at,
        "time": 10,
        "request": {"method": method, "url": url, "headers": []},
        "response": {
            "status": 200,
            "content": {"size": text.len(), "mimeType": "application/json", "text": text},
        },
    })
}

fn post(at_ms: u64, url: &str, mime_type: &str, body: &str, response: &str) -> Value {
    let mut entry = entry(at_ms, "POST", url, response);
    entry["request"]["postData"] = json!({"mimeType": mime_type, "text": body});
    entry
}

fn har(entries: &[Value]) -> Vec<u8> {
    json!({"log": {"entries": entries}})
        .to_string()
        .into_bytes()
}

fn study(entries: &[Value]) -> Written {
    from_har(&har(entries), &OPTIONS).unwrap()
}

/// The steps as tables.
fn steps(written: &Written) -> Vec<toml::Table> {
    let study: toml::Table = written.study.parse().unwrap();
    let steps = study["step"].as_array().unwrap();
    steps
        .iter()
        .map(|step| step.as_table().unwrap().clone())
        .collect()
}

/// The value of this key in each step that is one call.
fn values(written: &Written, key: &str) -> Vec<String> {
    let of = |step: &toml::Table| Some(step.get(key)?.as_str()?.to_owned());
    steps(written).iter().filter_map(of).collect()
}

#[track_caller]
fn assert_noted(written: &Written, note: &str) {
    assert!(
        written.notes.iter().any(|line| line.starts_with(note)),
        "{note}: {:?}",
        written.notes
    );
}

#[test]
fn what_is_missing_or_of_another_type_is_made_up() {
    let mut holes = entry(0, "GET", "https://a.example/holes", "{}");
    holes["time"] = Value::Null;
    holes["request"]["bodySize"] = Value::Null;
    holes["request"]["headers"] =
        json!([{"name": "x-a", "value": 7}, {"name": "accept", "value": null}]);
    holes["response"]["bodySize"] = json!("12");
    holes["response"]["headers"] = Value::Null;
    let written = study(&[holes]);
    assert_eq!(values(&written, "call"), ["holes"]);
    assert!(
        written.study.contains("headers = { x-a = \"x\" }"),
        "{}",
        written.study
    );
}

#[test]
fn broken_entries_are_named_and_skipped() {
    let good = entry(0, "GET", "https://a.example/good", "{}");
    let mut no_response = good.clone();
    no_response.as_object_mut().unwrap().remove("response");
    let no_request = json!({"response": {}});
    let written = study(&[no_request.clone(), good, no_response]);
    assert_eq!(values(&written, "call"), ["good"]);
    assert_noted(
        &written,
        "left out: entry 1 of the file: missing field `request`",
    );
    assert_noted(&written, "left out: a request: it has no response");

    let all = from_har(&har(&vec![no_request; 5]), &OPTIONS)
        .unwrap_err()
        .to_string();
    assert!(all.contains("entry 3 of the file"), "{all}");
    assert!(all.contains("2 more entries of the file"), "{all}");
}

#[test]
fn requests_without_a_time_follow_the_one_before() {
    let mut timeless = entry(0, "GET", "https://a.example/b", "{}");
    timeless.as_object_mut().unwrap().remove("startedDateTime");
    let written = study(&[
        entry(0, "GET", "https://a.example/a", "{}"),
        timeless,
        entry(50, "GET", "https://a.example/c", "{}"),
    ]);
    assert_eq!(values(&written, "call"), ["a", "b", "c"]);
    assert_noted(
        &written,
        "note: a request without a time is taken to follow",
    );
}

#[test]
fn a_recording_of_nothing_says_so() {
    let error = from_har(&har(&[]), &OPTIONS).unwrap_err().to_string();
    assert_eq!(error, "it has no requests: record some before you save it");
}

/// Every later request overlaps with one that the server holds open, and would be in one parallel step.
#[test]
fn streams_of_events_and_long_polls_are_left_out() {
    let mut events = entry(0, "GET", "https://a.example/events", "");
    events["time"] = json!(60_000);
    events["response"]["content"]["mimeType"] = json!("text/event-stream;charset=utf-8");
    let mut poll = entry(100, "GET", "https://a.example/poll", "{}");
    poll["time"] = json!(30_000);
    let written = study(&[
        events,
        poll,
        entry(1000, "GET", "https://a.example/a", "{}"),
        entry(4000, "GET", "https://a.example/b", "{}"),
    ]);
    assert_eq!(values(&written, "call"), ["a", "b"]);
    assert_noted(
        &written,
        "left out: a request: its response is a stream of events",
    );
    assert_noted(&written, "left out: a long poll");
}

#[test]
fn grpc_is_left_out_and_grpc_web_is_not() {
    let written = study(&[
        post(
            0,
            "https://a.example/shop.Cart/Add",
            "application/grpc+proto",
            "x",
            "{}",
        ),
        post(
            50,
            "https://a.example/shop.Cart/Get",
            "application/grpc-web+proto",
            "x",
            "{}",
        ),
    ]);
    assert_eq!(values(&written, "call"), ["get"]);
    assert_noted(&written, "left out: a request: it is one of gRPC");
}

#[test]
fn plaintext_is_said_to_become_tls() {
    let written = study(&[entry(0, "GET", "http://a.example/a", "{}")]);
    assert_noted(&written, "note: requests to http://a.example:80 had no TLS");
}

#[test]
fn other_scripts_are_sent_as_clients_do() {
    let written = study(&[
        entry(0, "GET", "https://bücher.example/läden/a b?q=ü", "{}"),
        entry(50, "GET", "https://bücher.example/สวัสดี", "{}"),
        entry(90, "GET", "https://bücher.example/商品", "{}"),
    ]);
    assert_eq!(
        values(&written, "path"),
        [
            "/l%C3%A4den/a%20b?q=xxxxxx",
            "/%E0%B8%AA%E0%B8%A7%E0%B8%B1%E0%B8%AA%E0%B8%94%E0%B8%B5",
            "/%E5%95%86%E5%93%81",
        ]
    );
    assert_eq!(values(&written, "call"), ["a-b", "other", "get-other"]);
}

#[test]
fn operations_of_graphql_are_groups_of_their_own() {
    let of = |at_ms, operation: &str, response: &str| {
        let body = json!({"operationName": operation, "query": "query X { x }"}).to_string();
        post(
            at_ms,
            "https://a.example/graphql",
            "application/json",
            &body,
            response,
        )
    };
    let written = study(&[
        of(0, "GetCart", "{\"cart\": 1}"),
        of(50, "GetUser", "{\"user\": {}}"),
        of(90, "GetCart", "{\"cart\": 2}"),
    ]);
    assert_eq!(
        values(&written, "call"),
        ["get-cart", "get-user", "get-cart"]
    );
    let (cart, user) = ("/graphql", "/graphql?operation=get-user");
    assert_eq!(values(&written, "path"), [cart, user, cart]);
}

/// Each group is compared by itself, so a thousand of them would take hours and decide nothing.
#[test]
fn the_most_frequent_of_many_kinds_are_kept() {
    let word = |n: u64| {
        let letter = |n: u64| char::from(b'a' + (n % 26) as u8);
        format!("https://a.example/word{}{}", letter(n / 26), letter(n))
    };
    let mut entries: Vec<Value> = (0..100)
        .map(|n| entry(20 * n, "GET", &word(n), "{}"))
        .collect();
    entries.push(entry(5000, "GET", &word(99), "{}"));
    let written = study(&entries);
    assert_noted(
        &written,
        "left out: 80 requests of the 80 rarest of 100 kinds",
    );
    let calls = values(&written, "call");
    assert_eq!(calls.len(), 21);
    assert!(calls.contains(&"worddv".to_owned()), "{calls:?}");
}

/// A server of the user's own answers real paths, queries and bodies only, and has one origin.
#[test]
fn a_study_for_a_server_keeps_values_and_one_origin() {
    let form = "application/x-www-form-urlencoded";
    let entries = [
        entry(
            0,
            "GET",
            "https://api.example/orders/17?page=2&token=abc",
            "{\"a\": \"b\"}",
        ),
        entry(50, "GET", "https://cdn.example/logo.png", ""),
        post(90, "https://api.example/login", form, "user=jo&q=a+b", "{}"),
    ];
    let written = from_har_to("https://api.example:443", &har(&entries), &OPTIONS).unwrap();
    assert_eq!(
        values(&written, "path"),
        ["/orders/17?page=2&token=xxx", "/login"]
    );
    let study: toml::Table = written.study.parse().unwrap();
    assert_eq!(
        study["server"]["url"].as_str(),
        Some("https://api.example:443")
    );
    assert!(!study.contains_key("origins"));
    let responds = |step: &toml::Table| step.keys().any(|key| key.starts_with("response"));
    assert!(!steps(&written).iter().any(responds), "{}", written.study);
    assert_eq!(
        written.files,
        [(
            "app/login-request.txt".to_owned(),
            "user=jo&q=a+b".to_owned()
        )]
    );
    assert!(
        written
            .study
            .contains(&format!("content_type = \"{form}\"")),
        "{}",
        written.study
    );
    assert_noted(&written, "left out: a request to https://cdn.example:443");
    assert_noted(&written, "note: credentials were left out");

    let elsewhere = from_har_to("https://b.example:443", &har(&entries), &OPTIONS);
    let error = elsewhere.unwrap_err().to_string();
    assert!(
        error.contains("a request to https://api.example:443 (2 times)"),
        "{error}"
    );

    let curl = "curl https://api.example/orders/17?page=2";
    let read = |_: &str| Err("no file".to_owned());
    let written = from_curl_to("https://api.example:443", curl, &OPTIONS, &read).unwrap();
    assert_eq!(values(&written, "path"), ["/orders/17?page=2"]);
}

/// What tells a credential is its name, and only JSON, forms and queries have names.
#[test]
fn kept_values_are_without_credentials() {
    let login = r#"{"user": "jo", "password": "hunter2", "mfa": {"otp": 112233}}"#;
    let tokens = r#"{"access_token": "SECRET1", "refresh_token": "SECRET2", "plan": "gold"}"#;
    let form = "application/x-www-form-urlencoded";
    let mut entries = [
        post(
            0,
            "https://a.example/login?sid=SECRET3&page=2",
            "application/json",
            login,
            tokens,
        ),
        post(
            50,
            "https://a.example/token",
            form,
            "user=jo&password=hunter2&pin=112233",
            "{}",
        ),
        post(
            90,
            "https://a.example/xml",
            "text/xml",
            "<password>hunter2</password>",
            "{}",
        ),
        post(
            95,
            "https://a.example/odd",
            form,
            "{\"password\": \"hunter2\"}",
            "{}",
        ),
    ];
    entries[0]["request"]["headers"] =
        json!([{"name": "X-Otp", "value": "SECRET4"}, {"name": "X-User", "value": "jo"}]);
    let keep = Options {
        keep_values: true,
        ..OPTIONS
    };
    let all = har(&entries);
    let kept = from_har(&all, &keep).unwrap();
    let to_server = from_har_to("https://a.example:443", &all, &OPTIONS).unwrap();
    for written in [&kept, &to_server] {
        let text = format!("{} {:?}", written.study, written.files);
        for secret in ["hunter2", "112233", "SECRET"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for value in [
            "user=jo&",
            "\\\"user\\\": \\\"jo\\\"",
            "page=2",
            "x-user = \"jo\"",
        ] {
            assert!(text.contains(value), "{value} not in {text}");
        }
        for note in [
            "left out: the value of `password` in a JSON body",
            "left out: the value of `password` in a form",
            "left out: the value of `sid` in the query of a URL",
            "left out: the header field x-otp",
            "left out: the text of a request's body that is neither JSON nor a form; its length is kept (2 times)",
        ] {
            assert_noted(written, note);
        }
    }
    assert!(kept.files[1].1.contains("gold"), "{:?}", kept.files);
}

#[test]
fn kept_values_are_those_of_paths_too() {
    let keep = Options {
        keep_values: true,
        ..OPTIONS
    };
    let entries = [
        entry(0, "GET", "https://a.example/orders/17?page=2", "{}"),
        entry(50, "GET", "https://a.example/orders/18?page=3", "{}"),
        entry(90, "GET", "https://a.example/health", "{}"),
    ];
    let written = from_har(&har(&entries), &keep).unwrap();
    assert_eq!(values(&written, "path"), ["/orders/17?page=2", "/health"]);
    assert_noted(&written, "note: /health is a path of the lab's own server");
}

/// The cases that tools write and HAR 1.2 does not tell.
#[test]
fn sizes_bodies_and_caches_are_read_as_each_program_writes_them() {
    let image = |at_ms, name: &str| {
        let mut image = entry(at_ms, "GET", &format!("https://a.example/{name}"), "");
        image["response"] = json!({"status": 200, "headers": [], "content": {"size": 30_000, "mimeType": "image/png"}});
        image
    };
    let mut by_chrome = image(20, "chrome.png");
    by_chrome["_fromCache"] = json!("disk");
    let mut by_safari = image(40, "safari.png");
    by_safari["_fetchType"] = json!("Memory Cache");
    let mut by_firefox = image(60, "firefox.png");
    by_firefox["time"] = json!(0);
    by_firefox["response"]["content"] = json!({"mimeType": "image/png"});
    let mut unknown = image(80, "unknown");
    unknown["response"]["content"] = json!({"size": -1, "mimeType": "text/plain"});
    unknown["response"]["headers"] = json!([{"name": "server", "value": "x"}]);
    let mut form = post(100, "https://a.example/form", "", "", "{}");
    form["request"]["postData"] = json!({
        "mimeType": "application/x-www-form-urlencoded",
        "params": [{"name": "page", "value": 3}, {"name": "comment", "value": "hello there"}],
    });
    let mut encoded = post(
        120,
        "https://a.example/encoded",
        "application/json",
        "eyJhIjoxfQ==",
        "{}",
    );
    encoded["request"]["postData"]["encoding"] = json!("base64");
    encoded["response"]["content"] = json!({"size": 7, "mimeType": "application/json", "text": "eyJi\nIjoyfQ==", "encoding": "base64"});
    let written = study(&[
        entry(0, "GET", "https://a.example/api", "{}"),
        by_chrome,
        by_safari,
        by_firefox,
        unknown,
        form,
        encoded,
    ]);
    assert_eq!(
        values(&written, "call"),
        ["api", "unknown", "form", "encoded"]
    );
    assert_noted(
        &written,
        "left out: a request: its response came from a cache (3 times)",
    );
    assert_noted(
        &written,
        "note: 1 response of unknown length; 2000 bytes are assumed",
    );
    assert!(
        written
            .study
            .contains("answered with 2000 bytes (a guess: change it)"),
        "{}",
        written.study
    );
    assert!(
        written.study.contains("request_bytes = 26"),
        "{}",
        written.study
    );
    let names: Vec<&str> = written
        .files
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    for file in ["app/encoded-request.json", "app/encoded-response.json"] {
        assert!(names.contains(&file), "{names:?}");
    }
}

#[test]
fn times_are_read_in_every_form_and_summed_from_their_phases() {
    let mut one = entry(0, "GET", "https://a.example/a", "{}");
    one["startedDateTime"] = json!("2026-01-13T15:41:11.000000");
    one["time"] = json!(-1);
    one["timings"] = json!({"blocked": -1, "send": 0, "wait": 2_400, "receive": 100, "ssl": 50});
    let mut other = entry(0, "GET", "https://a.example/b", "{}");
    other["startedDateTime"] = json!("2026-01-13T22:41:13.400+0700");
    let mut odd = entry(0, "GET", "https://a.example/c", "{}");
    odd["startedDateTime"] = json!("1/13/2026, 3:41:11 PM");
    let written = study(&[one, other, odd]);
    let steps = steps(&written);
    assert_eq!(
        steps[0].get("parallel").and_then(toml::Value::as_bool),
        Some(true),
        "{}",
        written.study
    );
    assert_noted(
        &written,
        "note: a request whose time cannot be read (1/13/2026, 3:41:11 PM)",
    );
}

#[test]
fn operations_and_programs_are_groups_of_their_own() {
    let rpc = |at_ms, method: &str| {
        let body = json!({"jsonrpc": "2.0", "method": method, "id": at_ms}).to_string();
        post(
            at_ms,
            "https://a.example/rpc",
            "application/json",
            &body,
            "{}",
        )
    };
    let program = |at_ms, path: &str, bytes: u64| {
        let mut entry = entry(at_ms, "POST", &format!("https://a.example/{path}"), "");
        entry["response"]["content"] = json!({"size": bytes, "mimeType": "text/html"});
        entry
    };
    let written = study(&[
        rpc(0, "getFeed"),
        rpc(50, "getCart"),
        program(100, "checkout.do", 50_000),
        program(150, "login.do", 1_000),
        program(200, "api/getHomepageFeedV2", 1_000_000),
        program(250, "api/getCheckoutCartV3", 1_000),
        program(300, "w/api.php?action=query", 1_000),
        program(350, "w/api.php?action=parse", 1_000_000),
    ]);
    assert_eq!(
        values(&written, "call").len(),
        8,
        "{:?}",
        values(&written, "call")
    );
    let wide = study(&[program(0, "a?id=1", 100), program(50, "a?id=2", 50_000)]);
    assert_noted(&wide, "note: the responses of a have 100 to 50000 bytes");
    // A server of the user's own has the path that it has.
    let own = from_har_to(
        "https://a.example:443",
        &har(&[rpc(0, "getFeed"), rpc(50, "getCart")]),
        &OPTIONS,
    );
    assert_eq!(values(&own.unwrap(), "path"), ["/rpc", "/rpc"]);
}

#[test]
fn the_site_of_the_first_request_comes_before_trackers() {
    let mut entries = vec![entry(0, "GET", "https://shop.example/", "{}")];
    for (n, tracker) in ["a", "b", "c", "d", "e"].iter().enumerate() {
        for m in 0..5 {
            let at = 20 + 20 * (5 * n as u64 + m);
            entries.push(entry(
                at,
                "GET",
                &format!("https://{tracker}.track{tracker}.example/x"),
                "{}",
            ));
        }
    }
    entries.push(entry(900, "GET", "https://www.shop.example/feed", "{}"));
    let written = study(&entries);
    assert!(
        values(&written, "call").contains(&"feed".to_owned()),
        "{}",
        written.study
    );
}

#[test]
fn other_files_are_named_and_cut_texts_are_kept() {
    let utf16: Vec<u8> = "\u{feff}{}"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let error = from_har(&utf16, &OPTIONS).unwrap_err().to_string();
    assert_eq!(error, "this is UTF-16; save it as UTF-8");
    let text = String::from_utf8(har(&[entry(0, "GET", "https://a.example/a", "CUT")])).unwrap();
    let cut = text.replace("CUT", "{\\\"a\\\": \\\"\\ud83d\\\"}");
    let written = from_har(cut.as_bytes(), &OPTIONS).unwrap();
    assert_eq!(values(&written, "response"), ["app/a-response.json"]);
}

#[test]
fn the_port_of_a_server_is_no_connection() {
    let mut one = entry(0, "GET", "https://a.example/a", "{}");
    one["connection"] = json!("443");
    let mut other = entry(50, "GET", "https://b.example/b", "{}");
    other["connection"] = json!(443);
    let written = study(&[one.clone(), other.clone()]);
    assert!(
        written.study.contains("b-example = \"own-server\""),
        "{}",
        written.study
    );
    (one["connection"], other["connection"]) = (json!("17"), json!("17"));
    let written = study(&[one, other]);
    assert!(
        written.study.contains("b-example = \"same-server\""),
        "{}",
        written.study
    );
}

#[test]
fn impossible_sizes_are_left_out() {
    let huge = |at_ms, size: Value| {
        let mut entry = entry(at_ms, "GET", "https://a.example/huge", "");
        entry["response"] = json!({"status": 200, "headers": [], "bodySize": size, "content": {}});
        entry
    };
    let mut stated = huge(50, json!(-1));
    stated["response"]["headers"] =
        json!([{"name": "content-length", "value": u64::MAX.to_string()}]);
    let all = [
        huge(0, json!(1e300)),
        stated,
        entry(90, "GET", "https://a.example/a", "{}"),
    ];
    let written = study(&all);
    assert_eq!(values(&written, "call"), ["a"]);
    assert_noted(
        &written,
        "left out: a request with bodies of 1099511627776 bytes",
    );
}
