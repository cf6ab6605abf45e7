//! The self-test before the first cell.

use lab::{Lab, Plan};

use crate::{exit, out, progress as bars};

pub(super) fn self_test(lab: &Lab, plan: &Plan) -> anyhow::Result<Vec<record::Check>> {
    let bar = bars::waiting("self-test: checking the lab against known physics");
    let checks = lab.self_test(plan);
    bar.finish_and_clear();
    let checks = checks?;
    for check in checks.iter().filter(|c| !c.pass) {
        out::note!("self-test: {}", lab::check_line(check));
    }
    all_measured(checks)
}

/// Fails if a check could not be made, e.g. on a machine that was busy throughout: a record has no place
/// for a figure that does not exist.
fn all_measured(checks: Vec<record::Check>) -> anyhow::Result<Vec<record::Check>> {
    match checks.iter().find(|check| !check.measured.is_finite()) {
        None => Ok(checks),
        Some(check) => {
            let error = anyhow::anyhow!(
                "the self-test could not be made: {}; try again when the machine is quiet, or add \
                 --no-self-test",
                check.name
            );
            Err(exit::with(exit::UNSUITABLE, error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn self_test_that_could_not_be_made_ends_the_run_with_its_reason() {
        let check = |name: &str, measured| record::Check {
            name: name.into(),
            expected: 100.0,
            measured,
            margin: 3.0,
            unit: "ms".into(),
            pass: false,
        };
        let checks = vec![check("hyper h2: warm request", 104.0)];
        assert_eq!(all_measured(checks.clone()).unwrap(), checks);
        let checks = [checks, vec![check("quinn h3: noisy 4 times", f64::NAN)]].concat();
        let error = all_measured(checks).unwrap_err();
        assert_eq!(exit::code_of(&error), exit::UNSUITABLE);
        assert!(
            error
                .to_string()
                .contains("quinn h3: noisy 4 times; try again")
        );
    }
}
