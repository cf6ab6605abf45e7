use std::collections::VecDeque;

use crate::spec::QueueLimits;

/// Drop-tail queue in virtual time: the packets that wait, without the one in service. Packets
/// leave it by arrival times only, never by polling, so that a late poll finds it as full as it was.
#[derive(Debug)]
pub(super) struct Queue {
    limits: QueueLimits,
    /// When service of each waiting packet begins (ns), and its IP bytes.
    waiting: VecDeque<(u64, u32)>,
    bytes: u64,
}

impl Queue {
    pub(super) fn new(limits: QueueLimits) -> Queue {
        Queue {
            limits,
            waiting: VecDeque::new(),
            bytes: 0,
        }
    }

    /// Removes the packets whose service has begun by `now_ns`.
    pub(super) fn advance(&mut self, now_ns: u64) {
        while let Some(&(_, ip_bytes)) = self.waiting.front().filter(|&&(at, _)| at <= now_ns) {
            self.waiting.pop_front();
            self.bytes -= u64::from(ip_bytes);
        }
    }

    pub(super) fn fits(&self, ip_bytes: u32) -> bool {
        let bytes = self.bytes + u64::from(ip_bytes);
        self.limits.hold(bytes, self.waiting.len() as u64 + 1)
    }

    /// Counts a packet as waiting until `begin_ns`.
    pub(super) fn admit(&mut self, begin_ns: u64, ip_bytes: u32) {
        self.waiting.push_back((begin_ns, ip_bytes));
        self.bytes += u64::from(ip_bytes);
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_limits_apply() {
        let mut queue = Queue::new(QueueLimits {
            bytes: 3000,
            packets: 3,
        });
        queue.admit(10, 1400);
        assert!(queue.fits(1600));
        assert!(!queue.fits(1601));
        queue.admit(20, 100);
        queue.admit(30, 100);
        assert!(!queue.fits(1));
        queue.advance(10);
        assert!(queue.fits(2800));
        assert!(!queue.fits(2801));
        queue.clear();
        assert!(queue.fits(3000));
    }
}
