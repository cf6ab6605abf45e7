use super::Model;
use crate::{
    flows::Ticket,
    model::Direction,
    rng::{Chance, RandomStream},
};

/// Loses each packet with the same chance, independently of all others.
pub(super) struct Iid {
    chance: Chance,
    loss_stream: RandomStream,
}

impl Iid {
    pub(super) fn new(ppb: u32, direction: Direction, seed: u64) -> Iid {
        Iid {
            chance: Chance::from_ppb(ppb),
            loss_stream: RandomStream::new(seed, direction, "loss"),
        }
    }
}

impl Model for Iid {
    fn loses(&mut self, _now_ns: u64, ticket: Ticket) -> bool {
        self.chance.hit(self.loss_stream.draw(ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(ppb: u32, series: u64, n: u64) -> u64 {
        let mut model = Iid::new(ppb, Direction::Down, 7);
        (0..n)
            .filter(|&index| model.loses(0, Ticket { series, index }))
            .count() as u64
    }

    #[test]
    fn losses_are_binomial() {
        // (chance in ppb, mean, five sigma) for n = 200000.
        for (ppb, mean, bound) in [
            (1_000_000, 200, 71),
            (15_000_000, 3000, 272),
            (200_000_000, 40_000, 895),
        ] {
            for flow in 0..4 {
                let got = lost(ppb, flow, 200_000);
                assert!(got.abs_diff(mean) <= bound, "{ppb} ppb, flow {flow}: {got}");
            }
        }
    }

    #[test]
    fn successive_losses_are_independent() {
        // Two losses in a row at 10 %: mean 2000 of 200000, sigma below 50.
        let mut model = Iid::new(100_000_000, Direction::Up, 7);
        let lost: Vec<bool> = (0..200_001)
            .map(|index| model.loses(0, Ticket { series: 0, index }))
            .collect();
        let pairs = lost.windows(2).filter(|w| w[0] && w[1]).count();
        assert!(pairs.abs_diff(2000) < 250, "{pairs}");
    }
}
