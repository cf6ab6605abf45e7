//! `commute networks check`, on a network of the user's own and on one with jitter.
//!
//! Rate, loss and order are counts, so they must pass on any machine. Other programs can add to a
//! delay, so its check may fail here, but it must not measure less than the margin allows.

mod common;

use common::Sandbox;
use common::study::BASIC_NETWORK;
use lab::check_line;
use record::Check;

fn check(sandbox: &Sandbox, network: &str) -> Vec<Check> {
    let output = sandbox.run(&["networks", "check", network, "--format", "json"]);
    let checks: Vec<Check> =
        serde_json::from_str(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output}"));
    for check in &checks {
        if check.name.contains("delay") {
            let lowest = check.expected - check.margin;
            assert!(check.measured > lowest, "{}", check_line(check));
            if !check.pass {
                println!("busy machine: {}", check_line(check));
            }
        } else {
            assert!(check.pass, "{}: {output}", check_line(check));
        }
    }
    let all_pass = checks.iter().all(|check| check.pass);
    output.exits_with(if all_pass { 0 } else { 3 });
    checks
}

/// Asserts that what is expected, by the model, is near what the network file says.
#[track_caller]
fn expected_near(checks: &[Check], name: &str, configured: f64, luck: f64) {
    let found: Vec<&Check> = checks.iter().filter(|c| c.name.ends_with(name)).collect();
    assert_eq!(found.len(), 2, "{name}, down and up");
    for check in found {
        let off = (check.expected - configured).abs();
        assert!(off <= luck, "{}", check_line(check));
    }
}

#[test]
fn measured_values_match_the_network_file() {
    let sandbox = Sandbox::new();
    let lossy = BASIC_NETWORK.replace("delay_ms = 10", "delay_ms = 10\nloss_percent = 5");
    sandbox.write("lossy.toml", &lossy);
    let checks = check(&sandbox, "lossy.toml");
    // 10 ms and the serialisation of 92 bytes.
    expected_near(&checks, ": one-way delay", 10.0736, 0.0001);
    // Binomial, n = 1000: five sigma.
    expected_near(&checks, ": loss", 5.0, 3.5);
    // Binomial, n = 2500 or more: five sigma are 2.2 % of the kept.
    expected_near(&checks, ": rate", 9500.0, 210.0);
    expected_near(&checks, ": overtaken probes", 0.0, 0.0);
}

#[test]
fn jitter_has_the_mean_and_the_range_of_the_network_file() {
    let checks = check(&Sandbox::new(), "android-umts");
    // 58.75 ms and the 1.9 ms of 92 bytes. The mean of 93 random points of +-41.25 ms has a sigma of
    // at most 41.25 / sqrt(93) = 4.3 ms, a median of up to sqrt(3) times as much: two sigma. The
    // seed is fixed, so all runs have the same random draws.
    expected_near(&checks, ": one-way delay", 60.7, 15.0);
    // Uniform up to 101.9 ms.
    expected_near(&checks, ": one-way delay, p99", 99.0, 3.0);
    expected_near(&checks, ": overtaken probes", 0.0, 0.0);
}
