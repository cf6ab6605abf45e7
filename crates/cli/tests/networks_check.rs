//! `commute networks check`: what was set against what was got, on a network of one's own.
//!
//! Rate and loss are counts and hold on any machine. Delay is a time, which other programs
//! can stretch: here it is only asked that it is reported and never short; `commute doctor`
//! judges it.

mod common;

use common::House;
use common::study::GENTLE;
use record::Check;

#[test]
fn a_gentle_network_is_what_it_says() {
    let house = House::new();
    let lossy = GENTLE.replacen("delay_ms = 10", "delay_ms = 10\nloss_percent = 5", 1);
    house.write("lossy.toml", &lossy);
    let said = house.run(&["networks", "check", "lossy.toml", "--json"]);
    let checks: Vec<Check> =
        serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said}"));
    let find = |what: &str| {
        let found: Vec<&Check> = checks.iter().filter(|c| c.name.contains(what)).collect();
        assert!(!found.is_empty(), "no check of {what}: {said}");
        found
    };
    for check in find("rate").into_iter().chain(find("loss")) {
        assert!(check.pass, "{}: {said}", lab_line(check));
    }
    for check in find("delay") {
        assert!(
            check.measured > check.expected - check.margin,
            "{}",
            lab_line(check)
        );
        if !check.pass {
            println!("busy machine: {}", lab_line(check));
        }
    }
    let held = checks.iter().all(|check| check.pass);
    said.code(if held { 0 } else { 3 });
}

fn lab_line(check: &Check) -> String {
    lab::check_line(check)
}
