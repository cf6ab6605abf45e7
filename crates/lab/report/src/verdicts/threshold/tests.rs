use super::*;
use crate::summary::quantity::Unit;

fn names() -> Names {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    Names {
        arms: owned(&["okhttp 5.1 h2", "okhttp", "a/b"]),
        groups: owned(&["echo", "v1.1/orders"]),
        networks: owned(&["4g-tether"]),
    }
}

fn parsed(text: &str) -> Threshold {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[test]
fn names_may_hold_dots_spaces_and_slashes() {
    for (scope, arm, group) in [
        ("", None, None),
        ("okhttp/", Some("okhttp"), None),
        ("okhttp 5.1 h2/", Some("okhttp 5.1 h2"), None),
        ("a/b/", Some("a/b"), None),
        ("echo.", None, Some("echo")),
        ("v1.1/orders.", None, Some("v1.1/orders")),
        (
            "okhttp 5.1 h2/v1.1/orders.",
            Some("okhttp 5.1 h2"),
            Some("v1.1/orders"),
        ),
    ] {
        let got = parsed(&format!("{scope}first.p95 > 300ms"));
        assert_eq!(got.scope(&names()), Ok((arm, group)), "{scope}");
    }
}

#[test]
fn unknown_names_are_answered_with_the_known_ones() {
    for (text, answer) in [
        (
            "cronet/first > 1s",
            "no arm is named `cronet`; known: okhttp 5.1 h2, okhttp",
        ),
        ("cronet/echo.first > 1s", "no arm is named `cronet`"),
        (
            "okhttp/image.first > 1s",
            "no group is named `image`; known: echo",
        ),
        ("image.first > 1s", "no group is named `image`"),
        (
            "first > 1s on 5g",
            "no network is named `5g`; known: 4g-tether",
        ),
    ] {
        let error = parsed(text).check_names(&names()).unwrap_err();
        assert!(error.contains(answer), "{text}: {error}");
    }
}

#[test]
fn bounds_decide_only_where_they_can() {
    let quantity = |value, bound| Quantity {
        bound,
        ..Quantity::without_interval(stats::Span::exact(value), 10, Unit::Ns)
    };
    let (above, below) = (parsed("first > 10s"), parsed("first < 10s"));
    for (value, bound, more, less) in [
        (9e9, Bound::Exact, Some(false), Some(true)),
        (11e9, Bound::Exact, Some(true), Some(false)),
        (9e9, Bound::AtLeast, None, None),
        (11e9, Bound::AtLeast, Some(true), Some(false)),
        (9e9, Bound::AtMost, Some(false), Some(true)),
        (11e9, Bound::AtMost, None, None),
    ] {
        let figure = quantity(value, bound);
        assert_eq!(above.holds(&figure), more, "{figure:?}");
        assert_eq!(below.holds(&figure), less, "{figure:?}");
    }
}

/// Renaming a variant must not change the published names.
#[test]
fn names_match_the_serialised_form() {
    for outcome in [
        ThresholdOutcome::Pass,
        ThresholdOutcome::Fail,
        ThresholdOutcome::CannotTell,
    ] {
        assert_eq!(serde_json::to_value(outcome).unwrap(), outcome.name());
    }
}
