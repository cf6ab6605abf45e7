//! The two threads of the link, from start to stop.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use link::{Direction, FlowRule, NatSpec, Network, Path, Radio, RadioLog};

use super::control::{ControlCommand, ControlHandle, ControlMessage, control};
use super::flows::{FlowNumbers, flow_numbers};
use super::frame::ETHERNET_LEN;
use super::ledger::PacketLedger;
use super::left_addresses::LeftAddresses;
use super::nat::nat;
use super::ring::Ring;
use super::slab::Slab;
use super::socket::Sender;
use super::worker::{self, Worker};
use crate::idle::CoresAwake;
use crate::sys;

/// Low among the real-time priorities: above every ordinary thread, below the kernel's own.
const PRIORITY: i32 = 10;
/// 50 ms at 1 Gbit/s of full frames, or at 160 000 small frames per second.
const RING_FRAMES: usize = 8192;
/// 100 ms at 1 Gbit/s of full frames: the delay and queue of any network that a phone can have.
const SLAB_FRAMES: usize = 16384;
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// 50 ms: an endpoint's kernel answers a delivered packet sooner, even on a busy machine.
const IDLE_POLLS: u32 = 50;
/// Packets of a window that the tap has room for, per direction: 29 MB.
const RECORDS: usize = 1 << 19;
const LATE_MIN_NS: u64 = 1_000_000;
/// 1/50, i.e. 2 %, of the one-way delay.
const LATE_SHARE: u64 = 50;

/// Both directions of a running link.
pub(crate) struct LinkThreads {
    directions: [DirectionThread; 2],
    pub(crate) realtime: bool,
    pub(crate) memory_locked: bool,
    pub(crate) ring_bytes: usize,
    late_bound_ns: [u64; 2],
    nat: Option<NatSpec>,
    radio: Option<Radio>,
    left_addresses: Arc<LeftAddresses>,
    window: u32,
    frame_bytes: usize,
    /// Held while the link runs.
    _awake: Option<CoresAwake>,
}

struct DirectionThread {
    control: ControlHandle,
    thread: Option<JoinHandle<()>>,
    /// A ledger to be reused in the next window.
    spare: Option<Box<PacketLedger>>,
}

/// The configuration of a link.
pub(crate) struct Setup<'a> {
    pub(crate) network: &'a Network,
    pub(crate) seed: u64,
    /// Indexes of the link's interfaces that face client and server.
    pub(crate) interfaces: [u32; 2],
    pub(crate) spin_permille: u64,
    /// Room for whole frames, per direction and window.
    pub(crate) frame_bytes: usize,
}

impl LinkThreads {
    /// Starts both directions. The interfaces are those of the calling thread's namespace.
    pub(crate) fn start(setup: &Setup<'_>) -> io::Result<LinkThreads> {
        let [client, server] = setup.interfaces;
        let [up_flows, down_flows] = flow_numbers(FlowRule::AnyPacket);
        let radio = setup.network.up.radio.as_ref();
        let radio = radio.map(|radio| Radio::new(radio, setup.seed));
        let left_addresses = Arc::new(LeftAddresses::new());
        let start = |direction, interfaces, flows| {
            let shared = (radio.as_ref(), Arc::clone(&left_addresses));
            start_direction(setup, direction, interfaces, flows, shared)
        };
        let (up, up_info) = start(Direction::Up, [client, server], up_flows)?;
        let (down, down_info) = start(Direction::Down, [server, client], down_flows)?;
        Ok(LinkThreads {
            directions: [up, down],
            realtime: up_info.realtime && down_info.realtime,
            memory_locked: up_info.memory_locked && down_info.memory_locked,
            ring_bytes: up_info.ring_bytes,
            late_bound_ns: [up_info.late_bound_ns, down_info.late_bound_ns],
            nat: setup.network.nat.clone(),
            radio,
            left_addresses,
            window: 0,
            frame_bytes: setup.frame_bytes,
            _awake: CoresAwake::request().ok(),
        })
    }

    /// Begins a window at `at_ns`.
    pub(crate) fn begin_window(&mut self, at_ns: u64, rule: FlowRule) -> io::Result<()> {
        self.window += 1;
        let nats = match &self.nat {
            Some(spec) => nat(spec, at_ns).map(Some),
            None => [None, None],
        };
        let directions = self.directions.iter_mut().zip(self.late_bound_ns);
        let tables = flow_numbers(rule).into_iter().zip(nats);
        for ((direction, late_bound_ns), (flows, nat)) in directions.zip(tables) {
            let mut ledger = direction.take_spare(self.frame_bytes);
            ledger.clear(self.window, late_bound_ns);
            let reply = direction.control.request(ControlMessage {
                command: ControlCommand::BeginWindow { at_ns },
                ledger,
                flows: Some(flows),
                nat,
            })?;
            direction.spare = Some(reply.ledger);
        }
        Ok(())
    }

    /// Ends the window and returns the ledgers of both directions, up first.
    pub(crate) fn end_window(&mut self) -> io::Result<[Box<PacketLedger>; 2]> {
        let mut ledgers = Vec::with_capacity(2);
        for direction in &mut self.directions {
            let mut ledger = direction.take_spare(self.frame_bytes);
            ledger.clear(0, u64::MAX);
            let reply = direction.control.request(ControlMessage {
                command: ControlCommand::EndWindow,
                ledger,
                flows: None,
                nat: None,
            })?;
            ledgers.push(reply.ledger);
        }
        ledgers
            .try_into()
            .map_err(|_| io::Error::other("two directions returned other than two ledgers"))
    }

    /// Returns when the client left its addresses.
    pub(crate) fn left_addresses(&self) -> &LeftAddresses {
        &self.left_addresses
    }

    /// Returns the states of the radio since the window began, up to its last one, as if no packet came any more; `None`
    /// without a radio.
    pub(crate) fn radio_log(&self) -> Option<RadioLog> {
        self.radio.as_ref().map(|radio| radio.log(u64::MAX))
    }

    /// Waits until the link is empty, at most `limit`, and returns whether it is.
    pub(crate) fn settle(&self, limit: Duration) -> bool {
        let until = Instant::now() + limit;
        let mut idle = 0;
        while Instant::now() < until {
            let empty = self.directions.iter().all(|d| d.control.in_flight() == 0);
            idle = if empty { idle + 1 } else { 0 };
            if idle == IDLE_POLLS {
                return true;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        false
    }

    /// Ends both threads. Frames inside the link are discarded.
    pub(crate) fn stop(&mut self) {
        for direction in &mut self.directions {
            let Some(thread) = direction.thread.take() else {
                continue;
            };
            // Fails if the thread panicked, which it has reported itself.
            let _stopped = direction.control.request(ControlMessage {
                command: ControlCommand::Stop,
                ledger: Box::new(PacketLedger::new(0, 0)),
                flows: None,
                nat: None,
            });
            let _joined = thread.join();
        }
    }

    /// Returns ledgers for reuse in the next window.
    pub(crate) fn recycle(&mut self, ledgers: [Box<PacketLedger>; 2]) {
        for (direction, ledger) in self.directions.iter_mut().zip(ledgers) {
            direction.spare = Some(ledger);
        }
    }
}

impl DirectionThread {
    fn take_spare(&mut self, frame_bytes: usize) -> Box<PacketLedger> {
        self.spare
            .take()
            .unwrap_or_else(|| Box::new(PacketLedger::new(RECORDS, frame_bytes)))
    }
}

struct DirectionInfo {
    realtime: bool,
    memory_locked: bool,
    ring_bytes: usize,
    late_bound_ns: u64,
}

fn start_direction(
    setup: &Setup<'_>,
    direction: Direction,
    [from, to]: [u32; 2],
    flows: FlowNumbers,
    (radio, left_addresses): (Option<&Radio>, Arc<LeftAddresses>),
) -> io::Result<(DirectionThread, DirectionInfo)> {
    let spec = match direction {
        Direction::Up => &setup.network.up,
        Direction::Down => &setup.network.down,
    };
    let path = Path::with_radio(spec, direction, setup.seed, radio);
    let late_bound_ns = LATE_MIN_NS.max(path.delay_ns() / LATE_SHARE);

    let frame_len = setup.network.mtu as usize + ETHERNET_LEN;
    let ring = Ring::new(from, RING_FRAMES, frame_len)?;
    let slab = Slab::new(SLAB_FRAMES, frame_len.next_multiple_of(64));
    let memory_locked = sys::lock_memory(slab.memory()).is_ok();
    let (handle, endpoint) = control()?;
    let ring_bytes = ring.bytes();
    let worker = Worker {
        direction,
        ring,
        sender: Sender::new(to)?,
        path,
        flows,
        nat: None,
        left_addresses,
        slab,
        control: endpoint,
        ledger: Box::new(PacketLedger::new(0, 0)),
        mtu: setup.network.mtu,
        spin_permille: setup.spin_permille,
    };
    let (started, ready) = std::sync::mpsc::channel();
    let name = match direction {
        Direction::Up => "link-up",
        Direction::Down => "link-down",
    };
    let thread = std::thread::Builder::new()
        .name(name.into())
        .spawn(move || {
            let allowed = sys::allowed_cores();
            let realtime = sys::make_realtime(0, PRIORITY)
                .and_then(|()| sys::pin_to_last_core(0))
                .is_ok();
            if started.send(realtime).is_ok() {
                worker::run(worker, allowed.ok().filter(|_| realtime));
            }
        })?;
    let realtime = ready.recv().map_err(io::Error::other)?;
    Ok((
        DirectionThread {
            control: handle,
            thread: Some(thread),
            spare: None,
        },
        DirectionInfo {
            realtime,
            memory_locked,
            ring_bytes,
            late_bound_ns,
        },
    ))
}
