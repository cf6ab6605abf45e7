//! A packet's way through the bottleneck's queue, back in time.

use crate::Part;
use crate::walk::Walk;

impl Walk<'_> {
    /// Charges a packet's way across the link, and returns the packet whose emission began it: itself, or the earliest
    /// of this connection in whose queue it stood.
    pub(crate) fn cross(&mut self, number: usize, reason: Part) -> usize {
        self.charge(self.seen.packet(number).left_ns, reason, Some(number));
        let flow = self.seen.packet(number).flow;
        let mut head = number;
        loop {
            // What was in front of it when it arrived, up to the last of this connection.
            let mut own = None;
            let mut first = head;
            while let Some(front) = self.waited_for(first, head) {
                self.serve(first, self.seen.packet(front).left_ns, flow);
                first = front;
                if self.seen.packet(front).flow == flow {
                    own = Some(front);
                    break;
                }
            }
            match own {
                Some(front) => head = front,
                None => {
                    self.serve(first, self.seen.packet(head).arrival_ns, flow);
                    return head;
                }
            }
            if self.at_ns <= self.seen.request.start_ns {
                return head;
            }
        }
    }

    /// Returns the packet in front of another, if it was still there when `head` arrived.
    fn waited_for(&self, number: usize, head: usize) -> Option<usize> {
        let front = self.seen.packet(number).behind?;
        (self.seen.packet(front).left_ns > self.seen.packet(head).arrival_ns).then_some(front)
    }

    /// Charges the time in which the bottleneck served a packet, from `from_ns` on.
    fn serve(&mut self, number: usize, from_ns: u64, flow: usize) {
        let packet = self.seen.packet(number);
        let part = match packet {
            packet if packet.flow != flow => Part::LinkBusyOthers,
            packet if packet.first_copy.is_some() => Part::LinkBusyCopies,
            _ => Part::LinkBusy,
        };
        let woke_ns = packet.woke_ns.unwrap_or(from_ns);
        self.charge(packet.begin_ns.max(from_ns), part, Some(number));
        self.charge(woke_ns.max(from_ns), packet.idle, Some(number));
        self.charge(from_ns, Part::Radio, Some(number));
    }
}
