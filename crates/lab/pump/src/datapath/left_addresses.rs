//! The addresses that the client has left, which all threads share without waiting for each other.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use link::Direction;

use super::frame;
use crate::facts::{Addresses, MAX_MOVES};

/// A time that never comes.
const NEVER: u64 = u64::MAX;

/// When the client left each of its addresses.
#[derive(Debug)]
pub(crate) struct LeftAddresses {
    has_moved: AtomicBool,
    /// By the number of moves that led to the address.
    left_ns: [AtomicU64; MAX_MOVES + 1],
}

impl LeftAddresses {
    pub(crate) fn new() -> LeftAddresses {
        LeftAddresses {
            has_moved: AtomicBool::new(false),
            left_ns: [const { AtomicU64::new(NEVER) }; MAX_MOVES + 1],
        }
    }

    /// Notes that the client is about to move.
    pub(crate) fn moved(&self) {
        self.has_moved.store(true, Ordering::Relaxed);
    }

    /// Notes that the client leaves the addresses that so many moves led to.
    pub(crate) fn leave(&self, moves: usize, at_ns: u64) {
        self.left_ns[moves].store(at_ns, Ordering::Relaxed);
    }

    /// Reports whether the client has moved.
    pub(crate) fn has_moved(&self) -> bool {
        self.has_moved.load(Ordering::Relaxed)
    }

    /// Reports whether the client has left the address that a frame comes from or goes to.
    pub(crate) fn is_left(&self, direction: Direction, frame: &[u8], at_ns: u64) -> bool {
        if !self.has_moved() {
            return false;
        }
        let both = frame::addresses(frame, &frame::parse(frame));
        let (from, to) = both.split_at(both.len() / 2);
        let client = match direction {
            Direction::Up => from,
            Direction::Down => to,
        };
        let is_there = |moves: &usize| {
            let Addresses { v4, v6 } = Addresses::of_client(*moves);
            client == v4.octets() || client == v6.octets()
        };
        let moves = (0..=MAX_MOVES).find(is_there);
        moves.is_some_and(|moves| self.left_ns[moves].load(Ordering::Relaxed) <= at_ns)
    }
}
