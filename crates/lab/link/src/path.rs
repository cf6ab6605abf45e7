//! One direction of a link: stages in a row, driven by arrivals and deadlines.

use serde::{Deserialize, Serialize};

use crate::{
    flows::Tickets,
    model::{Cause, Departure, Direction, Packet},
    radio::Radio,
    spec::PathSpec,
    stage::{self, Item, Stage},
};

/// The deadline of a stage that has none: later than any packet.
const NEVER: u64 = u64::MAX;

/// One direction of a link. The crate's documentation describes the life of a packet in it.
///
/// Call [`offer`](Path::offer) with arrivals in order of time, sleep until
/// [`next_deadline`](Path::next_deadline), then call [`poll`](Path::poll) until it returns `None`.
pub struct Path {
    stages: Vec<Box<dyn Stage>>,
    radio: Option<Radio>,
    /// The deadline of each stage, cached so that finding the next event calls no stage.
    deadlines: Vec<u64>,
    /// The least time between each stage and the end of the path.
    to_go_ns: Vec<u64>,
    tickets: Tickets,
    started: bool,
    last_arrival_ns: u64,
    delay_ns: u64,
    offered: u64,
    delivered: u64,
    dropped: Drops,
}

impl Path {
    /// Builds the stages that `spec` asks for; `seed` and `direction` determine their random draws. If it has a radio,
    /// this path alone uses it; see [`Path::with_radio`].
    pub fn new(spec: &PathSpec, direction: Direction, seed: u64) -> Path {
        let radio = spec.radio.as_ref().map(|radio| Radio::new(radio, seed));
        Path::with_radio(spec, direction, seed, radio.as_ref())
    }

    /// Builds one direction of a link, with the radio that both share.
    ///
    /// The radio takes packets of the two directions in the order in which their paths are offered and polled. The
    /// caller does so in order of time, as far as it can.
    pub fn with_radio(
        spec: &PathSpec,
        direction: Direction,
        seed: u64,
        radio: Option<&Radio>,
    ) -> Path {
        let stages = stage::build(spec, direction, seed, radio);
        let mut path = Path {
            deadlines: vec![NEVER; stages.len()],
            to_go_ns: vec![0; stages.len()],
            stages,
            radio: radio.cloned(),
            tickets: Tickets::default(),
            started: false,
            last_arrival_ns: 0,
            delay_ns: spec.delay_ns,
            offered: 0,
            delivered: 0,
            dropped: Drops::default(),
        };
        path.update_to_go();
        path
    }

    /// Sets the origin of the clocks of trace, gate, handovers, policy, burst loss and jitter: the start of the
    /// first step. Without this call the origin is the first packet.
    ///
    /// The packets of every flow are counted from zero again, so that arms with different warm-ups
    /// get common random numbers in their steps; the caller renews its [`FlowTable`](crate::FlowTable)
    /// too. Packets already inside keep their fate. A radio is then in its initial state; without this call it is
    /// from the time 0 on.
    pub fn start(&mut self, at_ns: u64) {
        if let Some(radio) = &self.radio {
            radio.start(at_ns);
        }
        self.start_stages(at_ns);
    }

    fn start_stages(&mut self, at_ns: u64) {
        self.started = true;
        self.tickets = Tickets::default();
        for stage in &mut self.stages {
            stage.start(at_ns);
        }
    }

    /// Takes a packet that arrives at `now_ns`. An arrival stamped before the previous one counts as
    /// simultaneous with it.
    pub fn offer(&mut self, now_ns: u64, packet: Packet) {
        let now_ns = now_ns.max(self.last_arrival_ns);
        self.last_arrival_ns = now_ns;
        if !self.started {
            self.start_stages(now_ns);
        }
        self.offered += 1;
        let ticket = self.tickets.next(&packet);
        self.offer_to(0, now_ns, Item { packet, ticket });
    }

    /// Returns when to poll next: no packet is delivered before then. Events inside the path can wait
    /// until then because every stage computes with arrival times, not with the time of the poll.
    pub fn next_deadline(&self) -> Option<u64> {
        let first = self
            .deadlines
            .iter()
            .zip(&self.to_go_ns)
            .map(|(deadline_ns, to_go_ns)| deadline_ns.saturating_add(*to_go_ns))
            .min();
        first.filter(|&deadline_ns| deadline_ns != NEVER)
    }

    /// Returns the next departure up to `now_ns`, in order of `at_ns`; `None` when there is no more.
    ///
    /// A queue with [`AqmSpec`](crate::AqmSpec) decides by what has arrived. Packets that arrived by `now_ns` are best
    /// offered before: one that comes late misses the decisions made, as if it had arrived right after them.
    pub fn poll(&mut self, now_ns: u64) -> Option<Departure> {
        while let Some(index) = self.earliest_stage(now_ns) {
            let stage = &mut self.stages[index];
            // No further, since what happens elsewhere until then comes first.
            let outcome = stage.poll(self.deadlines[index]);
            self.deadlines[index] = stage.next_deadline().unwrap_or(NEVER);
            let Some(outcome) = outcome else { continue };
            let (at_ns, token) = (outcome.at_ns, outcome.item.packet.token);
            if let Some(cause) = outcome.dropped {
                self.dropped.count(cause);
                return Some(Departure::Drop {
                    at_ns,
                    token,
                    cause,
                });
            }
            if index + 1 == self.stages.len() {
                self.delivered += 1;
                return Some(Departure::Deliver { at_ns, token });
            }
            self.offer_to(index + 1, at_ns, outcome.item);
        }
        None
    }

    /// Returns the number of packets so far, by what happened to them.
    pub fn counters(&self) -> Counters {
        Counters {
            offered: self.offered,
            delivered: self.delivered,
            dropped: self.dropped,
            queued: self.stages.iter().map(|stage| stage.queued() as u64).sum(),
        }
    }

    /// Returns the radio, if the link has one.
    pub fn radio(&self) -> Option<&Radio> {
        self.radio.as_ref()
    }

    /// Returns the configured fixed one-way delay, without jitter.
    pub fn delay_ns(&self) -> u64 {
        self.delay_ns
    }

    fn offer_to(&mut self, index: usize, now_ns: u64, item: Item) {
        let stage = &mut self.stages[index];
        stage.offer(now_ns, item);
        self.deadlines[index] = stage.next_deadline().unwrap_or(NEVER);
    }

    /// Returns the stage with the earliest event up to `now_ns`. Taking events one by one in order of
    /// time gives departures in order of time, however late the poll.
    fn earliest_stage(&self, now_ns: u64) -> Option<usize> {
        let deadlines = self.deadlines.iter().enumerate();
        let (index, deadline_ns) = deadlines.min_by_key(|&(_, deadline_ns)| *deadline_ns)?;
        (*deadline_ns <= now_ns && *deadline_ns != NEVER).then_some(index)
    }

    fn update_to_go(&mut self) {
        let mut to_go_ns = 0_u64;
        for (stage, slot) in self.stages.iter().zip(&mut self.to_go_ns).rev() {
            *slot = to_go_ns;
            to_go_ns = to_go_ns.saturating_add(stage.floor_ns());
        }
    }
}

/// Packets of a path. At any moment `offered == delivered + dropped.total() + queued`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets that arrived.
    pub offered: u64,
    /// Packets delivered at the far end.
    pub delivered: u64,
    /// Packets dropped, by [`Cause`].
    pub dropped: Drops,
    /// Packets still inside.
    pub queued: u64,
}

/// Packets dropped, by [`Cause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drops {
    /// Dropped by operator policy.
    pub policy: u64,
    /// Dropped by a closed gate.
    pub gate: u64,
    /// Dropped by a full queue.
    pub queue: u64,
    /// Dropped by the management of a queue that was not full.
    pub aqm: u64,
    /// Lost at random.
    pub loss: u64,
}

impl Drops {
    /// Returns the sum over all causes.
    pub fn total(&self) -> u64 {
        self.policy + self.gate + self.queue + self.aqm + self.loss
    }

    /// Counts one more packet dropped by `cause`.
    pub fn count(&mut self, cause: Cause) {
        let slot = match cause {
            Cause::Policy => &mut self.policy,
            Cause::Gate => &mut self.gate,
            Cause::Queue => &mut self.queue,
            Cause::Aqm => &mut self.aqm,
            Cause::Loss => &mut self.loss,
        };
        *slot += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        model::Transport,
        spec::{LossSpec, QueueSpec, RateSpec},
        time::NS_PER_MS,
    };

    const MS: u64 = NS_PER_MS;

    fn packet(token: u64) -> Packet {
        Packet {
            token,
            ip_bytes: 1500,
            transport: Transport::Tcp,
            src_port: 1,
            dst_port: 2,
            flow: Some(9),
        }
    }

    fn drain(path: &mut Path, now_ns: u64) -> Vec<Departure> {
        std::iter::from_fn(|| path.poll(now_ns)).collect()
    }

    fn deliver(at_ns: u64, token: u64) -> Departure {
        Departure::Deliver { at_ns, token }
    }

    #[test]
    fn unimpaired_path_delivers_at_once() {
        let mut path = Path::new(&PathSpec::default(), Direction::Up, 0);
        assert_eq!(path.next_deadline(), None);
        path.offer(5, packet(1));
        assert_eq!(path.next_deadline(), Some(5));
        assert_eq!(drain(&mut path, 5), [deliver(5, 1)]);
        assert_eq!(path.next_deadline(), None);
    }

    /// Returns a path of 12 Mbit/s (a millisecond per packet of 1500 bytes) and 20 ms, with room for two packets in its
    /// queue.
    fn spec() -> PathSpec {
        PathSpec {
            rate: RateSpec::constant(12_000_000),
            queue: QueueSpec {
                packets: Some(2),
                ..QueueSpec::default()
            },
            delay_ns: 20 * MS,
            ..PathSpec::default()
        }
    }

    #[test]
    fn deadline_is_the_next_delivery_not_the_next_event_of_a_stage() {
        let mut path = Path::new(&spec(), Direction::Down, 0);
        path.offer(0, packet(1));
        assert_eq!(path.next_deadline(), Some(21 * MS));
        assert_eq!(path.poll(21 * MS - 1), None);
        assert_eq!(path.next_deadline(), Some(21 * MS));
        assert_eq!(drain(&mut path, 21 * MS), [deliver(21 * MS, 1)]);
        assert_eq!(path.delay_ns(), 20 * MS);
    }

    #[test]
    fn late_poll_returns_departures_in_order_of_time() {
        let mut path = Path::new(&spec(), Direction::Down, 0);
        for token in 0..4 {
            path.offer(0, packet(token));
        }
        path.offer(25 * MS, packet(4));
        let drop = Departure::Drop {
            at_ns: 0,
            token: 3,
            cause: Cause::Queue,
        };
        assert_eq!(
            drain(&mut path, NEVER - 1),
            [
                drop,
                deliver(21 * MS, 0),
                deliver(22 * MS, 1),
                deliver(23 * MS, 2),
                deliver(46 * MS, 4)
            ]
        );
        let counters = path.counters();
        assert_eq!(
            (counters.offered, counters.delivered, counters.queued),
            (5, 4, 0)
        );
        assert_eq!(
            counters.dropped,
            Drops {
                queue: 1,
                ..Drops::default()
            }
        );
    }

    #[test]
    fn arrival_stamped_before_the_last_counts_as_simultaneous() {
        let mut path = Path::new(&PathSpec::default(), Direction::Up, 0);
        path.offer(10, packet(1));
        path.offer(7, packet(2));
        assert_eq!(drain(&mut path, 10), [deliver(10, 1), deliver(10, 2)]);
    }

    #[test]
    fn drops_are_counted_by_cause() {
        let loss = Some(LossSpec::Iid { ppb: 1_000_000_000 });
        let mut path = Path::new(&PathSpec { loss, ..spec() }, Direction::Up, 0);
        path.offer(0, packet(1));
        assert_eq!(path.counters().queued, 1);
        assert_eq!(
            drain(&mut path, MS),
            [Departure::Drop {
                at_ns: MS,
                token: 1,
                cause: Cause::Loss
            }]
        );
        assert_eq!(path.counters().dropped.total(), 1);
    }
}
