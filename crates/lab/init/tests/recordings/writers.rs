//! Sizes, times and bodies as each program writes them.

use init::from_har;
use serde_json::{Value, json};

use super::{OPTIONS, assert_noted, entry, har, post, steps, study, values};

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

/// The cases that tools write and HAR 1.2 does not define.
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
    let mut by_new_firefox = image(70, "firefox-153.png");
    by_new_firefox["time"] = json!(0);
    by_new_firefox["response"]["headers"] = json!([{"name": "content-length", "value": "30000"}]);
    by_new_firefox["response"]["headersSize"] = json!(0);
    by_new_firefox["response"]["bodySize"] = json!(30_000);
    let mut by_playwright = image(75, "playwright.png");
    by_playwright["response"]["bodySize"] = json!(0);
    by_playwright["response"]["headersSize"] = json!(307);
    by_playwright["response"]["_transferSize"] = json!(307);
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
        by_new_firefox,
        by_playwright,
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
        "left out: a request: its response came from a cache (5 times)",
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

/// Chrome writes a character for each byte, which takes two bytes of UTF-8 where it is not ASCII.
#[test]
fn binary_bodies_are_as_long_as_their_field_says() {
    let mut blob = post(
        0,
        "https://a.example/blob",
        "image/jpeg",
        "\u{c8}\u{c8}\u{c8}",
        "{}",
    );
    blob["request"]["bodySize"] = json!(6);
    blob["request"]["headers"] = json!([{"name": "Content-Length", "value": "3"}]);
    let written = study(&[blob]);
    let bytes = steps(&written)[0]["request_bytes"].as_integer();
    assert_eq!(bytes, Some(3), "{}", written.study);
}

/// Its text is longer than what crosses the network.
#[test]
fn json_that_came_compressed_has_its_length_on_the_wire() {
    let text = format!("{{\"items\": \"{}\"}}", "a".repeat(5_000));
    let with = |at_ms, path: &str, encoding: &str, transferred: Value| {
        let mut entry = entry(at_ms, "GET", &format!("https://a.example/{path}"), &text);
        entry["response"]["headers"] = json!([{"name": "Content-Encoding", "value": encoding}]);
        entry["response"]["_transferSize"] = transferred;
        entry
    };
    let written = study(&[
        with(0, "feed", "br", json!(130)),
        with(50, "cart", "gzip", json!(140)),
        with(100, "unknown", "zstd", json!(-1)),
    ]);
    let steps = steps(&written);
    let of = |step: &toml::Table| {
        let bytes = step.get("response_bytes").and_then(toml::Value::as_integer);
        let kind = step.get("response_type").and_then(toml::Value::as_str);
        (bytes, kind.map(str::to_owned))
    };
    let json = Some("application/json".to_owned());
    let expected = [(Some(130), json.clone()), (Some(140), json), (None, None)];
    assert_eq!(steps.iter().map(of).collect::<Vec<_>>(), expected);
    let files: Vec<&str> = written
        .files
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(files, ["app/unknown-response.json"]);
    assert_noted(
        &written,
        "note: the JSON of feed, cart came compressed, and has that length in the study",
    );
    assert_noted(
        &written,
        "note: 1 JSON response came compressed (zstd) to an unknown length",
    );
    assert_noted(
        &written,
        "replaced: the values in a JSON body, by others of the same length",
    );
}
