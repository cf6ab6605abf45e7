use super::*;

#[test]
fn jmeter_writes_milliseconds() {
    let refused = "other: org.apache.http.conn.HttpHostConnectException: Connect to 127.0.0.1:9 [/127.0.0.1] failed: \
                   Connection refused";
    let csv = include_str!("../fixtures/jmeter.csv");
    for separator in [",", "\t"] {
        let text = match separator {
            "," => csv.to_owned(),
            _ => csv
                .replace("transaction : 2, number", "transaction : 2; number")
                .replace(',', separator),
        };
        let (calls, left_out) = read("JMeter's CSV", &text, Some("h1"));
        assert_eq!(
            said(&calls),
            [
                ("orders", 157 * MS, Some(true), "ok"),
                ("missing", 18 * MS, Some(false), "status: 404"),
                ("refused", MS, Some(true), refused),
                ("slow", 303 * MS, Some(false), "timed_out"),
                ("orders", 20 * MS, Some(true), "ok"),
            ]
        );
        assert_eq!((calls[0].first_byte_ns, left_out), (Some(138 * MS), 1));
    }
    let xml = include_str!("../fixtures/jmeter.xml");
    let (calls, left_out) = read("JMeter's XML", xml, Some("h1"));
    assert_eq!(
        said(&calls),
        [
            ("orders", 59 * MS, Some(true), "ok"),
            ("missing", 81 * MS, Some(false), "status: 404"),
            ("refused", MS, Some(true), refused),
            ("slow", 302 * MS, Some(false), "timed_out"),
        ]
    );
    assert_eq!(left_out, 1);
}

#[test]
fn jmeter_nests_what_a_sample_contains() {
    let xml = "<?xml version=\"1.0\"?>\n<testResults>\n<!-- <httpSample t=\"1\"> -->\n\
        <httpSample t='90' ct='5' s='true' lb='a &lt;b&gt; &#38; &#x63;&amp;d' rc='200'>\n\
        <httpSample t='30' s='true' rc='302'/>\n<responseData>1 &lt; 2 > 0</responseData>\n</httpSample>\n\
        <httpSample t='80' s='true' rc='200'/>\n</testResults>\n";
    let (calls, _) = read("JMeter's XML", xml, Some("h1"));
    assert_eq!(
        said(&calls),
        [
            ("a <b> & c&d", 90 * MS, Some(true), "ok"),
            ("", 80 * MS, None, "ok")
        ]
    );
    let format = Format::of(xml).unwrap();
    let cut = xml.find("t='80'").unwrap();
    let broken = format.read(&xml[..cut], &labels(Some("h1"))).unwrap_err();
    assert_eq!(broken, (8, "the file breaks off within a tag".to_owned()));
}

#[test]
fn jmeter_fails_where_it_says_so() {
    let head = "elapsed,label,responseCode,success\n";
    for (row, how) in [
        ("9,a,200,false", "other: JMeter says success=false"),
        ("9,a,404,true", "ok"),
        (
            "9,a,Non HTTP response code: java.net.UnknownHostException,true",
            "other: java.net.UnknownHostException: ",
        ),
    ] {
        let (calls, _) = read("JMeter's CSV", &format!("{head}{row}\n"), Some("h1"));
        assert_eq!(said(&calls), [("a", 9 * MS, None, how)], "{row}");
    }
    for (text, error) in [
        (
            format!("{head}0,a,200,true\n"),
            "`elapsed` is 0 ms: JMeter's whole ms are too coarse for this server (without these rows the arm would \
             look slower)",
        ),
        (
            format!("{head}9,a,200,yes\n"),
            "`success` is \"yes\", expected true or false",
        ),
        (
            format!("{head}soon,a,200,true\n"),
            "`elapsed` is \"soon\", expected a number",
        ),
        (
            "elapsed,label\n9,a\n".to_owned(),
            "neither `success` nor `responseCode`",
        ),
    ] {
        let (line, message) = Format::of(&text)
            .unwrap()
            .read(&text, &labels(Some("h1")))
            .unwrap_err();
        assert_eq!(line, 2);
        assert!(message.contains(error), "{message}");
    }
}

/// JMeter names samples as its user did, and Java's exceptions quote URLs.
#[test]
fn no_query_of_a_url_is_kept() {
    let csv = "elapsed,label,responseCode,responseMessage,success\n\
        9,GET /orders?token=SECRET,200,OK,true\n\
        9,a,Non HTTP response code: java.net.URISyntaxException,Non HTTP response message: Illegal character in query \
        at index 41: https://a.example/o?q=a b&token=SECRET|x,false\n\
        9,a,200,see https://a.example/o?token=SECRET or /help#SECRET,false\n";
    let (calls, _) = read("JMeter's CSV", csv, Some("h1"));
    assert!(!format!("{calls:?}").contains("SECRET"), "{calls:?}");
    assert_eq!(calls[0].group.as_deref(), Some("GET /orders"));
    let expected = "other: java.net.URISyntaxException: Illegal character in query at index 41: https://a.example/o";
    assert_eq!(calls[1].error.as_deref(), Some(expected));
}

/// In time that grows with their number, not with its square.
#[test]
fn ampersands_that_begin_no_entity_are_kept() {
    let many = "&".repeat(1 << 20);
    let xml = format!(
        "<?xml version=\"1.0\"?>\n<testResults>\n<httpSample t='9' s='true' lb='{many}' rc='200'/>\n</testResults>\n"
    );
    let (calls, _) = read("JMeter's XML", &xml, Some("h1"));
    assert_eq!(calls[0].group.as_deref(), Some(many.as_str()));
}
