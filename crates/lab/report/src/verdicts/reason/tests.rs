use super::*;
use crate::summary::quantity::{Method, Quantity, Unit};

fn reason(comparison: &Comparison, pairs: Vec<Pair>, rtt_ns: u64) -> Option<Reason> {
    super::reason(comparison, || pairs, rtt_ns)
}

const MS: f64 = 1e6;
const RTT_NS: u64 = 50_000_000;

/// Returns a comparison with this estimate and a margin of 2 ms.
fn comparison(verdict: Verdict, estimate_ms: f64) -> Comparison {
    Comparison {
        difference: Quantity {
            value: Some(estimate_ms * MS),
            bound: Bound::Exact,
            low: None,
            high: None,
            coverage: 0.95,
            interval: Method::Interpolated,
            blocks: 8,
            unit: Unit::Ns,
        },
        speedup: None,
        margin_ns: 2.0 * MS,
        verdict,
        clean_only: None,
        correlation: None,
        loss_correlation: None,
        noticeable_ns: None,
        caveats: Vec::new(),
        reason: None,
    }
}

/// Returns a pair of requests with these parts of arm and baseline, ms.
fn pair(arm: &[(Part, f64)], baseline: &[(Part, f64)]) -> Pair {
    let times = |parts: &[(Part, f64)]| -> PartTimes {
        (parts.iter())
            .map(|&(part, ms)| (part.into(), ms * MS))
            .collect()
    };
    let sum = |parts: &[(Part, f64)]| parts.iter().map(|(_, ms)| ms * MS).sum::<f64>();
    Pair {
        difference: Span::exact(sum(arm) - sum(baseline)),
        parts: Some([times(arm), times(baseline)]),
    }
}

fn without_parts(difference: Span) -> Pair {
    Pair {
        difference,
        parts: None,
    }
}

/// Returns eight pairs of HTTP/3 against HTTP/2, of which HTTP/2 has `unexplained` ms that no rule explains.
fn h3_against_h2(unexplained: f64) -> Vec<Pair> {
    let one = pair(
        &[
            (Part::QuicHandshake, 50.0),
            (Part::Exchange, 50.0),
            (Part::Client, 3.0),
        ],
        &[
            (Part::TcpHandshake, 50.0),
            (Part::TlsHandshake, 50.0),
            (Part::Exchange, 50.0),
            (Part::Client, 9.0),
            (Part::Unexplained, unexplained),
        ],
    );
    vec![one; 8]
}

fn outcome(comparison: &Comparison, pairs: Vec<Pair>) -> (ReasonOutcome, String) {
    let reason = reason(comparison, pairs, RTT_NS).unwrap();
    (reason.outcome, reason.words)
}

#[test]
fn the_largest_parts_are_the_reason() {
    let of = reason(
        &comparison(Verdict::Faster, -56.0),
        h3_against_h2(0.0),
        RTT_NS,
    );
    let of = of.unwrap();
    assert_eq!((of.outcome, of.pairs), (ReasonOutcome::Explained, 4));
    assert_eq!((of.sum_ns, of.unnamed_ns), (-56.0 * MS, 0.0));
    // TLS and QUIC are alternatives: neither is a reason.
    assert_eq!(
        of.words,
        "because no TCP handshake: -50.0 ms, one round trip; client: -6.0 ms"
    );
    assert_eq!(of.parts.len(), 4, "{:?}", of.parts);
    assert_eq!(of.parts[0].round_trips.map(f64::abs), Some(1.0));
    assert_eq!(of.parts[3].part, ReasonPart::Request(Part::Client));
    assert_eq!(of.parts[3].round_trips, None);
}

#[test]
fn parts_beyond_three_are_added_up() {
    let parts = [
        (Part::Client, 20.0),
        (Part::Server, 18.0),
        (Part::LinkBusy, 16.0),
        (Part::Nagle, 14.0),
        (Part::Timer, 12.0),
    ];
    let pairs = vec![pair(&parts, &[]); 8];
    assert_eq!(
        outcome(&comparison(Verdict::Slower, 80.0), pairs).1,
        "because client: +20.0 ms; server: +18.0 ms; link busy: +16.0 ms; all else: +26.0 ms"
    );
}

/// A wrong cause is worse than none.
#[test]
fn a_sum_that_differs_from_the_estimate_is_no_reason() {
    let words = "no reason: the parts sum to -56.0 ms, the estimate is -60.1 ms";
    let of = |estimate_ms| {
        outcome(
            &comparison(Verdict::Faster, estimate_ms),
            h3_against_h2(0.0),
        )
    };
    assert_eq!(of(-60.1), (ReasonOutcome::SumDiffers, words.to_owned()));
    // 5 % of 58.9 are 2.9 ms.
    assert_eq!(of(-58.9).0, ReasonOutcome::Explained);
    assert_eq!(of(-53.4).0, ReasonOutcome::Explained);
    assert_eq!(of(-53.2).0, ReasonOutcome::SumDiffers);
}

#[test]
fn what_is_unexplained_is_no_reason() {
    let of = |unexplained, estimate_ms| {
        outcome(
            &comparison(Verdict::Faster, estimate_ms),
            h3_against_h2(unexplained),
        )
    };
    assert_eq!(of(6.0, -62.0).0, ReasonOutcome::Explained);
    let words = "no reason: 6.5 ms of the estimate of -62.5 ms have no explanation";
    assert_eq!(
        of(6.5, -62.5),
        (ReasonOutcome::Unexplained, words.to_owned())
    );
}

#[test]
fn time_between_requests_is_a_reason() {
    let mut pairs = h3_against_h2(0.0);
    for pair in &mut pairs {
        pair.difference = Span::exact(44.0 * MS);
        let times = pair.parts.as_mut().unwrap();
        times[0].insert(ReasonPart::BetweenRequests, 103.0 * MS);
        times[1].insert(ReasonPart::BetweenRequests, 3.0 * MS);
    }
    let of = reason(&comparison(Verdict::Slower, 44.0), pairs, RTT_NS).unwrap();
    assert_eq!((of.sum_ns, of.unnamed_ns), (44.0 * MS, 0.0));
    assert_eq!(
        (of.outcome, of.words.as_str()),
        (
            ReasonOutcome::Explained,
            "because between requests: +100.0 ms; no TCP handshake: -50.0 ms, one round trip; client: -6.0 ms"
        )
    );
    assert_eq!(of.parts[0].round_trips, None);
}

/// Parts of requests that do not sum to their times.
#[test]
fn time_without_a_part_is_no_reason() {
    let mut pairs = h3_against_h2(0.0);
    for pair in &mut pairs {
        pair.difference = Span::exact(-64.0 * MS);
    }
    let of = reason(&comparison(Verdict::Faster, -58.0), pairs, RTT_NS).unwrap();
    assert_eq!(of.outcome, ReasonOutcome::Unexplained);
    assert_eq!((of.sum_ns, of.unnamed_ns), (-56.0 * MS, -8.0 * MS));
}

#[test]
fn many_small_parts_are_no_reason() {
    let small: Vec<(Part, f64)> = Part::ALL[3..15].iter().map(|part| (*part, 1.0)).collect();
    let pairs = vec![pair(&small, &[]); 8];
    let (outcome, words) = outcome(&comparison(Verdict::Slower, 12.0), pairs);
    assert_eq!(outcome, ReasonOutcome::Scattered);
    assert_eq!(
        words,
        "no reason: no part is 10 % of the estimate of +12.0 ms"
    );
}

/// Half of the pairs do not count: not a slow request, and not one that failed.
#[test]
fn only_the_half_around_the_estimate_counts() {
    let mut pairs = h3_against_h2(0.0);
    pairs[0] = pair(&[(Part::LossTimer, 900.0)], &[]);
    pairs[3] = without_parts(Span::at_least(10_000.0 * MS));
    pairs[7] = pair(&[], &[(Part::LossTimer, 900.0)]);
    let of = reason(&comparison(Verdict::Faster, -56.0), pairs, RTT_NS).unwrap();
    assert_eq!(
        (of.outcome, of.pairs, of.sum_ns),
        (ReasonOutcome::Explained, 4, -56.0 * MS)
    );
}

/// Small and large files: the estimate is near the difference of the large ones, which are the reason.
#[test]
fn the_half_that_is_nearest_to_the_estimate_counts() {
    let of = |client_ms: f64| pair(&[(Part::Client, client_ms)], &[]);
    let differences = [
        -600.0, -500.0, 0.0, 1.0, 2.0, 140.0, 150.0, 160.0, 290.0, 300.0,
    ];
    let pairs: Vec<Pair> = differences.map(of).into();
    let sum_ms = |estimate_ms| {
        let of = reason(
            &comparison(Verdict::Slower, estimate_ms),
            pairs.clone(),
            RTT_NS,
        );
        let of = of.unwrap();
        (of.pairs, of.sum_ns / MS)
    };
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    assert_eq!(sum_ms(170.0), (6, mean(&differences[4..])));
    assert_eq!(sum_ms(75.0), (6, mean(&differences[2..8])));
    assert_eq!(sum_ms(1e4), (6, mean(&differences[4..])));
}

#[test]
fn pairs_without_parts_are_no_reason() {
    let mut pairs = h3_against_h2(0.0);
    pairs[2..6].fill(without_parts(Span::exact(-56.0 * MS)));
    // A pair of failed requests stands in the middle, since nothing is known of it.
    pairs[6] = without_parts(Span::at_least(1.0).minus(Span::at_least(1.0)));
    let (outcome, words) = outcome(&comparison(Verdict::Faster, -56.0), pairs);
    assert_eq!(outcome, ReasonOutcome::Incomplete);
    assert!(words.ends_with(" of 4 pairs have parts"), "{words}");
}

#[test]
fn only_a_known_difference_has_a_reason() {
    let pairs = || h3_against_h2(0.0);
    let outlook = stats::Outlook::MayNotSettle;
    for verdict in [
        Verdict::NoDifference,
        Verdict::NotSlower,
        Verdict::NotFaster,
        Verdict::CannotTell { blocks: 8, outlook },
    ] {
        assert_eq!(
            reason(&comparison(verdict, -56.0), pairs(), RTT_NS),
            None,
            "{verdict:?}"
        );
    }
    let mut bound = comparison(Verdict::Faster, -56.0);
    bound.difference.bound = Bound::AtMost;
    assert_eq!(reason(&bound, pairs(), RTT_NS), None);
    let old = vec![without_parts(Span::exact(-56.0 * MS)); 8];
    assert_eq!(
        reason(&comparison(Verdict::Faster, -56.0), old, RTT_NS),
        None
    );
}

#[test]
fn a_link_without_delay_has_no_round_trips() {
    let of = reason(&comparison(Verdict::Faster, -56.0), h3_against_h2(0.0), 0).unwrap();
    assert_eq!(
        of.words,
        "because no TCP handshake: -50.0 ms; client: -6.0 ms"
    );
}

#[test]
fn requests_that_failed_are_the_reason_of_a_difference_of_unknown_size() {
    let failed = without_parts(Span::at_least(10_000.0 * MS));
    let of_baseline = without_parts(Span::exact(50.0 * MS).minus(Span::at_least(10_000.0 * MS)));
    let one = h3_against_h2(0.0)[0].clone();
    let of = |verdict, pairs: &[Pair]| {
        let mut comparison = comparison(verdict, 9_000.0);
        comparison.difference.bound = Bound::AtLeast;
        reason(&comparison, pairs.to_vec(), RTT_NS).map(|reason| (reason.outcome, reason.words))
    };
    let words = "because requests of the slower arm failed in 2 of 3 pairs".to_owned();
    let expected = Some((ReasonOutcome::Failed, words));
    assert_eq!(
        of(
            Verdict::Slower,
            &[failed.clone(), one.clone(), failed.clone()]
        ),
        expected
    );
    assert_eq!(
        of(
            Verdict::Faster,
            &[of_baseline.clone(), one.clone(), of_baseline]
        ),
        expected
    );
    assert_eq!(of(Verdict::Faster, &[failed.clone(), one.clone()]), None);
    assert_eq!(of(Verdict::NotFaster, &[failed.clone(), one]), None);
}
