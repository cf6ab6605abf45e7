//! The steps of a workload, from the times of its requests.

use crate::notes::Notes;
use crate::seen::Seen;

/// A shorter pause is a program's, not a user's.
const LEAST_PAUSE_NS: u64 = 100_000_000;
/// A longer pause takes time in every cell and shows nothing new.
const LONGEST_PAUSE_NS: u64 = 60_000_000_000;

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
    let mut steps: Vec<Step> = Vec::new();
    let mut end_ns = None;
    for overlapping in overlapping(seen, group_of) {
        let start_ns = overlapping
            .iter()
            .map(|(request, _)| request.start_ns)
            .min();
        if let (Some(start), Some(end)) = (start_ns, end_ns) {
            pause(u64::saturating_sub(start, end), &mut steps, notes);
        }
        end_ns = overlapping.iter().map(|(request, _)| request.end_ns).max();
        let mut calls: Vec<Times> = Vec::new();
        for (_, group) in &overlapping {
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

fn pause(ns: u64, steps: &mut Vec<Step>, notes: &mut Notes) {
    if ns > LONGEST_PAUSE_NS {
        notes.remark(format!(
            "a pause was longer than {} s and is cut to that",
            LONGEST_PAUSE_NS / 1_000_000_000
        ));
    }
    if ns > LEAST_PAUSE_NS {
        steps.push(Step::PauseMs(ns.min(LONGEST_PAUSE_NS) / 1_000_000));
    }
}

/// Requests that overlap in time are together, each with its group.
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
    use http::Method;

    use super::*;
    use crate::seen::Body;

    fn seen(start_ms: u64, end_ms: u64) -> Seen {
        Seen {
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            origin: String::new(),
            connection: None,
            method: Method::GET,
            path: "/".to_owned(),
            headers: Vec::new(),
            request: Body::default(),
            response: Body::default(),
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
        let steps = steps_of(&[
            (0, 10, 0),
            (110, 120, 0),
            (3120, 3130, 0),
            (200_000, 200_010, 0),
        ]);
        assert_eq!(
            steps,
            [
                Step::Calls((0, 2)),
                Step::PauseMs(3000),
                Step::Calls((0, 1)),
                Step::PauseMs(60_000),
                Step::Calls((0, 1)),
            ]
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
