//! Checks that the times of rows are possible: in the plan's order, and on the link.

use std::collections::BTreeMap;

use driver::protocol::{Clock, Row, Start};
use link::RateSpec;
use record::Position;
use record::server_log::{ConnectionEvent, RequestEvent};
use study::plan::PlannedStep;

use super::Claim;

/// The coarsest clocks of clients tick once per ms.
const MAX_OVERLAP_NS: u64 = 1_000_000;
/// The server stamps the end of a response after handing it over, and may wait for a core in
/// between; 60 ms were seen on two crowded cores.
const MAX_STAMP_DELAY_NS: u64 = 100_000_000;

/// Returns the rate that no transfer can exceed. A trace may be faster than its mean for a while.
pub fn highest_bps(rate: &RateSpec) -> Option<u64> {
    match rate {
        RateSpec::Constant { bps } => Some(bps.get()),
        RateSpec::Unlimited | RateSpec::Trace(_) => None,
    }
}

/// Checks that no call starts before the steps that its own waits for have ended.
pub(super) fn check_order(claim: &Claim<'_>, rows: &[Row]) -> Result<(), String> {
    let by_id: BTreeMap<u32, &Row> = rows.iter().map(|row| (row.id, row)).collect();
    let mut last: Option<&Row> = None;
    for (id, planned) in &claim.steps {
        let Some(&row) = by_id.get(id) else {
            continue;
        };
        let awaited = match planned.step.start {
            None => last,
            Some(Start::After(_)) => planned.awaits.and_then(|id| by_id.get(&id).copied()),
            Some(Start::AtNs(at_ns)) => {
                let due_ns = claim.run_ns + at_ns;
                if claim.clock == Clock::Monotonic && row.start_ns < due_ns {
                    return Err(format!(
                        "call {}: starts {} µs before its time",
                        row.id,
                        (due_ns - row.start_ns) / 1000
                    ));
                }
                None
            }
        };
        if let Some(awaited) = awaited
            && row.start_ns + MAX_OVERLAP_NS < awaited.end_ns
        {
            return Err(format!(
                "call {}: starts {} µs before call {} has ended, which it should wait for",
                row.id,
                (awaited.end_ns - row.start_ns) / 1000,
                awaited.id
            ));
        }
        if last.is_none_or(|last| last.end_ns < row.end_ns) {
            last = Some(row);
        }
    }
    Ok(())
}

/// Reports whether a row claims a connection that its call must have opened itself: by the plan nothing is open, and no
/// other call starts with it. A client that has found HTTP/3 by itself may connect at any time.
pub(super) fn must_open(claim: &Claim<'_>, step: &PlannedStep<'_>, row: &Row) -> bool {
    claim.clock == Clock::Monotonic
        && claim.discovery.is_none()
        && step.position != Position::Warm
        && step.starts_alone()
        && !row.reused
}

/// Checks that the connection's handshake was not complete before the call that opened it.
pub(super) fn check_handshake(row: &Row, connection: &ConnectionEvent) -> Result<(), String> {
    if connection.at_ns < row.start_ns {
        return Err(format!(
            "call {}: the driver claims to have opened its connection, the server had completed \
             the handshake {} µs before the driver's start",
            row.id,
            (row.start_ns - connection.at_ns) / 1000
        ));
    }
    Ok(())
}

/// Checks that a successful call took as long as the empty link needs at least: its round trip to the
/// first byte, and the time of its bytes to the end.
pub(super) fn check_duration(claim: &Claim<'_>, row: &Row) -> Result<(), String> {
    let id = row.id;
    let waited = (row.first_byte_ns.unwrap_or(row.end_ns)).saturating_sub(row.start_ns);
    // True on any clock, but for its own error.
    if waited < claim.least_rtt_ns - claim.least_rtt_ns / 50 {
        return Err(format!(
            "call {id}: first byte after {:.3} ms on a link with a round trip of {:.3} ms",
            waited as f64 / 1e6,
            claim.least_rtt_ns as f64 / 1e6
        ));
    }
    let transfer_ns = |bytes: u64, bps: Option<u64>| {
        let ns = bps.map_or(0, |bps| {
            u128::from(bytes) * 8_000_000_000 / u128::from(bps.max(1))
        });
        u64::try_from(ns).unwrap_or(u64::MAX)
    };
    let bytes_ns = transfer_ns(row.response_bytes, claim.down_bps)
        .max(transfer_ns(row.request_bytes, claim.up_bps));
    let least_ns = claim.least_rtt_ns.saturating_add(bytes_ns);
    let took_ns = row.end_ns.saturating_sub(row.start_ns);
    if took_ns < least_ns - least_ns / 50 {
        return Err(format!(
            "call {id}: ends after {:.3} ms, while its {} B up and {} B down take at least {:.3} ms \
             on this link",
            took_ns as f64 / 1e6,
            row.request_bytes,
            row.response_bytes,
            least_ns as f64 / 1e6
        ));
    }
    Ok(())
}

/// Checks that a call did not end before the server had sent its response.
pub(super) fn check_end(claim: &Claim<'_>, row: &Row, hit: &RequestEvent) -> Result<(), String> {
    let id = row.id;
    let seen_ns = row.end_ns + claim.least_rtt_ns / 2 + MAX_STAMP_DELAY_NS;
    if claim.clock == Clock::Monotonic && seen_ns < hit.end_ns {
        return Err(format!(
            "call {id}: the driver's end is {} µs before the server had sent the response",
            (hit.end_ns - row.end_ns) / 1000
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{claim, connection, request, row, workload};
    use super::super::{Proven, prove};
    use super::*;
    use driver::protocol::Reconnect;
    use record::server_log::ServerEvent;
    use study::Step;
    use study::plan::Workload;

    const MS: u64 = 1_000_000;

    fn call(times: u32) -> Step {
        Step::Call {
            group: "echo".into(),
            body: "{}".into(),
            times,
        }
    }

    fn opened_at(at_ns: u64) -> ServerEvent {
        let ServerEvent::Connection(mut opened) = connection() else {
            unreachable!()
        };
        opened.at_ns = at_ns;
        ServerEvent::Connection(opened)
    }

    fn prove_one(workload: &Workload, row: Row, at_ns: u64) -> Result<Proven, String> {
        let log = [opened_at(at_ns), request(row.id, row.start_ns + 300)];
        prove(&claim(workload), &[row], &log)
    }

    #[test]
    fn a_connection_opened_before_the_call_is_not_its_own() {
        let cold = [Step::Reconnect(Reconnect::Cold), call(1)];
        let after_reconnect = Workload::expand(&cold);
        let new = |id| Row {
            reused: false,
            ..row(id, 1_100)
        };
        prove_one(&after_reconnect, new(2), 1_100).unwrap();
        let error = prove_one(&after_reconnect, new(2), 1_099).unwrap_err();
        assert!(
            error.contains("claims to have opened its connection"),
            "{error}"
        );
        // The first call of a process may not find one either.
        prove_one(&Workload::expand(&[call(1)]), new(1), 1_099).unwrap_err();
        // Where several calls start at once, one may take a connection that another asked for.
        let parallel = Workload::expand(&[Step::Parallel(vec![call(2)])]);
        prove_one(&parallel, new(1), 1_099).unwrap();
    }

    #[test]
    fn calls_in_sequence_do_not_overlap() {
        let rows = |overlap_ns: u64| {
            let mut rows = [row(1, 1_100), row(2, 10 * MS)];
            rows[0].end_ns = 10 * MS + overlap_ns;
            rows
        };
        let sequence = workload();
        check_order(&claim(&sequence), &rows(MAX_OVERLAP_NS)).unwrap();
        let error = check_order(&claim(&sequence), &rows(MAX_OVERLAP_NS + 1)).unwrap_err();
        assert!(error.contains("before call 1 has ended"), "{error}");
        let parallel = Workload::expand(&[Step::Parallel(vec![call(2)])]);
        check_order(&claim(&parallel), &rows(MAX_OVERLAP_NS + 1)).unwrap();
        // Calls in turn beside another follow each other, whatever pauses are between them.
        let in_turn = Step::Repeat {
            times: 2,
            steps: vec![call(1), Step::Pause { ns: 1 }],
        };
        let beside = Workload::expand(&[Step::Parallel(vec![in_turn])]);
        let of_third = |overlap_ns: u64| {
            let [first, mut second] = rows(overlap_ns);
            second.id = 3;
            [first, second]
        };
        check_order(&claim(&beside), &of_third(MAX_OVERLAP_NS)).unwrap();
        check_order(&claim(&beside), &of_third(MAX_OVERLAP_NS + 1)).unwrap_err();
        // A parallel step starts when the step before it has ended.
        let then = Workload::expand(&[call(1), Step::Parallel(vec![call(2)])]);
        check_order(&claim(&then), &rows(MAX_OVERLAP_NS + 1)).unwrap_err();
    }

    fn hit(end_ns: u64) -> RequestEvent {
        let ServerEvent::Request(mut hit) = request(1, 1_400) else {
            unreachable!()
        };
        hit.end_ns = end_ns;
        hit
    }

    #[test]
    fn bytes_take_their_time_on_the_link() {
        let workload = workload();
        let mut claim = claim(&workload);
        (claim.least_rtt_ns, claim.down_bps) = (100 * MS, Some(1_000_000));
        // 0.1 s of round trip and 1 s of bytes, less 2 %.
        let took = |ns: u64| Row {
            response_bytes: 125_000,
            first_byte_ns: Some(1_100 + 100 * MS),
            end_ns: 1_100 + ns,
            ..row(1, 1_100)
        };
        check_duration(&claim, &took(1_078 * MS)).unwrap();
        let error = check_duration(&claim, &took(1_078 * MS - 1)).unwrap_err();
        assert!(error.contains("at least 1100.000 ms"), "{error}");
        (claim.down_bps, claim.up_bps) = (None, Some(1_000_000));
        check_duration(&claim, &took(100 * MS)).unwrap();
        let upload = Row {
            request_bytes: 125_000,
            ..took(100 * MS)
        };
        check_duration(&claim, &upload).unwrap_err();
    }

    #[test]
    fn a_call_does_not_end_before_its_response_was_sent() {
        let workload = workload();
        let mut claim = claim(&workload);
        let row = row(1, 1_100);
        let latest = row.end_ns + claim.least_rtt_ns / 2 + MAX_STAMP_DELAY_NS;
        check_end(&claim, &row, &hit(latest)).unwrap();
        let error = check_end(&claim, &row, &hit(latest + 1)).unwrap_err();
        assert!(
            error.contains("before the server had sent the response"),
            "{error}"
        );
        claim.clock = Clock::Own;
        check_end(&claim, &row, &hit(latest + 1)).unwrap();
    }

    #[test]
    fn only_constant_rates_bound_a_transfer() {
        assert_eq!(highest_bps(&RateSpec::constant(7)), Some(7));
        assert_eq!(highest_bps(&RateSpec::Unlimited), None);
    }
}
