//! A plan for tests: three arms in three blocks on each of two networks. The tests of `lab` include this file, too.

use study::Study;
use study::plan::Plan;

pub(crate) const SMALL: &str = r#"
name = "small"
question = "does it plan?"
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

/// Returns the plan of [`SMALL`].
pub(crate) fn small_plan() -> Plan {
    let study = Study::parse("small.toml", SMALL).unwrap();
    let networks = study.networks.iter();
    let networks = networks.map(|name| link::find(name).unwrap().into());
    let networks = networks.collect();
    Plan::new(study, SMALL.to_owned(), networks)
}
