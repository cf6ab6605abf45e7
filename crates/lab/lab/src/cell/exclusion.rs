//! Keeps cells of parallel blocks from interfering with each other.
//!
//! Starting a server and a driver takes much CPU, so no cell measures meanwhile. The workers go
//! through rounds: each starts its cell, one after another, and when the last has started, all
//! measure at once. With `n` workers, a start-up of `s` and a measurement of `m`, `n` cells take
//! `n s + m` instead of `n (s + m)`. Cells on fast networks, which others would disturb even so,
//! measure alone.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use link::Network;

/// Below this round trip, and above this rate, two cells in parallel delay each other on two cores
/// (`commute doctor --jobs` measures it).
const MIN_RTT_NS: u64 = 20_000_000;
const MAX_RATE_BPS: u64 = 20_000_000;

/// What the workers of one run share.
#[derive(Default)]
pub(crate) struct MeasurementGate {
    state: Mutex<State>,
    changed: Condvar,
}

/// What the workers are doing.
#[derive(Default)]
struct State {
    /// Workers that are about to start a cell, or are starting or ending one. Whoever is ready to
    /// measure waits for them: a measurement begun earlier would keep them from starting.
    preparing: usize,
    measuring: usize,
    /// Whether a cell is starting up.
    starting: bool,
    /// Starts happen in the order in which they were asked for: the ticket of the next one to ask,
    /// and that of the next one to start.
    next_ticket: u64,
    next_start: u64,
}

/// A worker's place in the rounds, until it has no more cells.
pub(crate) struct Lane<'g> {
    gate: &'g MeasurementGate,
}

/// One cell's access to the gate.
pub(crate) struct Access<'g> {
    gate: &'g MeasurementGate,
    /// Whether the cell may measure in parallel with others.
    overlaps: bool,
}

/// Held while a cell starts up or measures.
pub(crate) struct Permit<'g> {
    gate: &'g MeasurementGate,
    /// Whether it excludes all others.
    exclusive: bool,
}

impl MeasurementGate {
    /// Adds a worker; the others wait for its cells from now on.
    pub(crate) fn lane(&self) -> Lane<'_> {
        self.lock().preparing += 1;
        Lane { gate: self }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while<'g>(
        &'g self,
        state: MutexGuard<'g, State>,
        condition: impl Fn(&mut State) -> bool,
    ) -> MutexGuard<'g, State> {
        self.changed
            .wait_while(state, condition)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'g> Lane<'g> {
    /// Returns the access of a cell on this network.
    pub(crate) fn for_network(&self, network: &Network) -> Access<'g> {
        Access {
            gate: self.gate,
            overlaps: may_overlap(network),
        }
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        self.gate.lock().preparing -= 1;
        self.gate.changed.notify_all();
    }
}

impl<'g> Access<'g> {
    /// Waits until no other cell starts up or measures.
    pub(crate) fn exclusive(&self) -> Permit<'g> {
        let mut state = self.gate.lock();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        let mut state = (self.gate).wait_while(state, |s| {
            s.starting || s.measuring > 0 || s.next_start != ticket
        });
        state.next_start += 1;
        state.starting = true;
        Permit {
            gate: self.gate,
            exclusive: true,
        }
    }

    /// Exchanges the permit of start-up for that of measuring, once every worker has started.
    pub(crate) fn for_measuring(&self, permit: Permit<'g>) -> Permit<'g> {
        if !self.overlaps {
            return permit;
        }
        drop(permit);
        let mut state = self.gate.lock();
        state.preparing -= 1;
        self.gate.changed.notify_all();
        // Once one of them measures, the others of the round may too, although the first may have
        // ended and be preparing again.
        let mut state = (self.gate).wait_while(state, |s| {
            s.starting || (s.preparing > 0 && s.measuring == 0)
        });
        state.measuring += 1;
        self.gate.changed.notify_all();
        Permit {
            gate: self.gate,
            exclusive: false,
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        if self.exclusive {
            state.starting = false;
        } else {
            state.measuring -= 1;
            state.preparing += 1;
        }
        drop(state);
        self.gate.changed.notify_all();
    }
}

/// Returns whether cells on this network may measure in parallel.
pub(crate) fn may_overlap(network: &Network) -> bool {
    let slow = |bps: Option<u64>| bps.is_some_and(|bps| bps <= MAX_RATE_BPS);
    network.rtt_ns() >= MIN_RTT_NS
        && slow(network.down.rate.mean_bps())
        && slow(network.up.rate.mean_bps())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::thread;

    use super::*;

    /// What a worker does next, and when it has done so.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Step {
        Start,
        Measure,
        End,
    }

    /// A worker on a thread of its own, which takes the steps it is asked for.
    struct Worker {
        ask: Sender<Step>,
        done: Receiver<Step>,
    }

    impl Worker {
        fn new<'s>(scope: &'s thread::Scope<'s, '_>, gate: &'s MeasurementGate) -> Worker {
            let (ask, asked) = channel();
            let (report, done) = channel();
            let lane = gate.lane();
            scope.spawn(move || {
                let access = lane.for_network(&link::find("true-metro").unwrap());
                let mut permit = None;
                for step in asked {
                    permit = match step {
                        Step::Start => Some(access.exclusive()),
                        Step::Measure => permit.take().map(|p| access.for_measuring(p)),
                        Step::End => None,
                    };
                    report.send(step).unwrap();
                }
            });
            Worker { ask, done }
        }

        fn ask(&self, step: Step) {
            self.ask.send(step).unwrap();
        }

        fn done(&self, step: Step) {
            assert_eq!(self.done.recv().unwrap(), step);
        }

        fn does(&self, step: Step) {
            self.ask(step);
            self.done(step);
        }

        fn is_waiting(&self) -> bool {
            self.done.try_recv().is_err()
        }
    }

    /// Waits until the gate's state satisfies the condition, which only a blocked worker changes.
    fn until(gate: &MeasurementGate, condition: impl Fn(&State) -> bool) {
        while !condition(&gate.lock()) {
            thread::yield_now();
        }
    }

    #[test]
    fn cells_on_fast_networks_do_not_overlap() {
        assert!(may_overlap(&link::find("true-metro").unwrap()));
        assert!(!may_overlap(&link::find("lan").unwrap()));
    }

    #[test]
    fn measurements_overlap_and_exclude_starts() {
        let gate = MeasurementGate::default();
        thread::scope(|scope| {
            let (a, b) = (Worker::new(scope, &gate), Worker::new(scope, &gate));
            for _round in 0..3 {
                a.does(Step::Start);
                // The second start waits for the first, the first measurement for both.
                b.ask(Step::Start);
                until(&gate, |s| s.next_ticket == s.next_start + 1);
                assert!(b.is_waiting());
                a.ask(Step::Measure);
                b.done(Step::Start);
                assert!(a.is_waiting());
                b.does(Step::Measure);
                a.done(Step::Measure);
                assert_eq!(gate.lock().measuring, 2);
                // A cell that ends first waits for the other one before it starts again.
                b.does(Step::End);
                b.ask(Step::Start);
                until(&gate, |s| s.next_ticket == s.next_start + 1);
                assert!(b.is_waiting());
                a.does(Step::End);
                b.done(Step::Start);
                b.ask(Step::End);
                b.done(Step::End);
            }
        });
    }

    #[test]
    fn a_worker_without_cells_keeps_nobody_waiting() {
        let gate = MeasurementGate::default();
        thread::scope(|scope| {
            let a = Worker::new(scope, &gate);
            let b = Worker::new(scope, &gate);
            a.does(Step::Start);
            a.ask(Step::Measure);
            until(&gate, |s| s.preparing == 1 && !s.starting);
            assert!(a.is_waiting());
            drop(b);
            a.done(Step::Measure);
        });
    }

    #[test]
    fn starts_happen_in_the_order_in_which_they_were_asked_for() {
        let gate = MeasurementGate::default();
        thread::scope(|scope| {
            let workers: Vec<_> = (0..4).map(|_| Worker::new(scope, &gate)).collect();
            workers[0].does(Step::Start);
            for (i, worker) in (1..).zip(&workers[1..]) {
                worker.ask(Step::Start);
                until(&gate, |s| s.next_ticket == i + 1);
            }
            for pair in workers.windows(2) {
                assert!(pair[1].is_waiting());
                pair[0].does(Step::End);
                pair[1].done(Step::Start);
            }
        });
    }
}
