//! `commute networks check` on a network of the user's own.
//!
//! Rate and loss are counts, so they must pass on any machine. Other programs can add to a delay,
//! so its check may fail here, but it must not measure less than the margin allows.

mod common;

use common::Sandbox;
use common::study::BASIC_NETWORK;
use lab::check_line;
use record::Check;

#[test]
fn measured_values_match_the_network_file() {
    let sandbox = Sandbox::new();
    let lossy = BASIC_NETWORK.replacen("delay_ms = 10", "delay_ms = 10\nloss_percent = 5", 1);
    sandbox.write("lossy.toml", &lossy);
    let output = sandbox.run(&["networks", "check", "lossy.toml", "--json"]);
    let checks: Vec<Check> =
        serde_json::from_str(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output}"));
    let find = |name: &str| {
        let found: Vec<&Check> = checks.iter().filter(|c| c.name.contains(name)).collect();
        assert!(!found.is_empty(), "no check of {name}: {output}");
        found
    };
    for check in find("rate").into_iter().chain(find("loss")) {
        assert!(check.pass, "{}: {output}", check_line(check));
    }
    for check in find("delay") {
        let lowest = check.expected - check.margin;
        assert!(check.measured > lowest, "{}", check_line(check));
        if !check.pass {
            println!("busy machine: {}", check_line(check));
        }
    }
    let all_pass = checks.iter().all(|check| check.pass);
    output.exits_with(if all_pass { 0 } else { 3 });
}
