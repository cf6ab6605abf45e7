use super::*;
use crate::summary::quantity::Method;

fn quantity(value: f64, low: f64, high: f64, unit: Unit) -> Quantity {
    Quantity {
        value: Some(value),
        bound: Bound::Exact,
        low: Some(low),
        high: Some(high),
        coverage: 0.95,
        interval: Method::Interpolated,
        blocks: 10,
        unit,
    }
}

#[test]
fn digits_follow_the_interval() {
    for (q, text) in [
        (
            quantity(265.4e6, 259e6, 274e6, Unit::Ns),
            "265 ms [259, 274]",
        ),
        (
            quantity(265.4e6, 259e6, 274.6e6, Unit::Ns),
            "265 ms [259, 275]",
        ),
        (
            quantity(1.123e9, 1.02e9, 1.2e9, Unit::Ns),
            "1.12 s [1.02, 1.20]",
        ),
        (
            quantity(880_000.0, 870_000.0, 900_000.0, Unit::Ns),
            "880 µs [870, 900]",
        ),
        (
            quantity(41_200.0, 41_100.0, 41_300.0, Unit::Bytes),
            "41.20 kB [41.10, 41.30]",
        ),
        (quantity(5e6, 5e6, 5e6, Unit::Ns), "5.0 ms"),
    ] {
        assert_eq!(with_interval(&q), text);
    }
}

#[test]
fn a_column_has_one_unit() {
    let quick = quantity(880_000.0, 870_000.0, 900_000.0, Unit::Ns);
    let slow = quantity(1.2e9, 1.1e9, 1.3e9, Unit::Ns);
    let usual = quantity(25e6, 24e6, 26e6, Unit::Ns);
    let column = Column::over([&quick, &slow, &usual]).unwrap();
    assert_eq!(column.unit(), "ms");
    assert_eq!(
        [&quick, &slow, &usual].map(|q| column.show(q)),
        [
            "0.88 [0.87, 0.90]",
            "1200 [1100, 1300]",
            "25.0 [24.0, 26.0]"
        ]
    );
    assert!(Column::over([]).is_none());
}

/// `0 to 300 ms slower` would be no verdict.
#[test]
fn an_interval_beyond_0_does_not_reach_it_in_print() {
    let slower = quantity(160e6, 0.4e6, 300e6, Unit::Ns);
    assert_eq!(size(&slower, false).unwrap().range, "0.4 to 300");
    let faster = quantity(-3e6, -18e6, -0.02e6, Unit::Ns);
    assert_eq!(size(&faster, true).unwrap().range, "0.02 to 18");
    assert_eq!(with_interval(&faster), "-3 ms [-18, -0.02]");
    let open = quantity(0.3e6, 0.0, 0.7e6, Unit::Ns);
    assert_eq!(size(&open, false).unwrap().range, "0 to 700");
}

#[test]
fn both_ends_of_a_difference_are_in_one_unit() {
    for (low, high, words) in [
        (-0.34e6, 1.2e6, ["0.34 ms", "1.2 ms"]),
        (-33e6, 90.4e6, ["33 ms", "90 ms"]),
        (-20e3, 300e6, ["0.02 ms", "300 ms"]),
        (0.0, 5e6, ["0 ms", "5 ms"]),
    ] {
        let (low, high) = ends_in(low, high, None);
        assert_eq!([low.as_str(), high.as_str()], words);
    }
    let usual = quantity(25e6, 24e6, 26e6, Unit::Ns);
    let column = Column::over([&usual]);
    assert_eq!(ends_in(-340e3, 585e3, column.as_ref()).0, "0.34 ms");
    let none = quantity(0.0, -227e3, 227e3, Unit::Ns);
    assert_eq!(Column::over_differences([&none]).unwrap().unit(), "µs");
}

#[test]
fn bounds_are_marked() {
    let mut q = quantity(10e9, 9e9, 0.0, Unit::Ns);
    (q.bound, q.high) = (Bound::AtLeast, None);
    assert_eq!(with_interval(&q), "≥ 10 s");
    assert_eq!(size(&q, false).unwrap().value, "at least 10 s");
    assert_eq!(size(&q, false).unwrap().range, "9 or more");
}

#[test]
fn differences_and_factors_are_inverted() {
    let faster = size(&quantity(-118e6, -133e6, -104e6, Unit::Ns), true).unwrap();
    assert_eq!(
        (faster.value.as_str(), faster.range.as_str()),
        ("118 ms", "104 to 133")
    );
    let slower = size(&quantity(0.5, 0.4, 0.8, Unit::Factor), true).unwrap();
    assert_eq!(
        (slower.value.as_str(), slower.range.as_str()),
        ("2.0x", "1.2 to 2.5")
    );
}

#[test]
fn nothing_needs_no_decimals() {
    let none = Quantity::without_interval(stats::Span::exact(0.0), 10, Unit::Percent);
    assert_eq!(with_interval(&none), "0 %");
}

#[test]
fn durations_and_percentages() {
    assert_eq!(duration(221e9), "3 min 41 s");
    assert_eq!(duration(6e6), "6 ms");
    assert_eq!(duration(5.55e6), "5.5 ms");
    assert_eq!(percent(0.95), "95 %");
    assert_eq!(percent(0.998), "99.8 %");
    assert_eq!(percent(0.99792), "99.79 %");
}
