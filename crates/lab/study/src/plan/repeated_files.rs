//! Warns of files that every block would send in the same packets.

use driver::protocol::Action;
use link::PathSpec;

use super::Plan;
use crate::StudyNetwork;

impl Plan {
    /// Returns a warning for each network without chance on which a file of the study fills the queue.
    pub fn repeated_files(&self) -> Vec<String> {
        if self.study.vary_percent > 0.0 || self.study.blocks < 2 {
            return Vec::new();
        }
        let files = self
            .workload
            .steps
            .iter()
            .filter_map(|step| match step.action {
                Action::Get { bytes } | Action::Put { bytes } => Some(bytes),
                _ => None,
            });
        let largest = files
            .max()
            .unwrap_or(0)
            .max(self.workload.own.longest_made_up());
        let fills = |path: &PathSpec| path.queue_bytes().is_some_and(|queue| largest > queue);
        let repeats = |network: &&StudyNetwork| {
            let paths = [&network.link.up, &network.link.down];
            !paths.iter().any(|path| path.leaves_to_chance()) && paths.into_iter().any(fills)
        };
        let warning = |network: &StudyNetwork| {
            format!(
                "network `{}`: without loss and jitter each block sends the same files in the same \
                 packets, so the answer holds for exactly these sizes; `vary_percent = 10` in the study \
                 covers sizes near them",
                network.link.name
            )
        };
        self.networks.iter().filter(repeats).map(warning).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;
    use crate::plan::small_plan::SMALL;

    fn warnings(bytes: u64, network: &str, settings: &str) -> Vec<String> {
        let study = SMALL
            .replace(
                "call = \"echo\"\ntimes = 2",
                &format!("get = \"file\"\nbytes = {bytes}"),
            )
            .replace("blocks = 3", &format!("blocks = 3\n{settings}"));
        let study = Study::parse("small.toml", &study).unwrap();
        let network = link::find(network).unwrap().into();
        Plan::new(study, String::new(), vec![network]).repeated_files()
    }

    #[test]
    fn files_that_fill_a_queue_without_chance_are_warned_of() {
        let warnings = warnings(500_000, "4g-tether", "");
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("vary_percent = 10"), "{warnings:?}");
    }

    #[test]
    fn made_up_responses_are_warned_of_too() {
        let own = SMALL.replace("times = 2", "response_bytes = 500000");
        let study = Study::parse("small.toml", &own).unwrap();
        let network = link::find("4g-tether").unwrap().into();
        let plan = Plan::new(study, String::new(), vec![network]);
        assert_eq!(plan.repeated_files().len(), 1);
    }

    #[test]
    fn others_are_not() {
        assert!(
            warnings(20_000, "4g-tether", "").is_empty(),
            "fits into the queue"
        );
        assert!(warnings(500_000, "true-metro", "").is_empty(), "has loss");
        assert!(warnings(500_000, "4g-tether", "vary_percent = 10").is_empty());
    }
}
