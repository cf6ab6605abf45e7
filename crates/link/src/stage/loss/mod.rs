//! Random loss behind the queue, by one of three models.

mod burst;
mod gilbert_elliott;
mod iid;

use super::{Item, Outcome, Stage, outbox::Outbox};
use crate::{Cause, Direction, LossSpec, PathSpec, flows::Ticket};

/// Says whether a packet is lost.
trait Model: Send {
    fn start(&mut self, _origin_ns: u64) {}

    /// Asked once for each packet that has a ticket, in order of time.
    fn loses(&mut self, now_ns: u64, ticket: Ticket) -> bool;
}

pub(super) fn build(spec: &PathSpec, direction: Direction, seed: u64) -> Option<Box<dyn Stage>> {
    let model: Box<dyn Model> = match spec.loss.as_ref()? {
        LossSpec::Iid { ppb } => Box::new(iid::Iid::new(*ppb, direction, seed)),
        LossSpec::Burst(spec) => Box::new(burst::Burst::new(spec, direction, seed)),
        LossSpec::GilbertElliott(spec) => {
            Box::new(gilbert_elliott::GilbertElliott::new(spec, direction, seed))
        }
    };
    Some(Box::new(Loss {
        model,
        out: Outbox::default(),
    }))
}

struct Loss {
    model: Box<dyn Model>,
    out: Outbox,
}

impl Stage for Loss {
    fn start(&mut self, origin_ns: u64) {
        self.model.start(origin_ns);
    }

    fn offer(&mut self, now_ns: u64, item: Item) {
        match item.ticket {
            Some(ticket) if self.model.loses(now_ns, ticket) => {
                self.out.drop(now_ns, item, Cause::Loss);
            }
            _ => self.out.pass(now_ns, item),
        }
    }

    fn next_deadline(&self) -> Option<u64> {
        self.out.next_deadline()
    }

    fn poll(&mut self, now_ns: u64) -> Option<Outcome> {
        self.out.poll(now_ns)
    }

    fn held(&self) -> usize {
        self.out.held()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{drain, item_of},
        *,
    };
    use crate::Transport;

    #[test]
    fn what_has_no_ticket_is_never_lost() {
        let loss = Some(LossSpec::Iid { ppb: 1_000_000_000 });
        let spec = PathSpec {
            loss,
            ..PathSpec::default()
        };
        let mut stage = build(&spec, Direction::Down, 1).unwrap();
        stage.offer(0, item_of(Transport::Other, 0, 60));
        stage.offer(0, item_of(Transport::Tcp, 1, 60));
        assert_eq!(
            drain(&mut *stage),
            [(0, 0, None), (0, 1, Some(Cause::Loss))]
        );
    }
}
