//! Values that are kept, without credentials.

use init::{Options, from_curl_to, from_har, from_har_to};
use serde_json::json;

use super::{OPTIONS, assert_noted, entry, har, post, steps, values};

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

/// Names, lengths and reasons are listed; values never are, nor names that are credentials.
#[test]
fn what_becomes_of_values_is_listed() {
    const TOKEN: &str = "ghp_0123456789abcdef0123";
    const JWT: &str = "eyJhbGciOiJ9.eyJzIjoxfQ.dozjgNryP4J3jVmNHl0w5N";
    let body = json!({
        "user": {"name": "HIDDEN1", "tags": ["a", "HIDDEN2"], "pin": 112_233},
        "age": 42,
        "state": JWT,
        TOKEN: 1,
    });
    let mut post = post(
        0,
        &format!(
            "https://a.example/x?page=HIDDEN3&page=2&sid=HIDDEN4&q=Bearer+abc&{TOKEN}&{TOKEN}=1"
        ),
        "application/json",
        &body.to_string(),
        "{}",
    );
    post["request"]["headers"] = json!([
        {"name": "X-User", "value": "HIDDEN5"},
        {"name": "X-Otp", "value": "HIDDEN6"},
    ]);
    let keep = Options {
        keep_values: true,
        ..OPTIONS
    };
    let written = from_har(&har(&[post]), &keep).unwrap();
    let why = "no credential by its name or its form";
    let query = "in the query of a URL";
    assert_eq!(
        written.values,
        [
            format!("kept: `(a credential)` in a JSON body (1 byte): {why}"),
            format!("kept: `age` in a JSON body (2 bytes): {why}"),
            format!("kept: `name` in a JSON body (7 bytes): {why}"),
            format!("kept: `tags` in a JSON body (2 times, up to 7 bytes): {why}"),
            format!("kept: `x-user` in the header fields (7 bytes): {why}"),
            format!("kept: `page` {query} (2 times, up to 7 bytes): {why}"),
            "left out: what has no name in a JSON body (24 bytes): it begins with `ghp_`"
                .to_owned(),
            format!(
                "left out: what has no name {query} (2 times, up to 26 bytes): it begins with `ghp_`"
            ),
            "left out: `state` in a JSON body (46 bytes): it is a JWT".to_owned(),
            format!("left out: `q` {query} (10 bytes): it is what an authorization field has"),
            "left out: `x-otp` in the header fields (7 bytes): its name has `otp`".to_owned(),
            "left out: `pin` in a JSON body: its name has `pin`".to_owned(),
            format!("left out: `sid` {query} (7 bytes): its name has `sid`"),
        ]
    );
    let files = format!("{} {:?}", written.study, written.files);
    for secret in [TOKEN, JWT, "112233", "HIDDEN4", "HIDDEN6"] {
        assert!(!files.contains(secret), "{secret} in {files}");
        assert!(
            !written.notes.join(" ").contains(secret),
            "{secret} is noted"
        );
    }
    assert!(files.contains("HIDDEN1"), "{files}");
}
