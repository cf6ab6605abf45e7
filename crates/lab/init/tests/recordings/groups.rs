//! Which requests are one group, and which hosts are kept.

use init::from_har_to;
use serde_json::{Value, json};

use super::{OPTIONS, assert_noted, entry, har, post, study, values};

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
    assert_eq!(values(&written, "call"), ["a-b", "other", "other-json"]);
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
fn the_kinds_that_take_longest_of_many_are_kept() {
    let word = |n: u64| {
        let letter = |n: u64| char::from(b'a' + (n % 26) as u8);
        format!("https://a.example/word{}{}", letter(n / 26), letter(n))
    };
    let mut entries: Vec<Value> = (0..100)
        .map(|n| entry(20 * n, "GET", &word(n), "{}"))
        .collect();
    // Made twice, and as long as a hundred.
    entries.push(entry(5000, "GET", &word(99), "{}"));
    entries[70] = entry(
        1400,
        "GET",
        &word(70),
        &format!("\"{}\"", "a".repeat(5_000_000)),
    );
    let written = study(&entries);
    assert_noted(
        &written,
        "left out: 80 requests of 80 of 100 kinds, those that take least time",
    );
    let calls = values(&written, "call");
    assert_eq!(calls.len(), 21);
    for kept in ["worddv", "wordcs"] {
        assert!(calls.contains(&kept.to_owned()), "{kept}: {calls:?}");
    }
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
    assert_eq!(values(&wide, "call"), ["a-100b", "a-50kb"]);
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

/// A method that all of them have, or a cut word, says nothing.
#[test]
fn groups_of_one_name_are_told_apart_by_method_or_folder() {
    let folder = "a-package-with-a-long-name-as-there-are-some";
    let written = study(&[
        entry(0, "GET", "https://a.example/static/app.js", "x"),
        entry(20, "GET", "https://a.example/vendor/maps/lib.js", "x"),
        entry(
            40,
            "GET",
            &format!("https://a.example/vendor/{folder}/x/lib.js"),
            "x",
        ),
        entry(60, "GET", "https://a.example/api/orders", "{}"),
        post(
            80,
            "https://a.example/api/orders",
            "application/json",
            "{}",
            "{}",
        ),
        entry(100, "GET", "https://a.example/api/old/orders", "{}"),
    ]);
    let names = [
        "file-js",
        "maps-file-js",
        "x-file-js",
        "orders",
        "post-orders",
        "old-orders",
    ];
    assert_eq!(values(&written, "call"), names);
}

#[test]
fn pages_and_data_of_one_path_are_two_groups() {
    let mut page = entry(20, "GET", "https://a.example/nodes", "<p>long</p>");
    page["response"]["content"]["mimeType"] = json!("text/html; charset=utf-8");
    let written = study(&[entry(0, "GET", "https://a.example/nodes", "{}"), page]);
    assert_eq!(values(&written, "call"), ["nodes", "nodes-html"]);
}

/// A cold start waits for the first request, which is often made once.
#[test]
fn the_first_request_is_kept_however_rare() {
    let url = |n: u64| {
        format!(
            "https://a.example/{}",
            ["a", "b", "c", "d", "e"][n as usize / 5 % 5].repeat(n as usize % 5 + 1)
        )
    };
    let twice = (0..50).map(|n| entry(20 * (n + 1), "GET", &url(n % 25), "{}"));
    let all: Vec<Value> = [entry(0, "GET", "https://a.example/", "{}")]
        .into_iter()
        .chain(twice)
        .collect();
    let names = values(&study(&all), "call");
    assert_eq!(names.first().map(String::as_str), Some("root"), "{names:?}");
    assert_noted(
        &study(&all),
        "left out: 12 requests of 6 of 26 kinds, those that take least time",
    );
}

/// One length could not stand for all: a mean would make an icon of a bundle, and a bundle of an icon.
#[test]
fn responses_of_very_different_lengths_are_groups_of_their_own() {
    let bytes = [9_000, 2, 46_167, 2, 9_500, 4_616, 4_617];
    let texts = bytes.map(|bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2)));
    let entries: Vec<Value> = (0..)
        .zip(&texts)
        .map(|(n, text)| entry(20 * n, "GET", "https://a.example/feed", text))
        .collect();
    let written = study(&entries);
    // Of 9, 46.2, 9.5 and 4.6 kB the nearest to the mean is 9.5; below 10 kB lengths hardly matter.
    let (long, short) = ("feed-10kb", "feed-2b");
    let names = [long, short, long, short, long, short, long];
    assert_eq!(values(&written, "call"), names);
    let lengths: Vec<usize> = written.files.iter().map(|(_, body)| body.len()).collect();
    assert_eq!(lengths, [9_500, 2]);
    assert_eq!(
        written.notes.iter().filter(|n| n.contains("feed")).count(),
        0
    );

    let short = [entries[0].clone(), entries[1].clone()];
    assert_eq!(values(&study(&short), "call"), ["feed"]);
}

/// What does not fit leaves its place to others.
#[test]
fn kinds_that_are_too_large_do_not_take_the_place_of_others() {
    let video = |n: u64| {
        let url = format!("https://a.example/{}", "v".repeat(n as usize + 1));
        let mut entry = entry(20 * n, "GET", &url, "");
        entry["response"]["content"] = json!({"size": 20_000_000, "mimeType": "video/mp4"});
        entry
    };
    let other = |n: u64| {
        let url = format!("https://a.example/{}", "o".repeat(n as usize + 1));
        entry(1000 + 20 * n, "GET", &url, "{}")
    };
    let all: Vec<Value> = (0..25).map(video).chain((0..10).map(other)).collect();
    let written = study(&all);
    assert_noted(
        &written,
        "left out: a request with bodies of 20000000 bytes: a study has 32 MiB in all (24 times)",
    );
    assert_eq!(values(&written, "call").len(), 11);
}

/// The server cannot tell requests with one path apart, whatever it answered.
#[test]
fn the_same_requests_to_ones_own_server_are_one_group() {
    let of = |at_ms, path: &str, bytes: u64| {
        let mut entry = entry(at_ms, "GET", &format!("https://a.example/{path}"), "");
        entry["response"]["content"] = json!({"size": bytes, "mimeType": "image/png"});
        entry
    };
    let to_server = |entries: &[Value]| {
        let written = from_har_to("https://a.example:443", &har(entries), &OPTIONS).unwrap();
        values(&written, "path")
    };
    let same = [of(0, "feed?p=1", 50_000), of(50, "feed?p=1", 100)];
    assert_eq!(to_server(&same), ["/feed?p=1"]);
    let others = [of(0, "feed?p=1", 50_000), of(50, "feed?p=2", 100)];
    assert_eq!(to_server(&others), ["/feed?p=1", "/feed?p=2"]);
}

#[test]
fn responses_of_unknown_length_are_with_the_longest() {
    let image = |at_ms, size: i64| {
        let mut entry = entry(at_ms, "GET", &format!("https://a.example/{at_ms}.jpg"), "");
        entry["response"]["content"] = json!({"size": size, "mimeType": "image/jpeg"});
        entry["response"]["bodySize"] = json!(size);
        entry
    };
    let written = study(&[image(0, 40_000), image(50, -1), image(100, 1_000)]);
    let calls = values(&written, "call");
    assert_eq!(calls.len(), 2, "{}", written.study);
    assert_ne!(calls[0], calls[1]);
    assert!(written.study.contains("\ntimes = 2\n"), "{}", written.study);
}
