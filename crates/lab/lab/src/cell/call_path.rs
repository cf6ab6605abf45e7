//! The critical path of a call as its record keeps it: each step with what the link saw of its packet.

use std::collections::HashMap;

use explain::{Path, Step};
use link::tap::{FIN, Fate, SYN, TCP, TapRecord};
use link::{Cause, Direction};
use record::{CallPath, PacketFate, PacketKind, PathPacket, PathStep};

/// Steps that are kept of one call.
const MAX_CALL_STEPS: usize = 2_000;
/// Steps that are kept of one cell. Together they take about half of the largest record.
const MAX_CELL_STEPS: usize = 300_000;

/// Turns the paths of a cell's calls into what is recorded.
pub(super) struct Recorder<'a> {
    tap: &'a [TapRecord],
    places: Vec<Place>,
    /// Steps that may still be kept.
    room: usize,
}

/// Where a packet's bytes stand in its TCP connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    offset: Option<u64>,
    is_copy: bool,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(tap: &'a [TapRecord]) -> Recorder<'a> {
        Recorder {
            tap,
            places: places(tap),
            room: MAX_CELL_STEPS,
        }
    }

    /// Returns the path of a call that started at `start_ns`. Of a long one the first and the last steps are kept.
    pub(super) fn record(&mut self, path: &Path, start_ns: u64) -> CallPath {
        let steps = &path.steps;
        let kept = steps.len().min(MAX_CALL_STEPS).min(self.room);
        self.room -= kept;
        let (first, last) = (kept.div_ceil(2), steps.len() - kept / 2);
        let ends = steps[..first].iter().chain(&steps[last..]);
        CallPath {
            steps: ends.map(|step| self.step(step, start_ns)).collect(),
            left_out: (steps.len() - kept) as u32,
        }
    }

    fn step(&self, step: &Step, start_ns: u64) -> PathStep {
        PathStep {
            part: step.part.name().to_owned(),
            from_ns: step.from_ns - start_ns,
            to_ns: step.to_ns - start_ns,
            packet: step.packet.map(|number| self.packet(number, start_ns)),
        }
    }

    fn packet(&self, number: usize, start_ns: u64) -> PathPacket {
        let (packet, place) = (&self.tap[number], self.places[number]);
        PathPacket {
            number: number as u32,
            up: packet.direction == Direction::Up,
            arrival_ns: packet.arrival_ns.wrapping_sub(start_ns) as i64,
            payload_bytes: packet.payload_bytes,
            offset: place.offset,
            kind: kind(packet),
            fate: match packet.fate {
                Fate::Delivered => PacketFate::Delivered,
                Fate::InFlight => PacketFate::InFlight,
                Fate::Dropped(Cause::Loss) => PacketFate::Lost,
                Fate::Dropped(_) | Fate::Refused | Fate::Unmapped | Fate::Left => {
                    PacketFate::Dropped
                }
            },
            copy: place.is_copy,
        }
    }
}

/// Returns what a packet's header shows. The types of QUIC's long headers are those of version 1.
fn kind(packet: &TapRecord) -> Option<PacketKind> {
    match packet.protocol {
        TCP if packet.tcp_flags & SYN != 0 => Some(PacketKind::Syn),
        TCP if packet.tcp_flags & FIN != 0 => Some(PacketKind::Fin),
        TCP => None,
        _ => match packet.quic_type()? {
            0xc0 => Some(PacketKind::QuicInitial),
            0xd0 => Some(PacketKind::QuicZeroRtt),
            0xe0 => Some(PacketKind::QuicHandshake),
            0xf0 => Some(PacketKind::QuicRetry),
            _ => None,
        },
    }
}

/// What one end of a TCP connection has sent.
struct Sent {
    /// Sequence number of the first byte of data, if its SYN was seen.
    first: Option<u32>,
    /// The end of all that was sent.
    end: u32,
}

/// Returns the place of each packet. A SYN with another sequence number begins another connection.
fn places(tap: &[TapRecord]) -> Vec<Place> {
    let mut ends: HashMap<(u16, u16), Sent> = HashMap::new();
    let place = |packet: &TapRecord| {
        if packet.protocol != TCP || packet.stray || packet.fate == Fate::Refused {
            return Place::default();
        }
        let is_syn = packet.tcp_flags & SYN != 0;
        let ports = (packet.src_port, packet.dst_port);
        let first = is_syn.then(|| packet.seq.wrapping_add(1));
        let sent = ends.entry(ports).or_insert(Sent {
            first,
            end: packet.seq,
        });
        if is_syn && sent.first != first {
            *sent = Sent {
                first,
                end: packet.seq,
            };
        }
        let length = packet.sequence_length();
        let end = packet.seq.wrapping_add(length);
        let is_copy = length > 0 && end.wrapping_sub(sent.end) as i32 <= 0;
        if length > 0 && !is_copy {
            sent.end = end;
        }
        let offset = sent
            .first
            .filter(|_| !is_syn)
            .map(|first| packet.seq.wrapping_sub(first).into());
        Place { offset, is_copy }
    };
    tap.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use explain::Part;
    use link::tap::{ACK, UDP};

    use super::*;

    fn tcp(direction: Direction, flags: u8, seq: u32, payload_bytes: u16) -> TapRecord {
        let (src_port, dst_port) = match direction {
            Direction::Up => (4000, 443),
            Direction::Down => (443, 4000),
        };
        TapRecord {
            direction,
            src_port,
            dst_port,
            tcp_flags: flags,
            seq,
            payload_bytes,
            protocol: TCP,
            fate: Fate::Delivered,
            ..TapRecord::from_bytes(&[0; TapRecord::LEN]).unwrap()
        }
    }

    fn steps(count: u64) -> Path {
        let step = |at: u64| Step {
            from_ns: 100 + at,
            to_ns: 101 + at,
            part: Part::LinkBusy,
            packet: None,
        };
        Path {
            steps: (0..count).map(step).collect(),
        }
    }

    #[test]
    fn places_follow_the_sequence_numbers_of_each_connection() {
        use Direction::{Down, Up};
        let near_wrap = u32::MAX - 4;
        let tap = [
            tcp(Up, SYN, near_wrap, 0),
            tcp(Up, SYN, near_wrap, 0),
            tcp(Down, SYN | ACK, 70, 0),
            tcp(Up, ACK, near_wrap.wrapping_add(1), 10),
            tcp(Up, ACK, near_wrap.wrapping_add(11), 5),
            tcp(Up, ACK, near_wrap.wrapping_add(1), 10),
            tcp(Up, ACK, near_wrap.wrapping_add(16), 0),
            tcp(Up, SYN, 9, 0),
            tcp(Up, ACK, 10, 1),
        ];
        let found = places(&tap).into_iter();
        let expected = [
            (None, false),
            (None, true),
            (None, false),
            (Some(0), false),
            (Some(10), false),
            (Some(0), true),
            (Some(15), false),
            (None, false),
            (Some(0), false),
        ];
        assert!(
            found
                .map(|place| (place.offset, place.is_copy))
                .eq(expected)
        );
        // The start of this connection was not seen.
        let later = places(&tap[3..6]).into_iter();
        let expected = [(None, false), (None, false), (None, true)];
        assert!(
            later
                .map(|place| (place.offset, place.is_copy))
                .eq(expected)
        );
    }

    #[test]
    fn packets_are_told_by_their_headers() {
        let udp = |first_byte| TapRecord {
            protocol: UDP,
            first_byte,
            ..tcp(Direction::Up, 0, 0, 1200)
        };
        assert_eq!(kind(&udp(0xc3)), Some(PacketKind::QuicInitial));
        assert_eq!(kind(&udp(0xd0)), Some(PacketKind::QuicZeroRtt));
        assert_eq!(kind(&udp(0xe1)), Some(PacketKind::QuicHandshake));
        assert_eq!(kind(&udp(0xf0)), Some(PacketKind::QuicRetry));
        assert_eq!(kind(&udp(0x43)), None);
        // RFC 9287 lets the second bit vary.
        assert_eq!(kind(&udp(0x8b)), Some(PacketKind::QuicInitial));
        assert_eq!(kind(&udp(0x03)), None);
        let up = |flags| kind(&tcp(Direction::Up, flags, 0, 0));
        assert_eq!(up(SYN | ACK), Some(PacketKind::Syn));
        assert_eq!(up(FIN | ACK), Some(PacketKind::Fin));
        assert_eq!(up(ACK), None);
    }

    #[test]
    fn times_count_from_the_call() {
        let mut packet = tcp(Direction::Down, ACK, 0, 7);
        packet.arrival_ns = 40;
        packet.fate = Fate::Dropped(Cause::Loss);
        let path = Path {
            steps: vec![Step {
                from_ns: 50,
                to_ns: 80,
                part: Part::LossFast,
                packet: Some(0),
            }],
        };
        let recorded = Recorder::new(&[packet]).record(&path, 50);
        let step = &recorded.steps[0];
        assert_eq!(
            (step.part.as_str(), step.from_ns, step.to_ns),
            ("loss_fast", 0, 30)
        );
        let packet = step.packet.as_ref().unwrap();
        assert_eq!((packet.arrival_ns, packet.up), (-10, false));
        assert_eq!((packet.payload_bytes, packet.fate), (7, PacketFate::Lost));
    }

    #[test]
    fn the_middle_of_a_long_path_is_left_out() {
        let mut recorder = Recorder::new(&[]);
        let short = recorder.record(&steps(MAX_CALL_STEPS as u64), 100);
        assert_eq!((short.steps.len(), short.left_out), (MAX_CALL_STEPS, 0));
        let long = recorder.record(&steps(MAX_CALL_STEPS as u64 + 3), 100);
        assert_eq!((long.steps.len(), long.left_out), (MAX_CALL_STEPS, 3));
        let at = |index: usize| long.steps[index].from_ns;
        assert_eq!((at(0), at(999), at(1000), at(1999)), (0, 999, 1003, 2002));
    }

    #[test]
    fn a_cell_keeps_no_more_steps_than_its_record_holds() {
        let mut recorder = Recorder::new(&[]);
        recorder.room = 3;
        let path = recorder.record(&steps(5), 100);
        assert_eq!((path.steps.len(), path.left_out), (3, 2));
        let path = recorder.record(&steps(5), 100);
        assert_eq!((path.steps.len(), path.left_out), (0, 5));
    }
}
