//! Refused radios and handovers of network files: the line and the words of each error.

use crate::networks::{HEAD, parse};

#[test]
fn impossible_radios_are_refused_with_line_and_reason() {
    let first = "[[radio.state]]\nname = 'connected'\n";
    let second = "[[radio.state]]\nname = 'idle'\nafter_ms = 9\n";
    let cases = [
        ("[radio]\n".to_owned(), 4, "`state` is missing"),
        (first.to_owned(), 4, "2 to 8 states"),
        (
            format!("[[radio.state]]\nname = 'a'\nafter_ms = 1\n{second}"),
            6,
            "carries packets at once",
        ),
        (
            format!("[[radio.state]]\nname = 'a'\nsmall_down_bytes = 1\n{second}"),
            6,
            "small_down_bytes: the first",
        ),
        (format!("{first}{second}"), 7, "delays no packet"),
        (
            format!("{first}[[radio.state]]\nname = 'idle'\npromotion_ms = 5"),
            6,
            "`after_ms` is missing",
        ),
        (
            format!("{first}[[radio.state]]\nafter_ms = 5\npromotion_ms = 5"),
            6,
            "`name` is missing",
        ),
        (
            format!(
                "{first}{second}promotion_ms = 5\n[[radio.state]]\nname = 'off'\nafter_ms = 9\npromotion_ms = 5"
            ),
            12,
            "longer time than the one before",
        ),
        (
            format!(
                "{first}{second}promotion_ms = 5\n[[radio.state]]\nname = 'idle'\nafter_ms = 99\npromotion_ms = 5"
            ),
            11,
            "another state has this name",
        ),
        (
            format!("{first}{second}promotion_ms = 5\npromotion_jitter_ms = 6"),
            10,
            "larger than the promotion",
        ),
        (
            format!("{first}{second}down_cycle_ms = 5\nsmall_up_bytes = 6"),
            10,
            "no packet needs a promotion",
        ),
        (
            format!(
                "{first}{second}down_cycle_ms = 5\n[[radio.state]]\nname = 'off'\nafter_ms = 13\npromotion_ms = 5"
            ),
            9,
            "the cycle is longer than the state",
        ),
        (
            format!("{first}{second}down_cycle_ms = 0"),
            9,
            "radio.state.1.down_cycle_ms: 0 is out of range",
        ),
        (
            format!("{first}{second}promotion_ms = '120s'"),
            9,
            "120000 is out of range",
        ),
        (
            format!("{first}{second}promotion_ms = 5\nsmall_up_bytes = 1500"),
            10,
            "radio.state.1.small_up_bytes: 1500 is out of range; write a number from 1 to 1499",
        ),
        (format!("{first}{second}wake_ms = 1"), 9, "wake_ms"),
        (
            format!("[[radio.state]]\nname = 'Connected'\n{second}promotion_ms = 5"),
            5,
            "lower-case letters",
        ),
        (
            format!("{first}[[radio.state]]\nname = 'promoting'\nafter_ms = 9\npromotion_ms = 5"),
            7,
            "lower-case letters",
        ),
    ];
    for (text, line, words) in cases {
        let error = parse(&format!("{HEAD}{text}\n[up]\n[down]")).expect_err(&text);
        let place = format!("x.toml:{}: ", line - 4 + HEAD.lines().count() + 1);
        assert!(error.starts_with(&place), "{text}\n{place} {error}");
        assert!(error.contains(words), "{text}\n{error}");
    }
}

#[test]
fn impossible_handovers_are_refused_with_line_and_reason() {
    let one = "[[handover.station]]\nat_ms = 100\ninterruption_ms = 50\nqueue = 'flush'\n";
    let cases = [
        (
            "[handover]\n".to_owned(),
            3,
            "handover: `station` is missing; write [[handover.station]]",
        ),
        (
            "[[handover.station]]\ninterruption_ms = 50\nqueue = 'flush'\n".to_owned(),
            3,
            "handover.station.0: `at_ms` is missing; write at_ms = 5000",
        ),
        (
            "[[handover.station]]\nat_ms = 100\nqueue = 'flush'\n".to_owned(),
            3,
            "handover.station.0: `interruption_ms` is missing",
        ),
        (
            "[[handover.station]]\nat_ms = 100\ninterruption_ms = 50\n".to_owned(),
            3,
            "handover.station.0: `queue` is missing; write queue = \"keep\" or",
        ),
        (
            one.replace("50", "0"),
            5,
            "handover.station.0.interruption_ms: 0 is out of range",
        ),
        (
            one.replace("flush", "lost"),
            6,
            "unknown variant `lost`, expected `keep` or `flush`",
        ),
        (
            format!("{one}extra_delay_ms = -1\n"),
            7,
            "handover.station.0.extra_delay_ms: -1 is out of range; write a number from 0 to 60000",
        ),
        (
            format!("{one}{}", one.replace("100", "150")),
            8,
            "handover.station.1: at_ms: the handover before has not ended",
        ),
        (
            format!("[handover]\nevery_ms = 150\n{one}"),
            6,
            "handover.station.0: at_ms: the handover ends after the period",
        ),
        (
            one.replace("flush", "keep"),
            7,
            "up: a handover makes packets wait, so it needs a queue",
        ),
    ];
    for (text, line, words) in cases {
        let error = parse(&format!("{HEAD}{text}[up]\n[down]")).expect_err(&text);
        assert!(
            error.starts_with(&format!("x.toml:{line}: ")),
            "{text}\n{error}"
        );
        assert!(error.contains(words), "{text}\n{error}");
    }
    let gate = "[down.gate]\nqueue = 'flush'\nclosed_ms = [[1, 2]]\n";
    let error = parse(&format!("{HEAD}{one}[up]\n[down]\n{gate}")).unwrap_err();
    assert!(
        error.starts_with("x.toml:9: down: a gate cannot be combined with handovers"),
        "{error}"
    );
}
