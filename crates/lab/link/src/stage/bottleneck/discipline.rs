//! The order in which the packets of a managed queue are sent.

use crate::{
    spec::QueueLimits,
    stage::{Item, outbox::Outbox},
};

/// The packets that wait, and which of them is next. What it drops goes to `out`.
pub(super) trait Discipline: Send {
    /// Takes a packet that arrives at `now_ns`.
    fn enqueue(&mut self, now_ns: u64, item: Item, limits: &QueueLimits, out: &mut Outbox);

    /// Returns the packet to send from `now_ns` on, which no longer waits.
    fn dequeue(&mut self, now_ns: u64, out: &mut Outbox) -> Option<Item>;

    /// Takes any packet out.
    fn flush(&mut self) -> Option<Item>;

    /// Returns the number of packets that wait.
    fn len(&self) -> usize;
}
