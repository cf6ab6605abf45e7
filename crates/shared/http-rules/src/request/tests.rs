use super::*;

fn head(method: Method, url: &str, fields: &[(&str, &str)]) -> request::Parts {
    let mut request = http::Request::builder().method(method).uri(url);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    request.body(()).expect("the head is valid").into_parts().0
}

fn check(
    method: Method,
    fields: &[(&str, &str)],
    body_bytes: Option<u64>,
) -> Result<request::Parts, Violation> {
    let mut head = head(method, "https://a.example/x", fields);
    check_request(&mut head, body_bytes)?;
    Ok(head)
}

fn field(head: &request::Parts, name: &str) -> Option<String> {
    let value = head.headers.get(name)?;
    Some(value.to_str().expect("it is text").to_owned())
}

#[test]
fn targets() {
    for (method, url, expected) in [
        (Method::GET, "https://a.example", "/"),
        (Method::GET, "https://a.example?x=1", "/?x=1"),
        (Method::GET, "https://a.example/", "/"),
        (Method::GET, "https://a.example/?x=1", "/?x=1"),
        (
            Method::GET,
            "https://a.example/\u{e9}?\u{4e2d}=1",
            "/%C3%A9?%E4%B8%AD=1",
        ),
        (Method::GET, "https://a.example/%c3%a9", "/%c3%a9"),
        (Method::OPTIONS, "https://a.example/*", "/*"),
    ] {
        let mut head = head(method, url, &[]);
        assert_eq!(check_request(&mut head, Some(0)), Ok(()), "{url}");
        let target = head.uri.path_and_query().map(PathAndQuery::as_str);
        assert_eq!(target, Some(expected), "{url}");
        assert_eq!(head.uri.scheme_str(), Some("https"));
    }
}

#[test]
fn connection_fields_are_refused() {
    for (name, value) in [
        ("connection", "close"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "close"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "websocket"),
    ] {
        let refused = check(Method::GET, &[(name, value)], Some(0)).err();
        assert_eq!(refused, Some(Violation::ConnectionField(name)));
    }
    for (value, expected) in [
        ("trailers", None),
        ("Trailers", None),
        ("gzip", Some(Violation::Te)),
        ("trailers, gzip", Some(Violation::Te)),
    ] {
        let refused = check(Method::GET, &[("te", value)], Some(0)).err();
        assert_eq!(refused, expected, "{value}");
    }
    let twice = [("te", "trailers"), ("te", "gzip")];
    assert_eq!(
        check(Method::GET, &twice, Some(0)).err(),
        Some(Violation::Te)
    );
}

#[test]
fn host_is_the_authority() {
    for host in [
        "other.example",
        "other.example:8443",
        "[::1]:1",
        "[::1]",
        "127.0.0.1",
    ] {
        let head = check(Method::GET, &[("host", host)], Some(0)).expect(host);
        assert_eq!(head.uri.authority().map(Authority::as_str), Some(host));
        assert_eq!(field(&head, "host"), None);
    }
    for host in [
        "",
        "a b",
        "user@a.example",
        "a.example:x",
        "a.example:",
        "a.example:99999",
        "/",
        "\u{e9}",
    ] {
        let mut head = head(Method::GET, "https://a.example/", &[]);
        let value = HeaderValue::from_bytes(host.as_bytes()).expect("it is a value");
        head.headers.insert(HOST, value);
        assert_eq!(
            check_request(&mut head, Some(0)),
            Err(Violation::Host),
            "{host}"
        );
    }
    let twice = [("host", "a.example"), ("host", "a.example")];
    assert_eq!(
        check(Method::GET, &twice, Some(0)).err(),
        Some(Violation::Host)
    );
}

#[test]
fn lengths_are_those_of_the_body() {
    let with = |value| [("content-length", value)];
    let sent = |method, value, body| {
        check(method, &with(value), body).map(|head| field(&head, "content-length"))
    };
    assert_eq!(sent(Method::POST, "5", Some(5)), Ok(Some("5".to_owned())));
    assert_eq!(
        sent(Method::POST, "5, 5", Some(5)),
        Ok(Some("5".to_owned()))
    );
    assert_eq!(sent(Method::GET, "0", Some(0)), Ok(None));
    let wrong = |field, body| Err(Violation::WrongLength { field, body });
    assert_eq!(sent(Method::GET, "99", Some(0)), wrong(99, 0));
    assert_eq!(sent(Method::POST, "1", Some(3)), wrong(1, 3));
    assert_eq!(sent(Method::POST, "4", Some(3)), wrong(4, 3));
    assert_eq!(
        sent(Method::POST, "x", Some(3)),
        Err(Violation::InvalidLength)
    );
    assert_eq!(
        sent(Method::POST, "3", None),
        Err(Violation::LengthOfStream)
    );
    let without = |method, body| {
        let head = check(method, &[], body).expect("it is valid");
        field(&head, "content-length")
    };
    for method in [Method::POST, Method::PUT, Method::PATCH] {
        assert_eq!(without(method.clone(), Some(0)).as_deref(), Some("0"));
        assert_eq!(without(method, None), None);
    }
    assert_eq!(without(Method::GET, Some(0)), None);
    assert_eq!(without(Method::DELETE, Some(2)).as_deref(), Some("2"));
}

#[test]
fn methods() {
    assert_eq!(
        check(Method::CONNECT, &[], Some(0)).err(),
        Some(Violation::Connect)
    );
    assert!(check(Method::TRACE, &[], Some(0)).is_ok());
    for body in [Some(1), None] {
        assert_eq!(
            check(Method::TRACE, &[], body).err(),
            Some(Violation::TraceContent)
        );
    }
}

#[test]
fn heads_are_bounded() {
    let with_fields = |count: usize| {
        let mut head = head(Method::GET, "https://a.example/", &[]);
        for i in 0..count {
            let name = http::HeaderName::try_from(format!("x-{i}")).expect("it is a name");
            head.headers.insert(name, HeaderValue::from_static("y"));
        }
        check_request(&mut head, Some(0))
    };
    assert_eq!(with_fields(MAX_REQUEST_FIELDS), Ok(()));
    let too_many = Err(Violation::TooManyFields(MAX_REQUEST_FIELDS));
    assert_eq!(with_fields(MAX_REQUEST_FIELDS + 1), too_many);
    let with_bytes = |extra: usize| {
        let mut head = head(Method::GET, "https://a.example/", &[("x", "")]);
        let rest = MAX_REQUEST_HEAD_BYTES - head_bytes(&head) + extra;
        let value = HeaderValue::try_from("y".repeat(rest)).expect("it is a value");
        head.headers.insert("x", value);
        check_request(&mut head, Some(0))
    };
    assert_eq!(with_bytes(0), Ok(()));
    let too_long = Err(Violation::HeadTooLong(MAX_REQUEST_HEAD_BYTES));
    assert_eq!(with_bytes(1), too_long);
}

proptest::proptest! {
    #[test]
    fn what_passes_passes_unchanged_once_more(
        path in "[/?*a-z\u{e9}\u{4e2d}%]{0,12}",
        body in proptest::option::of(0..3_u64),
        length in proptest::option::of("[0-3 ,]{0,4}"),
        host in proptest::option::of("[a-c:1@.]{0,6}"),
    ) {
        let mut request = http::Request::builder().method(Method::POST);
        request = request.uri(format!("https://a.example/{path}"));
        for (name, value) in [("content-length", length), ("host", host)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        let Ok(request) = request.body(()) else { return Ok(()) };
        let mut head = request.into_parts().0;
        if check_request(&mut head, body).is_ok() {
            let before = (head.uri.clone(), head.headers.clone());
            proptest::prop_assert!(head.uri.to_string().is_ascii());
            proptest::prop_assert_eq!(check_request(&mut head, body), Ok(()));
            proptest::prop_assert_eq!(before, (head.uri, head.headers));
        }
    }
}
