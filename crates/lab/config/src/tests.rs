use super::*;

#[test]
fn unknown_keys_get_the_nearest_known_one() {
    assert_eq!(
        plain_message("unknown field `blcks`, expected one of `blocks`, `seed`"),
        "unknown field `blcks`, expected one of `blocks`, `seed` (did you mean `blocks`?)"
    );
    assert_eq!(plain_message("invalid type: `x`"), "invalid type: `x`");
}

#[test]
fn expected_types_are_named_in_plain_words() {
    for (rust, plain) in [
        ("u32", "a whole number, 0 or more"),
        ("a nonzero u16", "a whole number from 1 to 65535"),
        ("f64", "a number"),
        ("a sequence", "a list"),
        ("struct RawArm", "a table"),
        ("`keep` or `flush`", "`keep` or `flush`"),
    ] {
        assert_eq!(
            plain_message(&format!("invalid type: string \"x\", expected {rust}")),
            format!("invalid type: string \"x\", expected {plain}")
        );
    }
}

#[test]
fn only_near_names_are_suggested() {
    let keys = ["gate", "rate_kbps", "delay_ms", "queue_ms"];
    assert_eq!(
        did_you_mean("rate_mbps", keys),
        " (did you mean `rate_kbps`?)"
    );
    assert_eq!(
        did_you_mean("dealy_ms", keys),
        " (did you mean `delay_ms`?)"
    );
    assert_eq!(did_you_mean("rate", keys), " (did you mean `rate_kbps`?)");
    assert_eq!(did_you_mean("ra", keys), "");
    assert_eq!(did_you_mean("xyz", keys), "");
    assert_eq!(did_you_mean(&"x".repeat(1 << 20), keys), "");
}

#[test]
fn errors_name_the_place_of_the_span() {
    let source = Source::new("a.toml", "x = 1\ny = 2\n");
    let place = |span: Range<usize>| {
        let error = source.error(&span, "no");
        (error.line, error.column)
    };
    assert_eq!(place(6..7), (2, 1));
    assert_eq!(place(10..11), (2, 5));
    assert_eq!(place(0..0), (1, 1));
    assert_eq!(place(99..100), (3, 1));
}

#[test]
fn parse_errors_name_the_line() {
    let parsed = Source::new("a.toml", "x = 1\n\ny = \n").parse::<toml::Table>();
    assert_eq!(parsed.map_err(|e| e.line), Err(3));
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only errors are looked at")]
struct Outer {
    inner: Option<Inner>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only errors are looked at")]
struct Inner {
    speed: Option<f64>,
    ports: Option<Vec<std::num::NonZeroU16>>,
}

fn refusal(text: &str) -> String {
    let parsed = Source::new("a.toml", text).parse::<Outer>();
    parsed.unwrap_err().to_string()
}

/// Returns a refusal without the line of the text that it shows.
fn first_line(text: &str) -> String {
    let refusal = refusal(text);
    refusal.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn parse_errors_name_the_key() {
    let cases = [
        (
            "[inner]\nspeed = 'x'",
            "a.toml:2:9: inner.speed: invalid type: string \"x\", expected a number",
        ),
        (
            "[inner]\n\nsped = 1",
            "a.toml:3:1: inner: unknown field `sped`, expected `speed` or `ports` \
             (did you mean `speed`?)",
        ),
        (
            "inner.ports = [\n1,\n0]",
            "a.toml:3:1: inner.ports: invalid value: integer `0`, \
             expected a whole number from 1 to 65535",
        ),
        (
            "iner = 1",
            "a.toml:1:1: unknown field `iner`, expected `inner` (did you mean `inner`?)",
        ),
        (
            "inner = 1",
            "a.toml:1:9: inner: invalid type: integer `1`, expected a table",
        ),
    ];
    for (text, error) in cases {
        assert_eq!(first_line(text), error);
    }
}

#[test]
fn keys_that_people_try_are_answered() {
    let hints = [("sped", "write `speed`, in km/h")];
    let source = Source::new("a.toml", "[inner]\nsped = 1").with_hints(&hints);
    let error = source.parse::<Outer>().unwrap_err();
    let expected = "inner: unknown field `sped`: write `speed`, in km/h";
    assert_eq!(error.message, expected);
    let other = source.parse::<Inner>().unwrap_err().message;
    assert!(
        other.starts_with("unknown field `inner`, expected"),
        "{other}"
    );
}

#[test]
fn errors_at_a_key_name_its_line_or_that_of_its_table() {
    let text = "x = 1\n\n[down]\n[down.gate]\nqueue = 2\n[[arm]]\n[[arm]]\nname = 1";
    let source = Source::new("a.toml", text);
    let line = |key| source.error_at(key, "no").line;
    assert_eq!(line("x"), 1);
    assert_eq!(line("down"), 3);
    assert_eq!(line("down.gate.queue"), 5);
    assert_eq!(line("down.gate.closed"), 4);
    assert_eq!(line("down.x.y"), 3);
    assert_eq!(line("up"), 1);
    assert_eq!(line("arm.1"), 7);
    assert_eq!(line("arm.1.name"), 8);
    assert_eq!(line("arm.0.name"), 6);
    assert_eq!(line("arm.2"), 6);
}

#[test]
fn errors_in_a_table_mark_the_key_that_they_are_about() {
    let text = "[[step]]\ncall = 'a'\n\n[[step]]\nsteps = [{ call = 'b', times = 0 }]\npath = '/'";
    #[derive(serde::Deserialize)]
    struct File {
        step: Vec<Spanned<Step>>,
    }
    #[derive(serde::Deserialize)]
    struct Step {
        #[serde(default)]
        steps: Vec<Spanned<toml::Table>>,
    }
    let source = Source::new("a.toml", text);
    let file: File = source.parse().unwrap();
    let outer = file.step[1].span();
    let inner = file.step[1].get_ref().steps[0].span();
    let place = |table: &Range<usize>, message: &str| {
        let error = source.error_in(table, message);
        (error.line, error.column)
    };
    assert_eq!(place(&inner, "times = 0 is out of range"), (5, 32));
    assert_eq!(place(&inner, "`call` and `times` differ"), (5, 19));
    assert_eq!(place(&outer, "path: no"), (6, 8));
    assert_eq!(place(&outer, "leave out `path`"), (6, 8));
    assert_eq!(place(&outer, "times = 0 is out of range"), (4, 1));
    assert_eq!(place(&(0..0), "path: no"), (1, 1));
}

#[test]
fn hostile_text_gives_short_printable_messages() {
    let long = "k".repeat(1 << 20);
    for text in [
        format!("{long} = 1"),
        format!("\"\\u001b[2J{long}\" = 1"),
        format!("inner = '{long}'"),
        format!("[inner]\nspeed = '{long}'"),
        format!("[inner.{long}]"),
        format!("{long}.{long} = 1"),
        format!("x = {long}"),
    ] {
        let error = refusal(&text);
        assert!(error.len() < 1400, "{} bytes", error.len());
        assert!(!error.contains(|c: char| c.is_control() && c != '\n'));
    }
    let error = first_line(&format!("[inner]\n{long} = 1"));
    assert!(error.starts_with("a.toml:2:1: inner: unknown field `kkk"));
    assert!(error.ends_with("kkk`, expected `speed` or `ports`"));
}
