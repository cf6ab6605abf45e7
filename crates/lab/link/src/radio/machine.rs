//! The states of a radio over virtual time.

#![expect(
    clippy::disallowed_types,
    reason = "each direction of a link may run in a thread of its own, and both share the radio"
)]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::{Begins, RadioSpec, RadioStateSpec};
use crate::{model::Direction, rng::RandomStream};

/// Changes of state that are kept: nine hours of a packet a second, with two changes each.
const MAX_CHANGES: usize = 1 << 16;

/// A radio that both directions of a link share. Clones are the same radio.
#[derive(Clone, Debug)]
pub struct Radio(Arc<Mutex<Machine>>);

/// A state of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RadioState {
    /// In the state of this index in [`RadioSpec::states`].
    At(u8),
    /// On its way to the first state.
    Promoting,
}

impl RadioState {
    /// The name of a promotion in logs.
    pub const PROMOTING: &str = "promoting";
    /// The name in logs of what comes after the last change that was kept.
    pub const UNRECORDED: &str = "unrecorded";

    /// Returns the name of the state of a radio.
    pub fn name(self, spec: &RadioSpec) -> &str {
        match self {
            RadioState::Promoting => RadioState::PROMOTING,
            RadioState::At(index) => spec
                .states
                .get(usize::from(index))
                .map_or("unknown", |state| &state.name),
        }
    }
}

/// When a packet can be carried, in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carried {
    /// At this time.
    At(u64),
    /// Once the radio has woken up: at this time, or sooner if something else wakes it up.
    AfterWaking(u64),
}

/// The moment at which a radio changes its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioChange {
    /// Virtual time, in ns.
    pub at_ns: u64,
    /// The state from then on.
    pub state: RadioState,
}

/// The states of a radio from the origin of virtual time on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RadioLog {
    /// The changes in order of time, the first at the origin.
    pub changes: Vec<RadioChange>,
    /// There were too many changes, and the last are missing.
    pub is_cut: bool,
}

impl Radio {
    /// Returns a radio in its initial state. The seed determines when it listens and how long promotions take.
    pub fn new(spec: &RadioSpec, seed: u64) -> Radio {
        Radio(Arc::new(Mutex::new(Machine::new(spec, seed))))
    }

    /// Sets the origin of virtual time, at which the radio is in its initial state.
    pub(crate) fn start(&self, origin_ns: u64) {
        let mut machine = self.machine();
        // Both directions start it, and a packet may have come in between.
        if machine.origin_ns != origin_ns {
            machine.start(origin_ns);
        }
    }

    /// Returns when a packet that reaches the radio at `now_ns` can be carried.
    pub(crate) fn carry(&self, now_ns: u64, direction: Direction, ip_bytes: u32) -> Carried {
        self.machine().carry(now_ns, direction, ip_bytes)
    }

    /// Returns since when, or from when on, the radio can carry packets.
    pub(crate) fn ready_ns(&self) -> u64 {
        self.machine().ready_ns
    }

    /// Wakes the radio up for a packet that passes at `at_ns`, if it has fallen asleep since it woke up for it.
    pub(crate) fn wake_by(&self, at_ns: u64) {
        let mut machine = self.machine();
        if at_ns >= machine.ready_ns && machine.state_at(at_ns) > 0 {
            machine.sleep_until(at_ns);
            machine.promote(at_ns, 0);
        }
    }

    /// Keeps the radio awake until `until_ns`, when the link has carried the last packet of a direction.
    pub(crate) fn busy_until(&self, until_ns: u64, direction: Direction) {
        self.machine().busy_until(until_ns, direction);
    }

    /// Returns the states from the origin to `until_ns`, which may be later than the last packet: then those that the
    /// radio falls to if no other comes.
    pub fn log(&self, until_ns: u64) -> RadioLog {
        self.machine().clone().into_log(until_ns)
    }

    /// Locks the machine. A thread that panicked leaves no half of a change.
    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Debug)]
struct Machine {
    spec: RadioSpec,
    promotions: RandomStream,
    /// Number of promotions since the origin; it keys the draw of the next.
    promoted: u64,
    /// When the phone listens after the origin, modulo the cycle, and when it can ask for a grant; by state.
    offsets_ns: Vec<[u64; 2]>,
    origin_ns: u64,
    /// Since when nothing is sent; `None` if nothing was since the origin, and the radio is in its last state. It may be
    /// before the origin or in the future.
    quiet_ns: Option<i128>,
    /// The state that the last packet left the radio in.
    state: usize,
    /// The last wake-up: the state before, when the promotion began, and when the radio could carry.
    woke_from: usize,
    promoting_ns: u64,
    ready_ns: u64,
    /// Until when the phone has a grant, because it has not sent all that it asked for.
    granted_ns: u64,
    log: RadioLog,
}

impl Machine {
    fn new(spec: &RadioSpec, seed: u64) -> Machine {
        let stream = |purpose| RandomStream::new(seed, Direction::Down, purpose);
        let offset = |purpose, i: usize, cycle_ns: u64| {
            let draw = u128::from(stream(purpose).draw_at(0, i as u64));
            ((draw * u128::from(cycle_ns)) >> 64) as u64
        };
        let offsets = spec.states.iter().enumerate().map(|(i, state)| {
            [
                offset("radio listens", i, state.down_cycle_ns),
                offset("radio asks", i, state.up_cycle_ns),
            ]
        });
        let mut machine = Machine {
            offsets_ns: offsets.collect(),
            promotions: stream("radio promotion"),
            promoted: 0,
            spec: spec.clone(),
            origin_ns: 0,
            quiet_ns: None,
            state: 0,
            woke_from: 0,
            promoting_ns: 0,
            ready_ns: 0,
            granted_ns: 0,
            log: RadioLog::default(),
        };
        machine.start(0);
        machine
    }

    fn start(&mut self, origin_ns: u64) {
        let is_connected = self.spec.begins == Begins::Connected;
        self.origin_ns = origin_ns;
        self.promoted = 0;
        self.quiet_ns = is_connected.then_some(i128::from(origin_ns));
        self.state = match is_connected {
            true => 0,
            false => self.spec.states.len() - 1,
        };
        (self.promoting_ns, self.ready_ns) = (origin_ns, origin_ns);
        self.granted_ns = origin_ns;
        self.log = RadioLog::default();
        self.change(origin_ns, RadioState::At(self.state as u8));
    }

    fn carry(&mut self, now_ns: u64, direction: Direction, ip_bytes: u32) -> Carried {
        if now_ns < self.ready_ns {
            self.join(now_ns, direction);
            return Carried::AfterWaking(self.ready_ns);
        }
        let state = self.state_at(now_ns);
        self.sleep_until(now_ns);
        let small_bytes = match direction {
            Direction::Up => self.spec.states[state].small_up_bytes,
            Direction::Down => self.spec.states[state].small_down_bytes,
        };
        let is_granted = state == 0 && direction == Direction::Up && now_ns <= self.granted_ns;
        let heard_ns = match is_granted {
            true => now_ns,
            false => self.next(state, direction, now_ns),
        };
        if state == 0 || ip_bytes <= small_bytes {
            self.state = state;
            self.busy_until(heard_ns, direction);
            return Carried::At(heard_ns);
        }
        self.woke_from = state;
        let takes_ns = self.promotion_ns(state);
        self.promote(heard_ns, takes_ns);
        Carried::AfterWaking(self.ready_ns)
    }

    fn busy_until(&mut self, until_ns: u64, direction: Direction) {
        if direction == Direction::Up {
            self.granted_ns = self.granted_ns.max(until_ns);
        }
        // A packet that needs no promotion begins its state again.
        let since_ns = i128::from(until_ns) - i128::from(self.spec.states[self.state].after_ns);
        self.quiet_ns = self.quiet_ns.max(Some(since_ns));
    }

    /// Takes a packet that comes while the radio wakes up. The phone need not wait until it would listen.
    fn join(&mut self, now_ns: u64, direction: Direction) {
        let takes_ns = self.ready_ns - self.promoting_ns;
        let asks_ns = self.next(self.woke_from, direction, now_ns);
        if direction == Direction::Up && asks_ns < self.promoting_ns {
            self.promote(asks_ns, takes_ns);
        }
    }

    /// Wakes up from `at_ns` on.
    fn promote(&mut self, at_ns: u64, takes_ns: u64) {
        self.promoting_ns = at_ns;
        self.ready_ns = at_ns.saturating_add(takes_ns);
        self.state = 0;
        self.quiet_ns = Some(i128::from(self.ready_ns));
        self.granted_ns = self.ready_ns;
        if takes_ns > 0 {
            self.change(at_ns, RadioState::Promoting);
        }
        self.change(self.ready_ns, RadioState::At(0));
    }

    /// Draws how long the next promotion takes.
    fn promotion_ns(&mut self, state: usize) -> u64 {
        let RadioStateSpec {
            promotion_ns,
            promotion_jitter_ns: jitter_ns,
            ..
        } = self.spec.states[state];
        let draw = u128::from(self.promotions.draw_at(0, self.promoted));
        self.promoted += 1;
        let above_least_ns = (draw * (2 * u128::from(jitter_ns) + 1)) >> 64;
        promotion_ns - jitter_ns + above_least_ns as u64
    }

    /// Returns the first moment from `now_ns` on at which a packet of a direction is heard in a state.
    fn next(&self, state: usize, direction: Direction, now_ns: u64) -> u64 {
        let RadioStateSpec {
            down_cycle_ns,
            up_cycle_ns,
            ..
        } = self.spec.states[state];
        let [down_ns, up_ns] = self.offsets_ns[state];
        let (cycle_ns, offset_ns) = match direction {
            Direction::Up => (up_cycle_ns, up_ns),
            Direction::Down => (down_cycle_ns, down_ns),
        };
        if cycle_ns == 0 {
            return now_ns;
        }
        let since_ns = now_ns.saturating_sub(self.origin_ns);
        let past_ns = (since_ns % cycle_ns + cycle_ns - offset_ns) % cycle_ns;
        match past_ns {
            0 => now_ns,
            _ => now_ns.saturating_add(cycle_ns - past_ns),
        }
    }

    fn state_at(&self, now_ns: u64) -> usize {
        let Some(quiet_ns) = self.quiet_ns else {
            return self.state;
        };
        let idle_ns = i128::from(now_ns) - quiet_ns;
        let entered = |state: &RadioStateSpec| i128::from(state.after_ns) <= idle_ns.max(0);
        let asleep = self.spec.states.partition_point(entered) - 1;
        // A small packet that the link is still carrying does not wake the radio.
        asleep.max(self.state)
    }

    /// Logs the states that the radio has fallen to by `now_ns`.
    fn sleep_until(&mut self, now_ns: u64) {
        let Some(quiet_ns) = self.quiet_ns else {
            return;
        };
        for state in self.state + 1..=self.state_at(now_ns) {
            let at_ns = quiet_ns + i128::from(self.spec.states[state].after_ns);
            let at_ns = u64::try_from(at_ns).unwrap_or_default();
            self.change(at_ns, RadioState::At(state as u8));
        }
    }

    /// Logs a change. One that was to come later does not happen.
    fn change(&mut self, at_ns: u64, state: RadioState) {
        let RadioLog { changes, is_cut } = &mut self.log;
        if *is_cut {
            return;
        }
        while changes.len() > 1 && changes.last().is_some_and(|last| last.at_ns >= at_ns) {
            changes.pop();
        }
        match changes.last() {
            Some(last) if last.state == state => {}
            _ if changes.len() == MAX_CHANGES => *is_cut = true,
            _ => changes.push(RadioChange { at_ns, state }),
        }
    }

    fn into_log(mut self, until_ns: u64) -> RadioLog {
        self.sleep_until(until_ns);
        self.log.changes.retain(|change| change.at_ns <= until_ns);
        self.log
    }
}
