//! Windows: a snapshot of all counters at the start, one at the end, and the difference.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::os::fd::OwnedFd;

use link::FlowRule;
use link::window::{Costs, ForeignDrops, Interfaces, Window};

use super::costs::{self, Usage};
use super::endpoint::{self, Endpoint};
use super::reaper::Reaper;
use super::sampler::Sampler;
use super::sockets;
use crate::datapath::clock::wall_offset_ns;
use crate::datapath::ledger::PacketLedger;
use crate::datapath::threads::LinkThreads;
use crate::datapath::totals::totals;
use crate::facts::Side;
use crate::net::counters;
use crate::net::netlink::Netlink;
use crate::pcapng::{self, CapturedFrame};
use crate::sys;

/// The counters that are read at the start and the end of a window.
#[derive(Clone, Copy, Default)]
struct Snapshot {
    at_ns: u64,
    client: Usage,
    server: Usage,
    interfaces: Interfaces,
    endpoint_receive_drops: u64,
    softnet_drops: u64,
    /// CPU time of the machine in ticks: stolen by the hypervisor, and in all.
    machine: (u64, u64),
    wall_offset_ns: i64,
}

/// Records the windows of a bench, one at a time.
#[derive(Default)]
pub(super) struct WindowRecorder {
    /// The start of the current window.
    start: Option<Snapshot>,
    /// Samples the current window, if it is a cell's.
    sampler: Option<Sampler>,
    /// The ledgers of the last window, up first.
    last: Option<[Box<PacketLedger>; 2]>,
}

impl WindowRecorder {
    pub(super) fn begin(
        &mut self,
        link: &mut LinkThreads,
        endpoints: &[Endpoint; 2],
        reaper: &Reaper,
        cell: bool,
        rule: FlowRule,
    ) -> io::Result<()> {
        if let Some(ledgers) = self.last.take() {
            link.recycle(ledgers);
        }
        let mut start = snapshot(endpoints, reaper)?;
        start.at_ns = sys::monotonic_ns();
        link.begin_window(start.at_ns, rule)?;
        self.sampler = match cell {
            true => Some(Sampler::start(start.at_ns, endpoints, reaper)?),
            false => None,
        };
        self.start = Some(start);
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        link: &mut LinkThreads,
        endpoints: &[Endpoint; 2],
        reaper: &Reaper,
    ) -> io::Result<Window> {
        let start = self
            .start
            .take()
            .ok_or_else(|| io::Error::other("no window has begun"))?;
        let timeline = self.sampler.take().map(Sampler::stop);
        let ledgers = link.end_window()?;
        let mut end = snapshot(endpoints, reaper)?;
        end.at_ns = sys::monotonic_ns();
        let mut window = summarise(&start, &end, &ledgers);
        let [client, server] = endpoints;
        window.timeline = timeline.unwrap_or_default();
        window.radio = link.radio_log().unwrap_or_default();
        window.client_sockets = sockets::open_in(client.netns.inode()?);
        window.server_sockets = sockets::open_in(server.netns.inode()?);
        self.last = Some(ledgers);
        Ok(window)
    }

    /// Returns the number of packets that the client has sent since the window began.
    pub(super) fn sent_by(&self, client: &Endpoint) -> io::Result<u64> {
        let start = self.start.as_ref();
        let start = start.ok_or_else(|| io::Error::other("no window has begun"))?;
        let sent = client.interface_counters()?.tx_packets;
        Ok(sent.saturating_sub(start.interfaces.client.tx_packets))
    }

    /// Discards all windows, since their link has been stopped.
    pub(super) fn reset(&mut self) {
        *self = WindowRecorder::default();
    }

    fn last_ledgers(&self) -> io::Result<&[Box<PacketLedger>; 2]> {
        self.last
            .as_ref()
            .ok_or_else(|| io::Error::other("no window has ended"))
    }

    /// Returns the tap of the last window as a file in memory, in order of arrival, and the number
    /// of packets missing from it.
    pub(super) fn tap(&self) -> io::Result<(OwnedFd, u64)> {
        let [up, down] = self.last_ledgers()?;
        let mut records: Vec<_> = up.records().iter().chain(down.records()).collect();
        records.sort_by_key(|record| record.arrival_ns);
        let file = in_memory("tap", |file| {
            records
                .iter()
                .try_for_each(|record| file.write_all(&record.to_bytes()))
        })?;
        Ok((file, up.unrecorded + down.unrecorded))
    }

    /// Returns the frames that one end saw in the last window as a pcapng file in memory, and the
    /// number of frames missing from it.
    pub(super) fn capture(&self, side: Side) -> io::Result<(OwnedFd, u64)> {
        let stores = self
            .last_ledgers()?
            .each_ref()
            .map(|ledger| ledger.frames.as_ref());
        let [Some(up), Some(down)] = stores else {
            return Err(io::Error::other(
                "capturing was not enabled before the window began",
            ));
        };
        let offset_ns = wall_offset_ns();
        let (sends, receives) = match side {
            Side::Client => (up, down),
            Side::Server => (down, up),
        };
        let mut frames = Vec::new();
        for (store, inbound) in [(sends, false), (receives, true)] {
            let seen = store.iter().filter(|(frame, _)| frame.leaving == inbound);
            frames.extend(seen.map(|(frame, bytes)| CapturedFrame {
                at_ns: frame.at_ns.saturating_add_signed(offset_ns),
                inbound,
                bytes,
            }));
        }
        frames.sort_by_key(|frame| frame.at_ns);
        let file = in_memory("capture", |file| {
            pcapng::write(file, side.name(), frames.into_iter())
        })?;
        Ok((file, sends.missed[0] + receives.missed[1]))
    }
}

/// Creates a file without a path, filled and rewound.
fn in_memory(
    name: &str,
    fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<OwnedFd> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = BufWriter::new(File::from(rustix::fs::memfd_create(name, flags)?));
    fill(&mut file)?;
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file.into())
}

fn snapshot(endpoints: &[Endpoint; 2], reaper: &Reaper) -> io::Result<Snapshot> {
    let [client, server] = endpoints;
    let netlink = Netlink::open()?;
    let usage = |endpoint: &Endpoint, side| -> io::Result<Usage> {
        let mut usage = costs::usage_in(endpoint.netns.inode()?)?;
        usage.cpu_ns += reaper.ended_cpu_ns(side);
        Ok(usage)
    };
    let link_interface = |side: Side| endpoint::interface_counters(&netlink, side.name());
    Ok(Snapshot {
        at_ns: 0,
        client: usage(client, Side::Client)?,
        server: usage(server, Side::Server)?,
        interfaces: Interfaces {
            client: client.interface_counters()?,
            link_client: link_interface(Side::Client)?,
            link_server: link_interface(Side::Server)?,
            server: server.interface_counters()?,
        },
        endpoint_receive_drops: client.receive_drops()? + server.receive_drops()?,
        softnet_drops: counters::softnet_drops()?,
        machine: costs::machine_ticks()?,
        wall_offset_ns: wall_offset_ns(),
    })
}

fn summarise(start: &Snapshot, end: &Snapshot, ledgers: &[Box<PacketLedger>; 2]) -> Window {
    let [up, down] = ledgers;
    let (before, after) = (&start.interfaces, &end.interfaces);
    let interfaces = Interfaces {
        client: after.client.since(&before.client),
        link_client: after.link_client.since(&before.link_client),
        link_server: after.link_server.since(&before.link_server),
        server: after.server.since(&before.server),
    };
    // Includes frames that a full interface refused at first, which the link then sent again.
    let interface_drops = interfaces.client.dropped
        + interfaces.link_client.dropped
        + interfaces.link_server.dropped
        + interfaces.server.dropped;
    let (stolen, total) = (
        end.machine.0 - start.machine.0,
        (end.machine.1 - start.machine.1).max(1),
    );
    Window {
        started_ns: start.at_ns,
        took_ns: end.at_ns - start.at_ns,
        up: totals(up),
        down: totals(down),
        client: costs_between(start.client, end.client),
        server: costs_between(start.server, end.server),
        link_cpu_ns: up.cpu_ns + down.cpu_ns,
        link_spin_ns: up.spin_ns + down.spin_ns,
        foreign_drops: ForeignDrops {
            ring: up.ring_drops + down.ring_drops,
            link: up.lost_frames + down.lost_frames,
            interface: interface_drops.saturating_sub(up.retries + down.retries),
            softnet: end.softnet_drops.saturating_sub(start.softnet_drops),
        },
        endpoint_receive_drops: (end.endpoint_receive_drops)
            .saturating_sub(start.endpoint_receive_drops),
        steal: stolen as f64 / total as f64,
        clock_step_ns: end.wall_offset_ns.abs_diff(start.wall_offset_ns),
        interfaces,
        unrecorded: up.unrecorded + down.unrecorded,
        ..Window::default()
    }
}

fn costs_between(start: Usage, end: Usage) -> Costs {
    Costs {
        cpu_ns: end.cpu_ns.saturating_sub(start.cpu_ns),
        // Added by the owner, which can see the kernel thread.
        kernel_cpu_ns: None,
        run_queue_wait_ns: end
            .run_queue_wait_ns
            .saturating_sub(start.run_queue_wait_ns),
        peak_rss_bytes: end.peak_rss_bytes,
    }
}
