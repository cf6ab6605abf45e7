//! Flow numbers, which both directions share without waiting for each other.
//!
//! The up thread assigns them and sends each to the down thread before it delivers the packet that
//! opened the flow. Each window has tables and a channel of its own, so that nothing from an earlier
//! window is left in them.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use link::{Direction, FlowRule, FlowTable};

/// Flows that may open one after another before a packet comes down. The down direction never learns
/// of more, and so counts their packets as stray.
const UNREAD_MAX: usize = 4096;

/// Stands for the opening of a flow that goes on with a connection from before a move. No QUIC Initial has it: theirs is
/// a hash of at least one byte.
const MOVED: u64 = 0;

/// The flow numbers of one direction.
pub(crate) struct FlowNumbers {
    table: FlowTable,
    exchange: Exchange,
}

enum Exchange {
    ToDown(SyncSender<(u64, u32)>),
    FromUp(Receiver<(u64, u32)>),
}

/// Creates the flow numbers of a window, up first.
pub(crate) fn flow_numbers(rule: FlowRule) -> [FlowNumbers; 2] {
    let (to_down, from_up) = sync_channel(UNREAD_MAX);
    [
        FlowNumbers {
            table: FlowTable::new(rule, Direction::Up),
            exchange: Exchange::ToDown(to_down),
        },
        FlowNumbers {
            table: FlowTable::new(rule, Direction::Down),
            exchange: Exchange::FromUp(from_up),
        },
    ]
}

impl FlowNumbers {
    /// Returns the number of a packet's flow; see [`FlowTable::number`].
    pub(crate) fn number(&mut self, flow: u64, opening: Option<u64>) -> Option<u32> {
        if let Exchange::FromUp(from_up) = &self.exchange {
            while let Ok((flow, number)) = from_up.try_recv() {
                self.table.insert(flow, number);
            }
        }
        let found = self.table.number(flow, opening)?;
        if let (true, Exchange::ToDown(to_down)) = (found.changed, &self.exchange) {
            // Fails when too many are unread, or when the other thread has ended.
            let _sent = to_down.try_send((flow, found.number));
        }
        Some(found.number)
    }

    /// Returns the number of a UDP packet's flow after the client has moved. A QUIC connection goes on from another
    /// address or port without an opening (RFC 9000 section 9), so that any packet may be the first of a flow.
    pub(crate) fn number_moved(&mut self, flow: u64, opening: Option<u64>) -> Option<u32> {
        let number = self.number(flow, opening);
        number.or_else(|| self.number(flow, Some(MOVED)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_agree() {
        let [mut up, mut down] = flow_numbers(FlowRule::Opening);
        assert_eq!((up.number(9, None), down.number(9, None)), (None, None));
        assert_eq!(up.number(5, Some(1)), Some(0));
        assert_eq!(up.number(4, Some(1)), Some(2));
        assert_eq!(down.number(4, None), Some(2));
        assert_eq!(down.number(5, None), Some(0));
        assert_eq!(down.number(9, None), None);
    }

    #[test]
    fn a_connection_that_moves_is_a_flow_of_its_own_until_another_opens_on_it() {
        let [mut up, mut down] = flow_numbers(FlowRule::Opening);
        assert_eq!(up.number(5, Some(1)), Some(0));
        assert_eq!(up.number(6, None), None);
        assert_eq!(up.number_moved(6, None), Some(2));
        assert_eq!(up.number_moved(6, None), Some(2));
        assert_eq!(down.number(6, None), Some(2));
        assert_eq!(up.number_moved(5, None), Some(0));
        assert_eq!(up.number_moved(6, Some(1)), Some(4));
        assert_eq!(up.number_moved(6, None), Some(4));
    }

    #[test]
    fn flows_beyond_the_unread_limit_have_no_number_in_the_other_direction() {
        let [mut up, mut down] = flow_numbers(FlowRule::Opening);
        for flow in 0..=UNREAD_MAX as u64 {
            assert!(up.number(flow, Some(1)).is_some());
        }
        assert!(down.number(UNREAD_MAX as u64 - 1, None).is_some());
        assert_eq!(down.number(UNREAD_MAX as u64, None), None);
    }
}
