//! Random loss after the queue, by one of three models.

pub(super) mod burst;
pub(super) mod gilbert_elliott;
mod iid;

use config::{ConfigError, Percent};

use super::{Item, Kind, Outcome, Stage, outbox::Outbox};
use crate::{
    flows::Ticket,
    model::{Cause, Direction},
    spec::{BadLength, LossSpec, PathSpec},
    table::{PERCENT, Table, ppb},
    text::{ms, percent},
};

pub(super) const KIND: Kind = Kind::new(build);

/// A model of loss.
trait Model: Send {
    fn start(&mut self, _origin_ns: u64) {}

    /// Decides whether a packet is lost. Called once for each packet with a ticket, in order of
    /// time.
    fn loses(&mut self, now_ns: u64, ticket: Ticket) -> bool;
}

/// Reads the loss of a direction. Fails if there is more than one.
pub(super) fn read(
    iid_percent: Option<Percent>,
    burst: Option<burst::Keys>,
    chain: Option<gilbert_elliott::Keys>,
    table: &Table<'_>,
) -> Result<Option<LossSpec>, ConfigError> {
    table.at_most_one(&[
        ("loss_percent", iid_percent.is_some()),
        ("burst_loss", burst.is_some()),
        ("gilbert_elliott", chain.is_some()),
    ])?;
    if let Some(burst) = burst {
        let spec = burst.read(&table.inner("burst_loss"))?;
        return Ok(Some(LossSpec::Burst(spec)));
    }
    if let Some(chain) = chain {
        let spec = chain.read(&table.inner("gilbert_elliott"))?;
        return Ok(Some(LossSpec::GilbertElliott(spec)));
    }
    let ppb = table
        .within("loss_percent", iid_percent, &PERCENT)?
        .map(ppb);
    Ok(ppb.filter(|&ppb| ppb > 0).map(|ppb| LossSpec::Iid { ppb }))
}

/// Returns the mean loss and its model, if there is any.
pub(crate) fn summary(spec: &PathSpec) -> Option<String> {
    let loss = spec.loss.as_ref()?;
    let mean = percent(loss.mean_ppb());
    Some(match loss {
        LossSpec::Iid { .. } => mean,
        LossSpec::Burst(burst) => {
            let exactly = match burst.bad_length {
                BadLength::Exponential => "",
                BadLength::Fixed => "exactly ",
            };
            format!("{mean} (fades of {exactly}{} ms)", ms(burst.bad_ns))
        }
        LossSpec::GilbertElliott(_) => format!("{mean} (Gilbert-Elliott)"),
    })
}

fn build(spec: &PathSpec, direction: Direction, seed: u64) -> Option<Box<dyn Stage>> {
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

    fn queued(&self) -> usize {
        self.out.queued()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::testing::{drain, item_of},
        *,
    };
    use crate::model::Transport;

    #[test]
    fn packets_without_ticket_are_never_lost() {
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
