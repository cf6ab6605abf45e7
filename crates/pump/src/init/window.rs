//! A window from the inside: readings at its begin, readings at its end, and the difference.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::os::fd::OwnedFd;

use super::costs::{self, Usage};
use super::endpoint::{self, Endpoint};
use super::reaper::Reaper;
use super::sockets;
use crate::datapath::clock::wall_offset_ns;
use crate::datapath::ledger::PacketLedger;
use crate::datapath::threads::LinkThreads;
use crate::datapath::totals::totals;
use crate::facts::Side;
use crate::net::counters;
use crate::net::netlink::Netlink;
use crate::pcapng::{self, Captured};
use crate::sys;
use crate::window::{Costs, ForeignDrops, Interfaces, Window};

/// What is read at both ends of a window.
#[derive(Clone, Copy, Default)]
struct Snapshot {
    at_ns: u64,
    client: Usage,
    server: Usage,
    interfaces: Interfaces,
    endpoint_drops: u64,
    softnet_drops: u64,
    /// Taken by the hypervisor, and all, in ticks.
    machine: (u64, u64),
    wall_offset_ns: i64,
}

/// WindowRecorder of a bench, one at a time.
#[derive(Default)]
pub(super) struct WindowRecorder {
    begun: Option<Snapshot>,
    last: Option<[Box<PacketLedger>; 2]>,
}

impl WindowRecorder {
    pub(super) fn begin(
        &mut self,
        link: &mut LinkThreads,
        endpoints: &[Endpoint; 2],
        reaper: &Reaper,
    ) -> io::Result<()> {
        if let Some(books) = self.last.take() {
            link.give_back(books);
        }
        let mut readings = read(endpoints, reaper)?;
        readings.at_ns = sys::monotonic_ns();
        link.begin(readings.at_ns)?;
        self.begun = Some(readings);
        Ok(())
    }

    pub(super) fn end(
        &mut self,
        link: &mut LinkThreads,
        endpoints: &[Endpoint; 2],
        reaper: &Reaper,
    ) -> io::Result<Window> {
        let begun = self
            .begun
            .take()
            .ok_or_else(|| io::Error::other("no window has begun"))?;
        let books = link.end()?;
        let mut ended = read(endpoints, reaper)?;
        ended.at_ns = sys::monotonic_ns();
        let mut window = summarise(&begun, &ended, &books);
        let [client, server] = endpoints;
        window.client_sockets = sockets::open_in(client.netns.inode()?);
        window.server_sockets = sockets::open_in(server.netns.inode()?);
        self.last = Some(books);
        Ok(window)
    }

    /// Forgets the books of a link that is gone.
    pub(super) fn reset(&mut self) {
        *self = WindowRecorder::default();
    }

    /// The books of the last window, up first.
    pub(super) fn books(&self) -> io::Result<&[Box<PacketLedger>; 2]> {
        self.last
            .as_ref()
            .ok_or_else(|| io::Error::other("no window has ended"))
    }

    /// The tap of the last window as a file in memory, in order of arrival, and how many
    /// packets it misses.
    pub(super) fn tap(&self) -> io::Result<(OwnedFd, u64)> {
        let [up, down] = self.books()?;
        let mut records: Vec<_> = up.records().iter().chain(down.records()).collect();
        records.sort_by_key(|record| record.arrival_ns);
        let file = in_memory("tap", |file| {
            records
                .iter()
                .try_for_each(|record| file.write_all(&record.to_bytes()))
        })?;
        Ok((file, up.unrecorded + down.unrecorded))
    }

    /// The frames of the last window as a pcapng file in memory, and how many it misses.
    pub(super) fn capture(&self) -> io::Result<(OwnedFd, u64)> {
        let [Some(up), Some(down)] = self.books()?.each_ref().map(|book| book.frames.as_ref())
        else {
            return Err(io::Error::other(
                "no capture was asked for before the window began",
            ));
        };
        let offset_ns = wall_offset_ns();
        let mut frames = Vec::new();
        // Up leaves the client and comes in at the server; down the other way round.
        for (store, from) in [(up, 0), (down, 1)] {
            frames.extend(store.iter().map(|(frame, bytes)| Captured {
                at_ns: frame.at_ns.saturating_add_signed(offset_ns),
                interface: if frame.leaving { 1 - from } else { from },
                inbound: frame.leaving,
                bytes,
            }));
        }
        frames.sort_by_key(|frame| frame.at_ns);
        let interfaces = Side::BOTH.map(Side::link_interface);
        let file = in_memory("capture", |file| {
            pcapng::write(file, &interfaces, frames.into_iter())
        })?;
        Ok((file, up.missed + down.missed))
    }
}

/// Makes a file that exists only as a descriptor, to be read from its start.
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

fn read(endpoints: &[Endpoint; 2], reaper: &Reaper) -> io::Result<Snapshot> {
    let [client, server] = endpoints;
    let link = Netlink::open()?;
    let used = |endpoint: &Endpoint, side| -> io::Result<Usage> {
        let mut used = costs::usage_in(endpoint.netns.inode()?)?;
        used.cpu_ns += reaper.ended_cpu_ns(side);
        Ok(used)
    };
    Ok(Snapshot {
        at_ns: 0,
        client: used(client, Side::Client)?,
        server: used(server, Side::Server)?,
        interfaces: Interfaces {
            client: client.interface_count()?,
            link_client: endpoint::interface_count(&link, Side::Client.link_interface())?,
            link_server: endpoint::interface_count(&link, Side::Server.link_interface())?,
            server: server.interface_count()?,
        },
        endpoint_drops: client.drops()? + server.drops()?,
        softnet_drops: counters::softnet_drops()?,
        machine: costs::machine_ticks()?,
        wall_offset_ns: wall_offset_ns(),
    })
}

fn summarise(begun: &Snapshot, ended: &Snapshot, books: &[Box<PacketLedger>; 2]) -> Window {
    let [up, down] = books;
    let (was, is) = (&begun.interfaces, &ended.interfaces);
    let interfaces = Interfaces {
        client: is.client.since(&was.client),
        link_client: is.link_client.since(&was.link_client),
        link_server: is.link_server.since(&was.link_server),
        server: is.server.since(&was.server),
    };
    // A frame that an interface would not take is counted there as dropped, but was kept here
    // and sent again.
    let interface_drops = interfaces.client.dropped
        + interfaces.link_client.dropped
        + interfaces.link_server.dropped
        + interfaces.server.dropped;
    let (stolen, all) = (
        ended.machine.0 - begun.machine.0,
        (ended.machine.1 - begun.machine.1).max(1),
    );
    Window {
        started_ns: begun.at_ns,
        took_ns: ended.at_ns - begun.at_ns,
        up: totals(up),
        down: totals(down),
        client: costs_of(begun.client, ended.client),
        server: costs_of(begun.server, ended.server),
        link_cpu_ns: up.cpu_ns + down.cpu_ns,
        link_spin_ns: up.spin_ns + down.spin_ns,
        foreign_drops: ForeignDrops {
            ring: up.ring_drops + down.ring_drops,
            link: up.lost_frames + down.lost_frames,
            interface: interface_drops.saturating_sub(up.retries + down.retries),
            softnet: ended.softnet_drops.saturating_sub(begun.softnet_drops),
            endpoint: ended.endpoint_drops.saturating_sub(begun.endpoint_drops),
        },
        steal: stolen as f64 / all as f64,
        clock_step_ns: ended.wall_offset_ns.abs_diff(begun.wall_offset_ns),
        interfaces,
        unrecorded: up.unrecorded + down.unrecorded,
        ..Window::default()
    }
}

fn costs_of(begun: Usage, ended: Usage) -> Costs {
    Costs {
        cpu_ns: ended.cpu_ns.saturating_sub(begun.cpu_ns),
        // The owner sees the kernel thread, this side does not.
        kernel_cpu_ns: None,
        run_queue_wait_ns: ended
            .run_queue_wait_ns
            .saturating_sub(begun.run_queue_wait_ns),
        peak_rss_bytes: ended.peak_rss_bytes,
    }
}
