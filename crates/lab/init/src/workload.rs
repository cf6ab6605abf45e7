//! The steps of a workload, from the times of its requests.

use crate::notes::Notes;
use crate::seen::Seen;

/// A shorter pause is a program's, not a user's.
const LEAST_PAUSE_NS: u64 = 100_000_000;
/// The most that all pauses of a study may take together: each is made again in every cell, about a hundred times.
const PAUSES_NS: u64 = 5_000_000_000;

/// Requests of a group, by its index, and how many.
pub(crate) type Times = (usize, u32);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    PauseMs(u64),
    /// One after another.
    Calls(Times),
    /// All at once.
    Parallel(Vec<Times>),
}

/// Returns the steps; `seen` is in order of its starts.
pub(crate) fn steps(seen: &[Seen], group_of: &[Option<usize>], notes: &mut Notes) -> Vec<Step> {
    let batches = overlapping(seen, group_of);
    let pauses_ns = pauses(&batches, notes);
    let mut steps: Vec<Step> = Vec::new();
    for (overlapping, pause_ns) in batches.iter().zip(pauses_ns) {
        if pause_ns > 0 {
            steps.push(Step::PauseMs(pause_ns / 1_000_000));
        }
        let mut calls: Vec<Times> = Vec::new();
        for (_, group) in overlapping {
            match calls.iter_mut().find(|(known, _)| known == group) {
                Some((_, times)) => *times += 1,
                None => calls.push((*group, 1)),
            }
        }
        match (&calls[..], steps.last_mut()) {
            ([(group, 1)], Some(Step::Calls((last, times)))) if last == group => *times += 1,
            ([(group, 1)], _) => steps.push(Step::Calls((*group, 1))),
            _ => steps.push(Step::Parallel(calls)),
        }
    }
    steps
}

/// Returns the user's pause before each batch in ns, 0 where there is none. Cuts the longest pauses if all together
/// exceed `PAUSES_NS`.
fn pauses(batches: &[Vec<(&Seen, usize)>], notes: &mut Notes) -> Vec<u64> {
    let starts = batches
        .iter()
        .map(|batch| batch.iter().map(|(request, _)| request.start_ns).min());
    let ends = batches
        .iter()
        .map(|batch| batch.iter().map(|(request, _)| request.end_ns).max());
    let pause = |(start, end): (Option<u64>, Option<u64>)| {
        let ns = start?.saturating_sub(end?);
        (ns > LEAST_PAUSE_NS).then_some(ns)
    };
    let mut pauses: Vec<u64> = starts
        .zip(std::iter::once(None).chain(ends))
        .map(|both| pause(both).unwrap_or(0))
        .collect();
    let seen_ns = pauses
        .iter()
        .fold(0, |sum: u64, ns| sum.saturating_add(*ns));
    if seen_ns > PAUSES_NS {
        let longest = longest_pause_ns(&pauses);
        notes.remark(format!(
            "think time totals {:.1} s; cut to {} s (at most {:.1} s each) to keep cells short",
            seen_ns as f64 / 1e9,
            PAUSES_NS / 1_000_000_000,
            longest as f64 / 1e9,
        ));
        for ns in &mut pauses {
            *ns = longest.min(*ns);
        }
    }
    pauses
}

/// Returns the longest pause such that all pauses together take `PAUSES_NS`. Uncut, they exceed it.
fn longest_pause_ns(pauses: &[u64]) -> u64 {
    let mut sorted = pauses.to_vec();
    sorted.sort_unstable();
    let mut left = PAUSES_NS;
    for (shorter, ns) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - shorter) as u64;
        if *ns > share {
            return share;
        }
        left -= ns;
    }
    left
}

/// Groups requests that overlap in time into batches, each request with the index of its group.
fn overlapping<'a>(seen: &'a [Seen], group_of: &[Option<usize>]) -> Vec<Vec<(&'a Seen, usize)>> {
    let mut all: Vec<Vec<(&Seen, usize)>> = Vec::new();
    let mut end_ns = 0;
    let kept = seen
        .iter()
        .zip(group_of)
        .filter_map(|(r, group)| Some((r, (*group)?)));
    for (request, group) in kept {
        match all.last_mut() {
            Some(last) if request.start_ns < end_ns => last.push((request, group)),
            _ => all.push(vec![(request, group)]),
        }
        end_ns = end_ns.max(request.end_ns);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(start_ms: u64, end_ms: u64) -> Seen {
        Seen {
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            ..Seen::default()
        }
    }

    fn steps_of(requests: &[(u64, u64, usize)]) -> Vec<Step> {
        let seen: Vec<Seen> = requests
            .iter()
            .map(|(start, end, _)| seen(*start, *end))
            .collect();
        let groups: Vec<Option<usize>> =
            requests.iter().map(|(_, _, group)| Some(*group)).collect();
        steps(&seen, &groups, &mut Notes::default())
    }

    #[test]
    fn requests_one_after_another_are_counted() {
        let steps = steps_of(&[(0, 10, 0), (20, 30, 0), (30, 40, 1)]);
        assert_eq!(steps, [Step::Calls((0, 2)), Step::Calls((1, 1))]);
    }

    #[test]
    fn requests_that_overlap_are_parallel() {
        let steps = steps_of(&[
            (0, 50, 0),
            (10, 20, 1),
            (45, 90, 1),
            (80, 95, 0),
            (95, 99, 0),
        ]);
        assert_eq!(
            steps,
            [Step::Parallel(vec![(0, 2), (1, 2)]), Step::Calls((0, 1))]
        );
    }

    #[test]
    fn users_pause_and_programs_do_not() {
        let steps = steps_of(&[(0, 10, 0), (110, 120, 0), (3120, 3130, 0)]);
        assert_eq!(
            steps,
            [
                Step::Calls((0, 2)),
                Step::PauseMs(3000),
                Step::Calls((0, 1)),
            ]
        );
    }

    #[test]
    fn the_longest_pauses_are_cut_so_that_all_take_five_seconds() {
        let starts_ms = [0, 1000, 61_000, 1_061_000];
        let requests: Vec<(u64, u64, usize)> = starts_ms.iter().map(|ms| (*ms, *ms, 0)).collect();
        let pauses = steps_of(&requests)
            .into_iter()
            .filter(|step| !matches!(step, Step::Calls(_)));
        assert_eq!(
            pauses.collect::<Vec<_>>(),
            [1000, 2000, 2000].map(Step::PauseMs)
        );
    }

    #[test]
    fn requests_that_are_left_out_leave_their_time() {
        let all = [seen(0, 10), seen(10, 500), seen(500, 510)];
        let steps = steps(&all, &[Some(0), None, Some(0)], &mut Notes::default());
        let pause = Step::PauseMs(490);
        assert_eq!(steps, [Step::Calls((0, 1)), pause, Step::Calls((0, 1))]);
    }
}
