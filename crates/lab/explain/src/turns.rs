//! The order in which the bottleneck served packets, and what each waited for.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use link::tap::{Fate, TapRecord};
use link::{Cause, Direction};

use crate::Part;
use crate::leg::Leg;

/// When the bottleneck served a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) begin_ns: u64,
    pub(crate) left_ns: u64,
    pub(crate) woke_ns: Option<u64>,
    /// The packet in front, for whose departure it waited.
    pub(crate) behind: Option<usize>,
    /// What it waited for if nothing in front of it was served.
    pub(crate) idle: Part,
}

/// A packet that waits. The one with the least is served next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    /// When it had left, as far as that is known.
    left_ns: u64,
    departure_ns: u64,
    number: usize,
}

/// The packet that was served last.
#[derive(Clone, Copy, Debug)]
struct Last {
    waiting: Waiting,
    begin_ns: u64,
    /// When the bottleneck was free again.
    left_ns: u64,
    /// The last packet before it, and before all with the same departure, whose order is unknown.
    before: Option<usize>,
}

/// Returns the turn of each packet of `order`, by its number there. Those that a queue dropped have none.
pub(crate) fn turns(tap: &[TapRecord], order: &[usize], up: &Leg, down: &Leg) -> Vec<Option<Turn>> {
    let mut turns: Vec<Option<Turn>> = vec![None; order.len()];
    for (direction, leg) in [(Direction::Up, up), (Direction::Down, down)] {
        let takes_turn = |number: &usize| {
            let record = &tap[order[*number]];
            let is_served = matches!(
                record.fate,
                Fate::Delivered | Fate::Left | Fate::InFlight | Fate::Dropped(Cause::Loss)
            );
            is_served && record.direction == direction
        };
        let served: Vec<usize> = (0..order.len()).filter(takes_turn).collect();
        let records: Vec<&TapRecord> = served.iter().map(|&at| &tap[order[at]]).collect();
        let lefts_ns = lefts_ns(&records, leg);
        let mut arriving = served.iter().zip(records).zip(lefts_ns).peekable();
        let mut waiting = BinaryHeap::new();
        let mut last: Option<Last> = None;
        loop {
            let free_ns = last.map_or(0, |last| last.left_ns);
            // Where flows take turns, the next is one of those that had arrived when the bottleneck began to send it.
            let is_before = |record: &TapRecord, waiting: &BinaryHeap<Reverse<Waiting>>| {
                waiting.peek().is_none_or(|Reverse(first)| {
                    let first = &tap[order[first.number]];
                    leg.is_fair && record.arrival_ns < leg.least_begin_ns(first).max(free_ns)
                })
            };
            while let Some(((&number, record), left_ns)) =
                arriving.next_if(|((_, record), _)| is_before(record, &waiting))
            {
                waiting.push(Reverse(Waiting {
                    left_ns,
                    departure_ns: record.departure_ns,
                    number,
                }));
            }
            let Some(Reverse(next)) = waiting.pop() else {
                break;
            };
            let (turn, now) = serve(&tap[order[next.number]], next, leg, last);
            turns[next.number] = Some(turn);
            last = Some(now);
        }
    }
    turns
}

/// Serves a packet after the last.
fn serve(record: &TapRecord, next: Waiting, leg: &Leg, last: Option<Last>) -> (Turn, Last) {
    let was_delivered = matches!(record.fate, Fate::Delivered | Fate::Left);
    let latest_ns = match was_delivered {
        true => record.departure_ns.max(record.arrival_ns),
        false => u64::MAX,
    };
    let free_ns = last.map_or(0, |last| last.left_ns);
    let service = leg.service(record, free_ns, was_delivered);
    let left_ns = service.left_ns.min(latest_ns);
    let begin_ns = service.begin_ns.min(left_ns);
    // Both waited at once, and left the link at once.
    let tied = last.filter(|last| {
        leg.is_fair
            && last.waiting.departure_ns == next.departure_ns
            && record.arrival_ns < last.begin_ns
    });
    let front = match tied {
        Some(last) => last.before,
        None => last.map(|last| last.waiting.number),
    };
    let turn = Turn {
        begin_ns,
        left_ns,
        woke_ns: service.woke_ns,
        behind: front.filter(|_| record.arrival_ns < free_ns),
        idle: match leg.has_gate && tied.is_none() {
            true => Part::LinkClosed,
            false => Part::Unexplained,
        },
    };
    let now = Last {
        waiting: next,
        begin_ns,
        left_ns,
        before: front,
    };
    (turn, now)
}

/// Returns when each packet had left the bottleneck, to compare them where flows take turns. None leaves before it was
/// sent, and departures show the order of those that were delivered.
fn lefts_ns(records: &[&TapRecord], leg: &Leg) -> Vec<u64> {
    if !leg.is_fair {
        return vec![0; records.len()];
    }
    let left_ns = |record: &&TapRecord| leg.shown_left_ns(record).max(leg.least_left_ns(record));
    let mut lefts_ns: Vec<u64> = records.iter().map(left_ns).collect();
    let is_in_order = |at: &usize| match records[*at].fate {
        Fate::Delivered | Fate::Left => true,
        Fate::InFlight => false,
        _ => leg.is_delay_first,
    };
    let mut in_order: Vec<usize> = (0..records.len()).filter(is_in_order).collect();
    in_order.sort_by_key(|&at| (records[at].departure_ns, at));
    let mut least_ns = 0;
    for at in in_order {
        least_ns = least_ns.max(lefts_ns[at]);
        lefts_ns[at] = least_ns;
    }
    lefts_ns
}
