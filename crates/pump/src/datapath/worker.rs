//! The thread of one direction.
//!
//! A turn: answer a letter, take what arrived into the model, send what is due, wait. Nothing
//! in a turn allocates, takes a lock or writes a log.

use std::collections::VecDeque;
use std::time::Duration;

use link::{Departure, Direction, Packet, Path};

use super::clock::StampClock;
use super::control::{ControlCommand, ControlEndpoint};
use super::frame::{self, ETHERNET_LEN};
use super::ledger::{PacketLedger, cause_index, kind};
use super::ring::{Received, Ring};
use super::slab::{FrameMeta, Slab};
use super::socket::{BATCH, SendOutcome, Sender};
use super::wait::{Wait, Waiter};
use crate::sys;
use crate::tap::{Fate, TapRecord};

/// Everything one direction needs.
pub(crate) struct Worker {
    pub(crate) direction: Direction,
    pub(crate) ring: Ring,
    pub(crate) sender: Sender,
    pub(crate) path: Path,
    pub(crate) slab: Slab,
    pub(crate) mailbox: ControlEndpoint,
    pub(crate) ledger: Box<PacketLedger>,
    pub(crate) mtu: u32,
    /// Share of a core it may spin, in thousandths.
    pub(crate) spin_permille: u64,
}

/// Runs a direction until it is told to stop.
pub(crate) fn run(worker: Worker) {
    sys::tighten_timer_slack();
    let now_ns = sys::monotonic_ns();
    Loop {
        clock: StampClock::new(now_ns),
        waiter: Waiter::new(now_ns, worker.spin_permille),
        due: VecDeque::with_capacity(worker.slab.capacity()),
        idle_turns: 0,
        w: worker,
    }
    .run();
}

struct Loop {
    w: Worker,
    clock: StampClock,
    waiter: Waiter,
    /// Frames the model let go and the interface has not taken yet.
    due: VecDeque<ReadyFrame>,
    /// Turns in a row that neither moved a frame nor waited.
    idle_turns: u32,
}

#[derive(Clone, Copy)]
struct ReadyFrame {
    token: u64,
    at_ns: u64,
}

impl Loop {
    fn run(&mut self) {
        loop {
            if !self.answer_letter() {
                return;
            }
            let now_ns = sys::monotonic_ns();
            self.clock.refresh(now_ns);
            let taken = self.take_arrivals(now_ns);
            self.collect_due(sys::monotonic_ns());
            let sent = self.send_due();
            self.w.mailbox.publish_held(self.w.slab.len());
            if taken > 0 || sent || self.wait() {
                self.idle_turns = 0;
            } else {
                self.watch();
            }
        }
    }

    /// Does what the bench asks; `false` ends the thread.
    fn answer_letter(&mut self) -> bool {
        let Some(mut letter) = self.w.mailbox.letter() else {
            return true;
        };
        // What arrived before the letter belongs to the window before it.
        self.empty_ring();
        self.w.ledger.cpu_ns = sys::thread_cpu_ns() - self.w.ledger.cpu_ns;
        self.w.ledger.ring_drops += u64::from(self.w.ring.take_drops());
        std::mem::swap(&mut self.w.ledger, &mut letter.ledger);
        self.w.ledger.cpu_ns = sys::thread_cpu_ns();
        if let ControlCommand::Begin { at_ns } = letter.command {
            self.w.path.start(at_ns);
        }
        let go_on = letter.command != ControlCommand::Stop;
        self.w.mailbox.answer(letter);
        go_on
    }

    /// Takes everything that lies in the ring, once round at most.
    fn empty_ring(&mut self) {
        for _ in 0..self.w.ring.frames().div_ceil(BATCH) {
            if self.take_arrivals(sys::monotonic_ns()) == 0 {
                return;
            }
        }
    }

    /// Offers what lies in the ring to the model, a bounded number of frames.
    fn take_arrivals(&mut self, now_ns: u64) -> usize {
        let Loop { w, clock, .. } = self;
        let Worker {
            ring,
            path,
            slab,
            ledger,
            ..
        } = w;
        let mut taken = 0;
        // With no place left the ring is the buffer; when that overflows too, it is counted.
        while taken < BATCH && !slab.is_full() {
            let direction = w.direction;
            let mtu = w.mtu;
            let packet = ring.take(|frame| {
                let arrival_ns = clock.arrival_ns(frame.stamp_real_ns, now_ns);
                admit(&frame, arrival_ns, direction, mtu, slab, ledger).map(|p| (arrival_ns, p))
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

    /// Takes out of the model what has left it.
    fn collect_due(&mut self, now_ns: u64) {
        let Loop { w, due, .. } = self;
        while let Some(departure) = w.path.poll(now_ns) {
            match departure {
                Departure::Deliver { at_ns, token } => due.push_back(ReadyFrame { token, at_ns }),
                Departure::Drop {
                    at_ns,
                    token,
                    cause,
                } => {
                    w.ledger.dropped[cause_index(cause)] += 1;
                    w.ledger
                        .settle(w.slab.held(token).record, at_ns, Fate::Dropped(cause));
                    w.slab.remove(token);
                }
            }
        }
    }

    /// Sends one batch; `true` when a frame left or was given up.
    fn send_due(&mut self) -> bool {
        if self.due.is_empty() {
            return false;
        }
        let Loop { w, due, .. } = self;
        match w.sender.send(&w.slab, due.iter().map(|d| d.token)) {
            SendOutcome::Sent(n) => {
                let left_ns = sys::monotonic_ns();
                // A call that stopped early met a full interface, which counted a drop.
                w.ledger.retries += u64::from(n < due.len().min(BATCH));
                for due in due.drain(..n) {
                    settle_sent(w, due, left_ns);
                }
                true
            }
            SendOutcome::Busy => {
                w.ledger.retries += 1;
                false
            }
            SendOutcome::Rejected => {
                let ReadyFrame { token, .. } =
                    due.pop_front().expect("checked not to be empty above");
                w.ledger.lost_frames += 1;
                w.slab.remove(token);
                true
            }
        }
    }

    /// Waits for the next event; `false` when that took no time.
    fn wait(&mut self) -> bool {
        let now_ns = sys::monotonic_ns();
        if !self.due.is_empty() {
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

    /// Sleeps until the time is over, a frame or a letter.
    fn sleep(&mut self, now_ns: u64, time: Duration) -> bool {
        // When the slab is full, arrivals must wait: being woken by them would be spinning.
        let ring = if self.w.slab.is_full() {
            self.w.mailbox.fd()
        } else {
            self.w.ring.fd()
        };
        match sys::wait_readable([self.w.mailbox.fd(), ring], Some(time)) {
            Ok([false, false]) => {
                self.waiter.slept(time, sys::monotonic_ns() - now_ns);
                true
            }
            Ok([letter, _]) => {
                if letter {
                    self.w.mailbox.hush();
                }
                false
            }
            Err(_) => false,
        }
    }

    /// Under SCHED_FIFO, turning without progress would take the machine from everyone else.
    fn watch(&mut self) {
        self.idle_turns += 1;
        if self.idle_turns > IDLE_TURNS_MAX {
            self.w.ledger.stalls += 1;
            self.idle_turns = 0;
            std::thread::sleep(RETRY_AFTER);
        }
    }

    /// Spins until the deadline, a frame or a letter; a few tens of microseconds at most.
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

/// Enters a frame into the books and keeps it, if it is one packet that fits the link.
fn admit(
    frame: &Received<'_>,
    arrival_ns: u64,
    direction: Direction,
    mtu: u32,
    slab: &mut Slab,
    ledger: &mut PacketLedger,
) -> Option<Packet> {
    let parsed = frame::parse(frame.bytes);
    let ip_bytes = frame.wire_len.saturating_sub(ETHERNET_LEN) as u32;
    let kind = kind(parsed.transport);
    ledger.sent[usize::from(kind)].add(ip_bytes);
    ledger.foreign_frames += u64::from(parsed.foreign);
    let record = ledger.record(TapRecord {
        arrival_ns,
        departure_ns: 0,
        seq: parsed.seq,
        ack: parsed.ack,
        ip_bytes: u16::try_from(ip_bytes).unwrap_or(u16::MAX),
        src_port: parsed.src_port,
        dst_port: parsed.dst_port,
        payload_bytes: parsed.payload_bytes,
        protocol: parsed.protocol,
        tcp_flags: parsed.tcp_flags,
        first_byte: parsed.first_byte,
        direction,
        fate: Fate::InFlight,
        ip_version: parsed.ip_version,
        ecn: parsed.ecn,
    });
    let refuse = |ledger: &mut PacketLedger| {
        ledger.oversize_frames += 1;
        ledger.settle(record, arrival_ns, Fate::Refused);
        None
    };
    if frame.offload.segments || ip_bytes > mtu || frame.bytes.len() < frame.wire_len {
        return refuse(ledger);
    }
    let held = FrameMeta {
        len: 0,
        record,
        ip_bytes,
        kind,
    };
    let Some(token) = slab.insert(frame.bytes, held) else {
        return refuse(ledger);
    };
    if let Some((start, offset)) = frame.offload.checksum {
        frame::finish_checksum(slab.bytes_mut(token), start, offset);
    }
    if let Some(frames) = &mut ledger.frames {
        frames.push(arrival_ns, false, slab.bytes(token));
    }
    Some(Packet {
        token,
        ip_bytes,
        transport: parsed.transport,
        src_port: parsed.src_port,
        dst_port: parsed.dst_port,
        flow: parsed.flow,
    })
}

/// Enters a frame that left, and gives its place back.
fn settle_sent(w: &mut Worker, due: ReadyFrame, left_ns: u64) {
    let held = w.slab.held(due.token);
    let ledger = &mut w.ledger;
    ledger.delivered[usize::from(held.kind)].add(held.ip_bytes);
    let late_ns = left_ns.saturating_sub(due.at_ns);
    ledger.lateness.record(late_ns);
    ledger.late += u64::from(late_ns > ledger.late_bound_ns);
    ledger.settle(held.record, left_ns, Fate::Delivered);
    if let Some(frames) = &mut ledger.frames {
        frames.push(left_ns, true, w.slab.bytes(due.token));
    }
    w.slab.remove(due.token);
}

const RETRY_AFTER: Duration = Duration::from_micros(50);
/// Also how often the clocks are compared while nothing moves.
const IDLE_FOR: Duration = Duration::from_millis(500);
const IDLE_TURNS_MAX: u32 = 100;
