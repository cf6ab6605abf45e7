//! Prints what verdicts can be expected of simulated studies, and how often they are wrong: `cargo run
//! -p commute-stats --release --example power`.
#![expect(clippy::disallowed_macros, reason = "a simulation prints its figures")]

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::designs::Design;
use simulation::random::Distribution;
use simulation::{
    NARROW_MARGIN, OUTLOOKS, Share, WIDE_MARGIN, any_false_while_looking, coverage, outlooks,
    quantile_coverage, study,
};
use stats::Ranks;

const TRIALS: u64 = 20_000;
const STUDIES: u64 = 1_000;

fn main() {
    println!("Coverage of \"95 %\" intervals of a median, interpolated (and at ranks), %");
    print!("{:>4}", "n");
    for distribution in Distribution::ALL {
        print!("{:>18}", distribution.name());
    }
    println!();
    for n in [6, 7, 8, 9, 10, 12, 14, 20, 30] {
        print!("{n:>4}");
        for distribution in Distribution::ALL {
            let (interpolated, ranks) = coverage(distribution, n, TRIALS);
            let both = format!(
                "{:.1} ({:.1})",
                percent(interpolated.value()),
                percent(ranks.value())
            );
            print!("{both:>18}");
        }
        println!();
    }

    println!("\nCoverage of p95 within blocks of 20 requests, blocks as different as requests, %");
    println!("{:>8}{:>10}{:>12}", "blocks", "normal", "lognormal");
    for blocks in [6, 10, 20] {
        let of = |skewed| percent(quantile_coverage(blocks, skewed, TRIALS / 4).value());
        println!("{blocks:>8}{:>10.1}{:>12.1}", of(false), of(true));
    }

    println!("\n204 comparisons (34 arms, 3 measures, 2 networks), {STUDIES} studies each, %");
    println!(
        "{:<7}{:>7}{:>9}{:>24}{:>18}",
        "design", "blocks", "decided", "wrong, worst column", "reports wrong"
    );
    for (name, design) in [
        ("real", Design::real()),
        ("half", Design::half()),
        ("equal", Design::equal(34)),
    ] {
        for blocks in [6, 8, 10, 14] {
            let outcome = study(&design, blocks, STUDIES);
            let worst = outcome.wrong_by_column.iter().copied().fold(0.0, f64::max);
            println!(
                "{name:<7}{blocks:>7}{:>9.1}{:>24.2}{:>18.1}",
                percent(outcome.decided.value()),
                percent(worst),
                percent(outcome.any_wrong.value())
            );
        }
    }

    println!("\n24 arms equal to the baseline, a look every 2 blocks up to 30: any wrong, %");
    for (name, ranks) in [("fixed", Ranks::Fixed), ("anytime", Ranks::Anytime)] {
        let any = any_false_while_looking(ranks, STUDIES);
        println!("{name:<8}{:>6.1}", percent(any.value()));
    }

    println!("\nOutlook of undecided comparisons, and share decided by another run, %");
    println!(
        "{:<7}{:>6} {:>9}  {:<22}{:>6}{:>19}{:>18}",
        "margin",
        "blocks",
        "shared by",
        "outlook",
        "share",
        "a few more blocks",
        "10 times as many"
    );
    for (name, differing) in [("wide", &WIDE_MARGIN), ("narrow", &NARROW_MARGIN)] {
        for (blocks, shared_by) in [(6, 1), (10, 1), (8, 24), (10, 24), (14, 24)] {
            let followed = outlooks(differing, blocks, shared_by, TRIALS);
            for (class, followed) in OUTLOOKS.iter().zip(followed) {
                let decided = |share: Share| match share.of > 0.0 {
                    true => format!("{:.0}", percent(share.value())),
                    false => "-".to_owned(),
                };
                println!(
                    "{name:<7}{blocks:>6} {shared_by:>9}  {:<22}{:>6}{:>19}{:>18}",
                    class.name(),
                    decided(followed.share),
                    decided(followed.after_a_few_more),
                    decided(followed.after_ten_times)
                );
            }
        }
    }
}

fn percent(share: f64) -> f64 {
    100.0 * share
}
