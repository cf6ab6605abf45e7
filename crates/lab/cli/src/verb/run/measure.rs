//! Runs the cells of a plan.

use std::sync::atomic::AtomicBool;

use lab::{Ended, Event, Lab, Plan, RunOptions};
use record::{Collector, CompactRun, Store, StoreError};

use super::progress::Progress;
use super::until_decided::{Next, UntilDecided};
use crate::out;

/// What a run has measured when it ends.
pub(super) struct Measured {
    pub(super) ended: Ended,
    pub(super) data: CompactRun,
    pub(super) summary: report::Summary,
    pub(super) plan: Plan,
    /// Why no more blocks were added.
    pub(super) next: Option<Next>,
}

/// Runs the plan, and further blocks as long as `until_decided` asks for them.
pub(super) fn measure(
    lab: &Lab,
    mut plan: Plan,
    options: &mut RunOptions,
    until_decided: Option<&UntilDecided>,
    stop: &AtomicBool,
) -> anyhow::Result<Measured> {
    loop {
        let progress = Progress::new(&plan, options.shard);
        let ended = lab.run(&plan, options, stop, &|event: Event<'_>| {
            progress.event(&event);
        });
        progress.finish();
        let ended = ended?;
        let store = Store::open(&options.out)?;
        let mut collector = Collector::new();
        store.collect(&mut collector)?;
        let data = collector.finish().map_err(StoreError::Merge)?;
        let summary = report::summarise(&data);
        let next = until_decided
            .filter(|_| ended == Ended::Complete)
            .map(|until| until.next(&summary, &plan, options.jobs));
        if next.is_some() {
            let counts = &summary.comparisons;
            let (decided, all, blocks) = (counts.decided, counts.all, plan.study.blocks);
            out::note!("blocks: {blocks}; comparisons decided: {decided} of {all}");
        }
        let Some(Next::Blocks(blocks)) = next else {
            return Ok(Measured {
                ended,
                data,
                summary,
                plan,
                next,
            });
        };
        plan = lab.plan_of(&store, data.run(), Some(blocks))?;
        options.resume = true;
    }
}
