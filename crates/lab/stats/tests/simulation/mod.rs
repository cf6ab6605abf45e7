//! Simulated studies: how often intervals cover, comparisons are decided and decisions are wrong.
//! Used by the tests, with few trials, and by `examples/power.rs`, with many.

pub(crate) mod designs;
pub(crate) mod random;

use stats::{
    Differences, Family, Level, Outlook, Quantile, Ranks, Span, Verdict, decide, estimate,
    estimate_by_order, quantile,
};

use designs::{Design, SIGMA};
use random::{Distribution, Random};

/// The error that all simulated reports allow.
pub(crate) const ERROR: f64 = 0.05;

/// Counts of one event among many.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Share {
    pub(crate) count: f64,
    pub(crate) of: f64,
}

impl Share {
    pub(crate) fn add(&mut self, event: bool) {
        self.count += f64::from(event);
        self.of += 1.0;
    }

    /// Returns the share, 0 of nothing.
    pub(crate) fn value(self) -> f64 {
        self.count / self.of.max(1.0)
    }
}

/// Returns how often intervals of a median cover it: interpolated, and from one rank to another.
pub(crate) fn coverage(distribution: Distribution, n: usize, trials: u64) -> (Share, Share) {
    let mut random = Random::new(n as u64);
    let (mut interpolated, mut by_order) = (Share::default(), Share::default());
    for _ in 0..trials {
        let values: Vec<Span> = (0..n)
            .map(|_| Span::exact(distribution.draw(&mut random)))
            .collect();
        let truth = distribution.median();
        let covers = |e: Option<stats::Estimate>| {
            e.is_some_and(|e| e.interval.lo <= truth && truth <= e.interval.hi)
        };
        interpolated.add(covers(estimate(&values, Level::NINETY_FIVE)));
        by_order.add(covers(estimate_by_order(&values, Level::NINETY_FIVE)));
    }
    (interpolated, by_order)
}

/// Returns how often the interval of p95 covers it, for 20 requests per block. The blocks vary as much as the requests
/// within them.
pub(crate) fn quantile_coverage(blocks: usize, skewed: bool, trials: u64) -> Share {
    const NORMAL_P95: f64 = 1.644_853_6;
    let mut random = Random::new(blocks as u64);
    let time = |z: f64| if skewed { z.exp() } else { z };
    let mut covered = Share::default();
    for _ in 0..trials {
        let blocks: Vec<Vec<Span>> = (0..blocks)
            .map(|_| {
                let block = random.normal();
                let requests = (0..20).map(|_| time(block + random.normal()));
                requests.map(Span::exact).collect()
            })
            .collect();
        let Some(Quantile::WithinBlocks(got)) = quantile(&blocks, 0.95, Level::NINETY_FIVE) else {
            panic!("20 requests are enough for p95");
        };
        let truth = time(NORMAL_P95);
        covered.add(got.interval.lo <= truth && truth <= got.interval.hi);
    }
    covered
}

/// What a design's reports decide.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Comparisons decided, among all.
    pub(crate) decided: Share,
    /// For each column, the mean share of wrong decisions among the column's decisions.
    pub(crate) wrong_by_column: Vec<f64>,
    /// Reports with any wrong decision.
    pub(crate) any_wrong: Share,
}

/// Runs a design's study `trials` times with a fixed number of blocks.
pub(crate) fn study(design: &Design, blocks: usize, trials: u64) -> Outcome {
    let columns = design.columns.len();
    let mut outcome = Outcome {
        decided: Share::default(),
        wrong_by_column: vec![0.0; columns],
        any_wrong: Share::default(),
    };
    for trial in 0..trials {
        let families = design.families(blocks, &mut Random::new(trial));
        let results = decide(&families, ERROR, Ranks::Fixed);
        let mut any = false;
        for (i, (column, result)) in design.columns.iter().zip(&results).enumerate() {
            let mut wrong = Share::default();
            for (arm, comparison) in result.comparisons.iter().enumerate() {
                let decided = comparison.verdict.is_decided();
                outcome.decided.add(decided);
                if decided {
                    wrong.add(!column.is_true(arm, comparison.verdict));
                }
            }
            any |= wrong.count > 0.0;
            outcome.wrong_by_column[i] += wrong.value() / trials as f64;
        }
        outcome.any_wrong.add(any);
    }
    outcome
}

/// Returns how often any of 24 arms equal to the baseline (margin 0, six columns) is decided at any of the looks. There
/// is a look every 2 blocks, from 6 to 30.
pub(crate) fn any_false_while_looking(ranks: Ranks, trials: u64) -> Share {
    let design = Design::equal(4);
    let mut any = Share::default();
    for trial in 0..trials {
        let all = design.families(30, &mut Random::new(trial));
        any.add((6..=30).step_by(2).any(|blocks| {
            let families: Vec<Family> = all.iter().map(|f| first_blocks(f, blocks)).collect();
            let results = decide(&families, ERROR, ranks);
            results.iter().any(|family| family.selected)
        }));
    }
    any
}

fn first_blocks(family: &Family, blocks: usize) -> Family {
    let comparisons = family.comparisons.iter().map(|d| Differences {
        by_block: d.by_block[..blocks].to_vec(),
        margin: d.margin,
    });
    Family {
        comparisons: comparisons.collect(),
    }
}

/// What becomes of undecided comparisons of one outlook.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Followed {
    /// How many of the undecided have this outlook.
    pub(crate) share: Share,
    /// Decided by another run with half as many blocks again, or six.
    pub(crate) after_a_few_more: Share,
    /// Decided by another run with ten times as many blocks.
    pub(crate) after_ten_times: Share,
}

/// The classes of outlook, in the order of [`outlooks`].
pub(crate) const OUTLOOKS: [Outlook; 3] = [
    Outlook::AFewMore,
    Outlook::SeveralTimesAsMany,
    Outlook::MayNotSettle,
];

/// Normal differences, in standard deviations.
pub(crate) struct Differing {
    /// The largest true value; the smallest is 0.
    pub(crate) largest: f64,
    pub(crate) margin: f64,
}

/// Differences of up to two standard deviations, and a margin that all are beyond or within in time.
pub(crate) const WIDE_MARGIN: Differing = Differing {
    largest: 2.0,
    margin: 0.5,
};

/// Differences that drown in noise, like those of a file under loss.
pub(crate) const NARROW_MARGIN: Differing = Differing {
    largest: 0.2,
    margin: 0.05,
};

/// Runs comparisons with `blocks` blocks, one of `shared_by` in its family, and follows the advice
/// given for undecided ones.
pub(crate) fn outlooks(
    differing: &Differing,
    blocks: usize,
    shared_by: usize,
    trials: u64,
) -> [Followed; 3] {
    let mut random = Random::new(blocks as u64);
    let error = ERROR / shared_by as f64;
    let mut followed = [Followed::default(); 3];
    for _ in 0..trials {
        let truth = differing.largest * random.unit();
        let mut run = |blocks: usize| {
            let by_block = (0..blocks).map(|_| Span::exact(truth + random.normal()));
            let differences = Differences {
                by_block: by_block.collect(),
                margin: differing.margin,
            };
            let family = Family {
                comparisons: vec![differences],
            };
            decide(&[family], error, Ranks::Fixed)[0].comparisons[0].verdict
        };
        let Verdict::CannotTell { outlook, .. } = run(blocks) else {
            continue;
        };
        let few = run(blocks + 6.max(blocks / 2)).is_decided();
        let many = run(10 * blocks).is_decided();
        for (class, followed) in OUTLOOKS.iter().zip(&mut followed) {
            followed.share.add(outlook == *class);
            if outlook == *class {
                followed.after_a_few_more.add(few);
                followed.after_ten_times.add(many);
            }
        }
    }
    followed
}

/// Returns the noise of one cell: normal, and in 7 % of cells 8 standard deviations late.
fn cell(random: &mut Random) -> f64 {
    let late = if random.unit() < 0.07 { 8.0 } else { 0.0 };
    SIGMA * (random.normal() + late)
}
