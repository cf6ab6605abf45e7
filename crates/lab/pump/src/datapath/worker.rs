//! The thread of one direction.
//!
//! An iteration: handle a control message, take arrivals into the model, send what the model
//! releases, wait. Nothing in an iteration writes a log. Only a network with a radio takes a lock,
//! which the other direction holds for one step of the radio's states. The first packet of a flow or
//! of a NAT's mapping allocates, and so does a radio whose log or queue grows.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use link::tap::Fate;
use link::{Departure, Direction, Path, Transport};
use rustix::thread::CpuSet;

use super::admission::{Arrival, admit};
use super::clock::StampClock;
use super::control::{ControlCommand, ControlEndpoint};
use super::flows::FlowNumbers;
use super::frame;
use super::ledger::{PacketLedger, STRAY, cause_index};
use super::left_addresses::LeftAddresses;
use super::load::Spread;
use super::nat::Nat;
use super::ring::Ring;
use super::slab::Slab;
use super::socket::{BATCH, SendOutcome, Sender};
use super::wait::{Wait, Waiter};
use crate::sys;

const RETRY_AFTER: Duration = Duration::from_micros(50);
/// Also how often the clocks are compared while nothing moves.
const IDLE_FOR: Duration = Duration::from_millis(500);
const IDLE_ITERATIONS_MAX: u32 = 100;

/// Everything that one direction needs.
pub(crate) struct Worker {
    pub(crate) direction: Direction,
    pub(crate) ring: Ring,
    pub(crate) sender: Sender,
    pub(crate) path: Path,
    pub(crate) flows: FlowNumbers,
    /// From the first window on, if the network has one.
    pub(crate) nat: Option<Nat>,
    pub(crate) left_addresses: Arc<LeftAddresses>,
    pub(crate) slab: Slab,
    pub(crate) control: ControlEndpoint,
    pub(crate) ledger: Box<PacketLedger>,
    pub(crate) mtu: u32,
    /// Share of a core that it may spend spinning, in thousandths.
    pub(crate) spin_permille: u64,
}

/// Runs a direction until [`ControlCommand::Stop`]; `allowed` are the cores of a thread that was pinned to the last.
pub(crate) fn run(worker: Worker, allowed: Option<CpuSet>) {
    sys::tighten_timer_slack();
    let now_ns = sys::monotonic_ns();
    Loop {
        clock: StampClock::new(now_ns),
        waiter: Waiter::new(now_ns, worker.spin_permille),
        ready: VecDeque::with_capacity(worker.slab.capacity()),
        idle_iterations: 0,
        last_arrival_ns: 0,
        spread: allowed.map(|cores| Spread::new(cores, now_ns)),
        w: worker,
    }
    .run();
}

struct Loop {
    w: Worker,
    clock: StampClock,
    waiter: Waiter,
    /// Frames that the model has released and the interface has not taken yet.
    ready: VecDeque<ReadyFrame>,
    /// Consecutive iterations that neither moved a frame nor waited.
    idle_iterations: u32,
    /// When the frame arrived that was taken last.
    last_arrival_ns: u64,
    spread: Option<Spread>,
}

#[derive(Clone, Copy)]
struct ReadyFrame {
    token: u64,
    /// Ideal departure.
    at_ns: u64,
}

impl Loop {
    fn run(&mut self) {
        loop {
            if !self.handle_control() {
                return;
            }
            self.clock.refresh(sys::monotonic_ns());
            let taken = self.take_arrivals();
            if let Some(spread) = &mut self.spread {
                spread.count(sys::monotonic_ns(), taken);
            }
            let until_ns = decided_until_ns(taken, self.last_arrival_ns, sys::monotonic_ns());
            self.collect_departures(until_ns);
            let sent = self.send_ready();
            self.w.control.publish_in_flight(self.w.slab.len());
            if taken > 0 || sent || self.wait() {
                self.idle_iterations = 0;
            } else {
                self.prevent_livelock();
            }
        }
    }

    /// Handles a control message, if there is one. Returns `false` when the thread must end.
    fn handle_control(&mut self) -> bool {
        let Some(mut message) = self.w.control.try_receive() else {
            return true;
        };
        // Frames that arrived before the message belong to the previous window.
        self.drain_ring();
        self.w.ledger.cpu_ns = sys::thread_cpu_ns() - self.w.ledger.cpu_ns;
        self.w.ledger.ring_drops += u64::from(self.w.ring.take_drops());
        std::mem::swap(&mut self.w.ledger, &mut message.ledger);
        self.w.ledger.cpu_ns = sys::thread_cpu_ns();
        if let Some(flows) = &mut message.flows {
            std::mem::swap(&mut self.w.flows, flows);
        }
        if let ControlCommand::BeginWindow { at_ns } = message.command {
            std::mem::swap(&mut self.w.nat, &mut message.nat);
            self.w.path.start(at_ns);
        }
        let go_on = message.command != ControlCommand::Stop;
        self.w.control.reply(message);
        go_on
    }

    /// Takes all frames out of the ring, at most one ring full.
    fn drain_ring(&mut self) {
        for _ in 0..self.w.ring.frames().div_ceil(BATCH) {
            if self.take_arrivals() == 0 {
                return;
            }
        }
    }

    /// Offers at most [`BATCH`] frames from the ring to the model and returns their number.
    fn take_arrivals(&mut self) -> usize {
        let Loop {
            w,
            clock,
            last_arrival_ns,
            ..
        } = self;
        let Worker {
            ring,
            path,
            flows,
            nat,
            left_addresses,
            slab,
            ledger,
            ..
        } = w;
        let mut taken = 0;
        // While the slab is full the ring buffers; its overflow is counted.
        while taken < BATCH && !slab.is_full() {
            let direction = w.direction;
            let mtu = w.mtu;
            let packet = ring.take(|frame| {
                // Read for each frame: one may arrive, and answer what the other direction sends, while
                // others are taken.
                let now_ns = sys::monotonic_ns();
                let arrival_ns = clock.arrival_ns(frame.stamp_real_ns, now_ns);
                *last_arrival_ns = arrival_ns;
                let mut parsed = frame::parse(frame.bytes);
                let inbound =
                    (nat.as_mut()).and_then(|nat| nat.arrive(arrival_ns, frame.bytes, &mut parsed));
                let flow = match parsed.transport {
                    Transport::Other => None,
                    Transport::Udp if direction == Direction::Up && left_addresses.has_moved() => {
                        flows.number_moved(parsed.flow, parsed.opening)
                    }
                    _ => flows.number(parsed.flow, parsed.opening),
                };
                let is_left = left_addresses.is_left(direction, frame.bytes, arrival_ns);
                let arrival = Arrival {
                    at_ns: arrival_ns,
                    direction,
                    parsed,
                    inbound,
                    is_left,
                    flow,
                };
                admit(&frame, &arrival, mtu, slab, ledger).map(|p| (arrival_ns, p))
            });
            match packet {
                Some(Some((arrival_ns, packet))) => path.offer(arrival_ns, packet),
                Some(None) => {}
                None => break,
            }
            taken += 1;
        }
        taken
    }

    /// Takes what has left the model.
    fn collect_departures(&mut self, now_ns: u64) {
        let Loop { w, ready, .. } = self;
        while let Some(departure) = w.path.poll(now_ns) {
            match departure {
                Departure::Deliver { at_ns, token }
                    if w.direction == Direction::Down
                        && (w.left_addresses).is_left(w.direction, w.slab.bytes(token), at_ns) =>
                {
                    drop_packet(w, token, at_ns, Fate::Left);
                }
                Departure::Deliver { at_ns, token } => {
                    if let Some(nat) = &mut w.nat {
                        let client_port = w.slab.meta(token).client_port;
                        nat.leave(at_ns, w.slab.bytes_mut(token), client_port);
                    }
                    ready.push_back(ReadyFrame { token, at_ns });
                }
                Departure::Drop {
                    at_ns,
                    token,
                    cause,
                } => drop_packet(w, token, at_ns, Fate::Dropped(cause)),
            }
        }
    }

    /// Sends one batch. Returns `true` when a frame was sent or rejected for good.
    fn send_ready(&mut self) -> bool {
        if self.ready.is_empty() {
            return false;
        }
        let Loop { w, ready, .. } = self;
        // The receiver may answer before the system call returns: only a time from before it keeps
        // tap and capture in causal order.
        let offered_ns = sys::monotonic_ns();
        match w.sender.send(&w.slab, ready.iter().map(|f| f.token)) {
            SendOutcome::Sent(n) => {
                let departure_ns = sys::monotonic_ns();
                // A partial batch means a full interface, which counted a drop of its own.
                w.ledger.retries += u64::from(n < ready.len().min(BATCH));
                for (place, frame) in (0..).zip(ready.drain(..n)) {
                    // A ns for each keeps their order, and none is handed over sooner.
                    complete_delivery(w, frame, offered_ns + place, departure_ns);
                }
                true
            }
            SendOutcome::Busy => {
                w.ledger.retries += 1;
                false
            }
            SendOutcome::Rejected => {
                let frame = ready.pop_front().expect("checked above to have a frame");
                w.ledger.lost_frames += 1;
                w.slab.remove(frame.token);
                true
            }
        }
    }

    /// Waits for the next event. Returns `false` when there was no wait.
    fn wait(&mut self) -> bool {
        let now_ns = sys::monotonic_ns();
        if !self.ready.is_empty() {
            // The interface is full: its receiver needs the core more than this thread does.
            return self.sleep(now_ns, RETRY_AFTER);
        }
        let Some(deadline_ns) = self.w.path.next_deadline() else {
            return self.sleep(now_ns, IDLE_FOR);
        };
        match self.waiter.wait(now_ns, deadline_ns.saturating_sub(now_ns)) {
            Wait::Now => false,
            Wait::Sleep(time) => self.sleep(now_ns, time),
            Wait::Spin => self.spin(now_ns, deadline_ns),
        }
    }

    /// Sleeps until the time is over, a frame arrives or a control message does.
    fn sleep(&mut self, now_ns: u64, time: Duration) -> bool {
        // With a full slab arrivals have to wait; waking up for them would be spinning.
        let ring = if self.w.slab.is_full() {
            self.w.control.fd()
        } else {
            self.w.ring.fd()
        };
        match sys::wait_readable([self.w.control.fd(), ring], Some(time)) {
            Ok([false, false]) => {
                self.waiter.slept(time, sys::monotonic_ns() - now_ns);
                true
            }
            Ok([message, _]) => {
                if message {
                    self.w.control.clear();
                }
                false
            }
            Err(_) => false,
        }
    }

    /// Sleeps after too many idle iterations: under SCHED_FIFO a livelock would take the core from
    /// everything else.
    fn prevent_livelock(&mut self) {
        self.idle_iterations += 1;
        if self.idle_iterations > IDLE_ITERATIONS_MAX {
            self.w.ledger.stalls += 1;
            self.idle_iterations = 0;
            std::thread::sleep(RETRY_AFTER);
        }
    }

    /// Spins until the deadline or the next frame, for a few tens of microseconds at most.
    fn spin(&mut self, from_ns: u64, deadline_ns: u64) -> bool {
        let mut now_ns = from_ns;
        while now_ns < deadline_ns && (self.w.slab.is_full() || !self.w.ring.has_next()) {
            std::hint::spin_loop();
            now_ns = sys::monotonic_ns();
        }
        self.waiter.spun(now_ns - from_ns);
        self.w.ledger.spin_ns += now_ns - from_ns;
        now_ns >= deadline_ns
    }
}

/// Returns the time up to which the model may decide. After a full batch the ring may have frames that arrived later
/// than the last of it, and a managed queue decides by what has arrived.
fn decided_until_ns(taken: usize, last_arrival_ns: u64, now_ns: u64) -> u64 {
    match taken < BATCH {
        true => now_ns,
        false => last_arrival_ns.min(now_ns),
    }
}

/// Counts a frame that the link drops, and frees its slot.
fn drop_packet(w: &mut Worker, token: u64, at_ns: u64, fate: Fate) {
    let meta = w.slab.meta(token);
    match fate {
        _ if meta.class == STRAY => w.ledger.stray_dropped += 1,
        Fate::Dropped(cause) => w.ledger.dropped[cause_index(cause)] += 1,
        _ => w.ledger.unmapped += 1,
    }
    w.ledger.complete(meta.record, at_ns, fate);
    w.slab.remove(token);
}

/// Counts a frame that was sent, and frees its slot.
fn complete_delivery(w: &mut Worker, frame: ReadyFrame, offered_ns: u64, departure_ns: u64) {
    let meta = w.slab.meta(frame.token);
    let ledger = &mut w.ledger;
    ledger.delivered[meta.class].add(meta.ip_bytes);
    let late_ns = departure_ns.saturating_sub(frame.at_ns);
    ledger.lateness.record(late_ns);
    ledger.late += u64::from(late_ns > ledger.late_bound_ns);
    ledger.complete(meta.record, offered_ns, Fate::Delivered);
    if let Some(frames) = &mut ledger.frames {
        frames.push(offered_ns, true, w.slab.bytes(frame.token));
    }
    w.slab.remove(frame.token);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_decided_beyond_a_full_batch() {
        assert_eq!(decided_until_ns(BATCH, 5, 9), 5);
        assert_eq!(decided_until_ns(BATCH, 10, 9), 9);
        assert_eq!(decided_until_ns(BATCH - 1, 5, 9), 9);
        assert_eq!(decided_until_ns(0, 5, 9), 9);
    }
}
