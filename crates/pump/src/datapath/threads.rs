//! The two threads of the link, from their start to their end.

use std::io;

use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use link::{Direction, Network, Path};

use super::control::{ControlCommand, ControlHandle, ControlMessage, mailbox};
use super::frame::ETHERNET_LEN;
use super::ledger::PacketLedger;
use super::ring::Ring;
use super::slab::Slab;
use super::socket::Sender;
use super::worker::{self, Worker};
use crate::sys;

/// Both directions, carrying until they are stopped.
pub(crate) struct LinkThreads {
    directions: [Running; 2],
    pub(crate) realtime: bool,
    pub(crate) locked: bool,
    pub(crate) ring_bytes: usize,
    late_bound_ns: [u64; 2],
    window: u32,
    frame_bytes: usize,
}

struct Running {
    desk: ControlHandle,
    thread: Option<JoinHandle<()>>,
    spare: Option<Box<PacketLedger>>,
}

/// What the threads of a link are started with.
pub(crate) struct Setup<'a> {
    pub(crate) network: &'a Network,
    pub(crate) seed: u64,
    /// Cost of the way itself, up and down.
    pub(crate) bias_ns: [u64; 2],
    /// Interfaces of the link facing client and server.
    pub(crate) interfaces: [u32; 2],
    pub(crate) spin_permille: u64,
    /// Room for whole frames, per direction and window.
    pub(crate) frame_bytes: usize,
}

impl LinkThreads {
    /// Starts both directions; the calling thread's namespace is the link's.
    pub(crate) fn start(setup: &Setup<'_>) -> io::Result<LinkThreads> {
        let [client, server] = setup.interfaces;
        let (up, up_facts) = start_one(setup, Direction::Up, client, server)?;
        let (down, down_facts) = start_one(setup, Direction::Down, server, client)?;
        Ok(LinkThreads {
            directions: [up, down],
            realtime: up_facts.realtime && down_facts.realtime,
            locked: up_facts.locked && down_facts.locked,
            ring_bytes: up_facts.ring_bytes,
            late_bound_ns: [up_facts.late_bound_ns, down_facts.late_bound_ns],
            window: 0,
            frame_bytes: setup.frame_bytes,
        })
    }

    /// Begins a window at `at_ns`.
    pub(crate) fn begin(&mut self, at_ns: u64) -> io::Result<()> {
        self.window += 1;
        for (running, late_bound_ns) in self.directions.iter_mut().zip(self.late_bound_ns) {
            let mut ledger = running.take_spare(self.frame_bytes);
            ledger.clear(self.window, late_bound_ns);
            let answer = running.desk.ask(ControlMessage {
                command: ControlCommand::Begin { at_ns },
                ledger,
            })?;
            running.spare = Some(answer.ledger);
        }
        Ok(())
    }

    /// Ends the window and returns the books of both directions, up first.
    pub(crate) fn end(&mut self) -> io::Result<[Box<PacketLedger>; 2]> {
        let mut books = Vec::with_capacity(2);
        for running in &mut self.directions {
            let mut ledger = running.take_spare(self.frame_bytes);
            ledger.clear(0, u64::MAX);
            books.push(
                running
                    .desk
                    .ask(ControlMessage {
                        command: ControlCommand::End,
                        ledger,
                    })?
                    .ledger,
            );
        }
        books
            .try_into()
            .map_err(|_| io::Error::other("two directions gave other than two books"))
    }

    /// Waits until no frame is on the link, at most `limit`. Frames that arrive meanwhile count.
    pub(crate) fn settle(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut quiet = 0;
        while Instant::now() < until {
            let empty = self.directions.iter().all(|d| d.desk.held() == 0);
            quiet = if empty { quiet + 1 } else { 0 };
            if quiet == QUIET_LOOKS {
                return true;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        false
    }

    /// Ends both threads; frames inside are gone.
    pub(crate) fn stop(&mut self) {
        for running in &mut self.directions {
            let Some(thread) = running.thread.take() else {
                continue;
            };
            let ledger = Box::new(PacketLedger::new(0, 0));
            // A thread that panicked does not answer, and has said its own word.
            let _answer = running.desk.ask(ControlMessage {
                command: ControlCommand::Stop,
                ledger,
            });
            let _ended = thread.join();
        }
    }

    /// Gives books back for the next window.
    pub(crate) fn give_back(&mut self, books: [Box<PacketLedger>; 2]) {
        for (running, ledger) in self.directions.iter_mut().zip(books) {
            running.spare = Some(ledger);
        }
    }
}

impl Running {
    fn take_spare(&mut self, frame_bytes: usize) -> Box<PacketLedger> {
        self.spare
            .take()
            .unwrap_or_else(|| Box::new(PacketLedger::new(RECORDS, frame_bytes)))
    }
}

struct Started {
    realtime: bool,
    locked: bool,
    ring_bytes: usize,
    late_bound_ns: u64,
}

fn start_one(
    setup: &Setup<'_>,
    direction: Direction,
    from: u32,
    to: u32,
) -> io::Result<(Running, Started)> {
    let (spec, bias_ns) = match direction {
        Direction::Up => (&setup.network.up, setup.bias_ns[0]),
        Direction::Down => (&setup.network.down, setup.bias_ns[1]),
    };
    let mut path = Path::new(spec, direction, setup.seed);
    path.set_bias_ns(bias_ns);
    let late_bound_ns = LATE_MIN_NS.max(path.delay_ns() / LATE_SHARE);

    let frame_len = setup.network.mtu as usize + ETHERNET_LEN;
    let ring = Ring::new(from, RING_FRAMES, frame_len)?;
    let slab = Slab::new(SLAB_FRAMES, frame_len.next_multiple_of(64));
    let locked = sys::lock_memory(slab.memory()).is_ok();
    let (desk, mailbox) = mailbox()?;
    let ring_bytes = ring.bytes();
    let worker = Worker {
        direction,
        ring,
        sender: Sender::new(to)?,
        path,
        slab,
        mailbox,
        ledger: Box::new(PacketLedger::new(0, 0)),
        mtu: setup.network.mtu,
        spin_permille: setup.spin_permille,
    };
    let (told, ready) = std::sync::mpsc::channel();
    let name = match direction {
        Direction::Up => "link-up",
        Direction::Down => "link-down",
    };
    let thread = std::thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            let realtime = sys::make_realtime(0, PRIORITY)
                .and_then(|()| sys::keep_to_last_core(0))
                .is_ok();
            if told.send(realtime).is_ok() {
                worker::run(worker);
            }
        })?;
    let realtime = ready.recv().map_err(io::Error::other)?;
    let running = Running {
        desk,
        thread: Some(thread),
        spare: None,
    };
    Ok((
        running,
        Started {
            realtime,
            locked,
            ring_bytes,
            late_bound_ns,
        },
    ))
}

/// Low among the real-time priorities: above every ordinary thread, below the kernel's own.
const PRIORITY: i32 = 10;
/// 50 ms at 1 Gbit/s of full frames, or at 160 000 small ones a second.
const RING_FRAMES: usize = 8192;
/// 100 ms at 1 Gbit/s of full frames: delay and queue of every network a phone can have.
const SLAB_FRAMES: usize = 16384;
const LOOK_EVERY: Duration = Duration::from_millis(1);
/// An endpoint's kernel answers a delivered packet within this time, on a busy machine too.
const QUIET_LOOKS: u32 = 50;
/// Packets of a window that the tap keeps, per direction: 20 MB.
const RECORDS: usize = 1 << 19;
const LATE_MIN_NS: u64 = 1_000_000;
/// 2 % of the one-way delay.
const LATE_SHARE: u64 = 50;
