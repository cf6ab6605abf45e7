//! A plan for tests of the scheduler: three arms in three blocks on each of two networks.

use study::Study;
use study::plan::Plan;

const SMALL: &str = r#"
name = "small"
question = "does it run?"
networks = ["lan", "true-metro"]
baseline = "hyper h2"
blocks = 3
[[arm]]
stack = "hyper"
protocol = "h2"
[[arm]]
name = "again"
stack = "hyper"
protocol = "h2"
[[arm]]
stack = "quinn"
protocol = "h3"
[[step]]
call = "echo"
times = 2
"#;

pub(super) fn small_plan() -> Plan {
    let study = Study::parse("small.toml", SMALL).unwrap();
    let networks = study.networks.iter();
    let networks = networks.map(|name| link::find(name).unwrap().into());
    let networks = networks.collect();
    Plan::new(study, SMALL.to_owned(), networks)
}
