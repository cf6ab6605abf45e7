//! `commute stacks check`: runs the conformance suite on drivers and writes the matrix.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use indicatif::ProgressBar;
use lab::{Conformance, Driver, Finding, Lab, Matrix, Report, Verdict};

use super::selected;
use crate::out::Listing;
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
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Check N drivers in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Listing,
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
        .map(|path| Driver::at(path.as_ref()).map_err(|e| exit::file_error(path.clone(), e)))
        .collect::<anyhow::Result<_>>()?;
    let mut drivers: Vec<&Driver> = external.iter().collect();
    if !names.is_empty() || paths.is_empty() {
        drivers.extend(selected(lab, &names)?);
    }
    let jobs = usize::from(args.jobs).min(drivers.len());
    let suites = Conformance::start(lab, &args.server, jobs)?;
    let mut matrix = Matrix::default();
    let mut missing = Vec::new();
    let results = examine(suites, &drivers, args.case.as_deref());
    for (driver, result) in drivers.iter().zip(results) {
        let name = &driver.entry.name;
        match result {
            Ok(report) => matrix.add(name, &report.hello, report.findings),
            Err(reason) => missing.push((name.as_str(), reason)),
        }
    }
    let selected_names: Vec<&str> = drivers.iter().map(|d| d.entry.name.as_str()).collect();
    let mut wrong = Vec::new();
    if let Some(expected) = &expected {
        wrong.extend(matrix.worse_than(expected, &selected_names, args.case.as_deref()));
    } else if !args.name.is_empty() {
        wrong.extend(missing.iter().map(|(name, why)| format!("{name}: {why}")));
    }
    match args.format {
        Listing::Json => out::json(&matrix)?,
        Listing::Human => out::text(&matrix.text())?,
    }
    let not_tested = match missing.len() {
        0 => String::new(),
        n => format!(
            "; {} NOT TESTED (`commute stacks` says why)",
            report::count(n, "driver")
        ),
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
        matrix.write(dir, &crate::origin::now())?;
    }
    Ok(if passed { exit::PASS } else { exit::THRESHOLD })
}

/// Tries the cases on all drivers, each suite on a thread of its own, and returns the results in the
/// order of the drivers.
fn examine(
    suites: Vec<Conformance>,
    drivers: &[&Driver],
    only: Option<&str>,
) -> Vec<Result<Report, String>> {
    let status = progress::waiting("checking drivers");
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for mut suite in suites {
            let (status, next, results) = (&status, &next, &results);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(driver) = drivers.get(index) else {
                        break;
                    };
                    let position = format!("[{}/{}]", index + 1, drivers.len());
                    let result =
                        suite.examine(driver, only, &|finding| show(status, &position, finding));
                    let line = match &result {
                        Ok(report) => format!("{} cases", report.findings.len()),
                        Err(reason) => format!("NOT TESTED: {reason}"),
                    };
                    progress::print(status, &format!("{position} {}: {line}", driver.entry.name));
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.push((index, result));
                }
            });
        }
    });
    status.finish_and_clear();
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
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
    progress::show(status, &format!("{position} {driver} {protocol} {case}"));
}
