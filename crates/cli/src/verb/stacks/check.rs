//! `commute stacks check`: runs the conformance suite on drivers and writes the matrix.

use std::path::PathBuf;

use anyhow::Context as _;
use indicatif::ProgressBar;
use lab::{Conformance, Driver, Finding, Lab, Matrix, Verdict};

use super::selected;
use crate::{exit, out, progress};

/// Run the conformance suite on drivers: do they follow the protocol and report the truth?
///
/// Every case runs over an emulated link against the real server, whose log decides. Exits with 3
/// if a case fails, or if a case that passes in the matrix of --expect is now unsupported or was
/// not tested.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Drivers, folders of stacks, or paths of programs, e.g. ./my-driver [default: all that are
    /// installed]
    name: Vec<String>,
    /// Run only this case
    #[arg(long, value_name = "CASE", value_parser = known_case)]
    case: Option<String>,
    /// Server that the drivers talk to; cases in which it must misbehave need commute's own
    #[arg(long, value_name = "NAME", default_value = lab::OWN_SERVER, conflicts_with_all = ["expect", "out"])]
    server: String,
    /// Compare with the matrix in this folder, e.g. docs/stacks-matrix
    #[arg(long, value_name = "DIR")]
    expect: Option<PathBuf>,
    /// Write the matrix to this folder: matrix.json, README.md, index.html. Results of drivers and
    /// cases that were not run are kept
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

fn known_case(name: &str) -> Result<String, String> {
    let known: Vec<&str> = lab::CASES.iter().map(|case| case.name).collect();
    match known.contains(&name) {
        true => Ok(name.to_owned()),
        false => Err(format!(
            "no case has this name; known: {}",
            known.join(", ")
        )),
    }
}

pub(super) fn run(lab: &Lab, args: &Args) -> anyhow::Result<u8> {
    let expected = args.expect.as_deref().map(Matrix::read).transpose()?;
    let (paths, names): (Vec<_>, Vec<_>) =
        (args.name.iter().cloned()).partition(|name| name.contains('/'));
    let external: Vec<Driver> = (paths.iter())
        .map(|path| Driver::at(path.as_ref()).with_context(|| path.clone()))
        .collect::<anyhow::Result<_>>()?;
    let mut drivers: Vec<&Driver> = external.iter().collect();
    if !names.is_empty() || paths.is_empty() {
        drivers.extend(selected(lab, &names)?);
    }
    let mut suite = Conformance::start(lab, &args.server).map_err(crate::home::classify)?;
    let mut matrix = Matrix::default();
    let mut missing = Vec::new();
    for (index, driver) in drivers.iter().enumerate() {
        let name = &driver.entry.name;
        let position = format!("[{}/{}]", index + 1, drivers.len());
        let status = progress::status();
        let result = suite.examine(driver, args.case.as_deref(), &|finding| {
            show(&status, &position, finding);
        });
        status.finish_and_clear();
        match result {
            Ok(report) => {
                out::note!("{position} {name}: {} cases", report.findings.len());
                matrix.add(name, &report.hello, report.findings);
            }
            Err(reason) => {
                out::note!("{name}: NOT TESTED: {reason}");
                missing.push((name.as_str(), reason));
            }
        }
    }
    let selected_names: Vec<&str> = drivers.iter().map(|d| d.entry.name.as_str()).collect();
    let mut wrong = Vec::new();
    if let Some(expected) = &expected {
        wrong.extend(matrix.worse_than(expected, &selected_names, args.case.as_deref()));
    } else if !args.name.is_empty() {
        wrong.extend(missing.iter().map(|(name, why)| format!("{name}: {why}")));
    }
    match args.json {
        true => out::json(&matrix)?,
        false => out::print(&matrix.text())?,
    }
    let not_tested = match missing.len() {
        0 => String::new(),
        n => format!("; {n} drivers NOT TESTED (`commute stacks` says why)"),
    };
    out::note!("{}{not_tested}", matrix.summary());
    for line in &wrong {
        out::note!("wrong: {line}");
    }
    let passed = wrong.is_empty() && !matrix.has_failures();
    if let Some(dir) = &args.out {
        if let Ok(earlier) = Matrix::read(dir) {
            matrix.keep_untested(earlier, args.case.as_deref());
        }
        matrix.write(dir)?;
    }
    Ok(if passed { exit::PASS } else { exit::THRESHOLD })
}

/// Shows the case that was tried last; failures stay on lines of their own.
fn show(status: &ProgressBar, position: &str, finding: &Finding) {
    let Finding {
        driver,
        protocol,
        case,
        outcome,
    } = finding;
    if let Verdict::Fail(why) = outcome {
        progress::print(status, &format!("{driver} {protocol} {case}: FAIL: {why}"));
    }
    status.set_message(format!("{position} {driver} {protocol} {case}"));
}
