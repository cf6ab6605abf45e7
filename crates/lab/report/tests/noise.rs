//! Tests that the report tells whether noise depends on the arm.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Outcome, RunData};
use report::{human, summarise};

/// Returns the first attempts of a run in which these cells were noisy.
fn noise_of(is_noisy: impl Fn(&record::Cell) -> bool) -> report::Summary {
    let unsplit = data(&quickstart(), &["true-metro", "4g-tether"], 10, 1);
    let mut cells = Vec::new();
    for cell in unsplit.cells() {
        let mut first = cell.clone();
        if cell.is_measured() && is_noisy(cell) {
            first.outcome = Outcome::Noisy {
                reasons: vec!["invented".into()],
            };
            let mut again = cell.clone();
            again.attempt = 2;
            cells.push(again);
        }
        cells.push(first);
    }
    summarise(&RunData::new(unsplit.run().clone(), cells).unwrap())
}

/// Noise that one arm causes would select its blocks by their results.
#[test]
fn noise_that_depends_on_the_arm_is_noted() {
    let summary = noise_of(|cell| match cell.arm.as_str() {
        "quinn h3" => cell.block < 6,
        "libcurl h1" => cell.block == 0,
        _ => false,
    });
    let quinn = &summary.noise[2];
    let attempts = (quinn.first_attempts.noisy, quinn.first_attempts.measured);
    assert_eq!((quinn.arm.as_str(), attempts), ("quinn h3", (12, 20)));
    assert!(quinn.p_value < 1e-6 && quinn.depends_on_arm);
    let others = summary.noise.iter().filter(|one| one.arm != "quinn h3");
    assert!(others.clone().all(|one| !one.depends_on_arm));
    let text = human(&summary, 2_000, false);
    assert!(
        text.contains("Noisy first attempts depend on the arm: quinn h3 12 of 20, others 2 of 80."),
        "{text}"
    );
    let line = "Noisy first attempts: quinn h3 12 of 20, libcurl h1 2 of 20, others 0 of 60\n";
    assert!(text.contains(line), "{text}");
}

/// Whoever reads only the first lines should know that the figures are of a busy machine.
#[test]
fn noise_of_most_cells_is_said_with_the_answer() {
    let noisy_blocks = |blocks: u32| {
        let unsplit = data(&quickstart(), &["true-metro"], 10, 1);
        let mut cells = unsplit.cells().to_vec();
        for cell in cells
            .iter_mut()
            .filter(|c| c.is_measured() && c.block < blocks)
        {
            let reasons = vec!["other programs took 31 % of the CPU (invented)".into()];
            cell.outcome = Outcome::Noisy { reasons };
        }
        summarise(&RunData::new(unsplit.run().clone(), cells).unwrap())
    };
    let warning = "30 of 50 cells were noisy, e.g. because other programs took 31 % of the CPU (invented). \
                   Close what else runs here,";
    let summary = noisy_blocks(6);
    assert!(
        summary.noise_warning.as_ref().unwrap().starts_with(warning),
        "{:?}",
        summary.noise_warning
    );
    let text = human(&summary, 400, false);
    assert!(text.lines().nth(1).unwrap().starts_with(warning), "{text}");
    assert_eq!(noisy_blocks(5).noise_warning, None, "half of them");
}

#[test]
fn noise_of_all_arms_is_not_noted() {
    for share in [0, 3, 10] {
        let summary = noise_of(|cell| cell.block < share);
        assert!(summary.noise.iter().all(|one| !one.depends_on_arm));
        let text = human(&summary, 2_000, false);
        assert!(!text.contains("depend on the arm"), "{text}");
        assert_eq!(text.contains("Noisy first attempts"), share > 0);
    }
}
