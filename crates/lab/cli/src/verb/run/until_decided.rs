//! `--until-decided`: adds blocks until every comparison is decided or the budget is spent.

use std::time::{Duration, Instant};

use lab::{Plan, Shard};
use report::{ERROR, Summary};
use stats::Ranks;

/// Blocks added per network between two looks at the results.
const STEP_BLOCKS: u32 = 2;
const DEFAULT_BUDGET: Duration = Duration::from_secs(30 * 60);

/// When to stop adding blocks.
pub(crate) struct UntilDecided {
    started: Instant,
    budget: Duration,
}

/// What to do after a look at the results.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Every comparison is decided.
    Decided,
    /// More blocks would take longer than the budget allows.
    BudgetSpent,
    /// Go on until each network has this many blocks.
    Blocks(u32),
}

impl UntilDecided {
    pub(crate) fn new(budget: Option<Duration>) -> UntilDecided {
        UntilDecided {
            started: Instant::now(),
            budget: budget.unwrap_or(DEFAULT_BUDGET),
        }
    }

    pub(crate) fn next(&self, summary: &Summary, plan: &Plan, jobs: usize) -> Next {
        let comparisons = &summary.comparisons;
        let blocks = plan.study.blocks;
        let all = Shard { index: 1, of: 1 };
        let block = Duration::from_nanos(plan.estimate_ns(all, jobs as u16)) / blocks.max(1);
        let step = STEP_BLOCKS.max(jobs as u32);
        match comparisons.decided < comparisons.all {
            false => Next::Decided,
            true if self.started.elapsed() + block * step > self.budget => Next::BudgetSpent,
            true => Next::Blocks(blocks + step),
        }
    }
}

/// Returns the fewest blocks at which every comparison can be decided, if all are clear.
pub(crate) fn first_look(plan: &Plan) -> Option<u32> {
    let fewest = stats::fewest_blocks(&plan.families(), ERROR, Ranks::Anytime)?;
    u32::try_from(fewest.all).ok()
}
