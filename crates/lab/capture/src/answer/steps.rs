//! A critical path as formats print it, with what the captures show of its packets.

use explain::{Path, Step};
use link::Cause;
use link::tap::{FIN, Fate, SYN};
use record::{CallPath, PacketFate, PacketKind, PathPacket, PathStep};

use crate::transit::Transit;

/// Steps that are kept of a path, half of them at its start.
const MAX_STEPS: usize = 2_000;

/// Returns the path of an exchange that began at `start_ns`. Its packets' numbers are places in `packets`, to which those
/// of the captures are added.
pub(super) fn recorded(
    path: &Path,
    start_ns: u64,
    transits: &[Transit],
    packets: &mut Vec<[Option<u32>; 2]>,
) -> CallPath {
    let steps = &path.steps;
    let kept = steps.len().min(MAX_STEPS);
    let (first, last) = (kept.div_ceil(2), steps.len() - kept / 2);
    let ends = steps[..first].iter().chain(&steps[last..]);
    let mut recorded = |step: &Step| PathStep {
        part: step.part.name().to_owned(),
        from_ns: step.from_ns - start_ns,
        to_ns: step.to_ns - start_ns,
        packet: step.packet.map(|at| {
            packets.push(transits[at].numbers);
            packet(&transits[at], packets.len() - 1, start_ns)
        }),
    };
    CallPath {
        steps: ends.map(&mut recorded).collect(),
        left_out: (steps.len() - kept) as u32,
    }
}

fn packet(transit: &Transit, number: usize, start_ns: u64) -> PathPacket {
    let placed = &transit.placed;
    let is_syn = placed.flags & SYN != 0;
    PathPacket {
        number: number as u32,
        up: placed.side == 0,
        arrival_ns: transit.sent_ns.wrapping_sub(start_ns) as i64,
        payload_bytes: placed.payload_bytes() as u16,
        // The SYN has a number of its own.
        offset: placed.start.checked_sub(1).filter(|_| !is_syn),
        kind: match placed.flags {
            _ if is_syn => Some(PacketKind::Syn),
            flags if flags & FIN != 0 => Some(PacketKind::Fin),
            _ => None,
        },
        fate: match transit.fate {
            Fate::Delivered => PacketFate::Delivered,
            Fate::InFlight => PacketFate::InFlight,
            Fate::Dropped(Cause::Loss) => PacketFate::Lost,
            Fate::Dropped(_) | Fate::Refused | Fate::Unmapped | Fate::Left => PacketFate::Dropped,
        },
        copy: transit.is_copy,
    }
}
