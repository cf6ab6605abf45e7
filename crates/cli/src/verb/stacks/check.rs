//! The conformance suite on drivers, and the matrix that comes of it.

use std::path::PathBuf;

use anyhow::Context as _;
use lab::{Conformance, Driver, Finding, Lab, Verdict};

use super::chosen;
use super::matrix::{Examined, Matrix};
use super::status::StatusLine;
use crate::{exit, out};

/// Run the conformance suite: does each driver do what it is told, and tell what it did?
///
/// Every case runs on an emulated link against the real server, whose log decides. Names are
/// stacks, their folders, or paths of driver programs. Exits with 3 when a case fails, or when
/// one that --expect knows as passing is unsupported or was not tried.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Stacks, folders of stacks, or programs (`./my-driver`); none: all that are installed
    name: Vec<String>,
    /// Only this case
    #[arg(long, value_name = "CASE", value_parser = known_case)]
    case: Option<String>,
    /// Hold against the matrix in this folder
    #[arg(long, value_name = "DIR")]
    expect: Option<PathBuf>,
    /// Write the matrix to this folder: matrix.json, README.md, index.html; drivers and cases
    /// that were not tried keep what it says of them
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
        false => Err(format!("there are {}", known.join(", "))),
    }
}

pub(super) fn run(lab: &Lab, args: &Args) -> anyhow::Result<u8> {
    let expected = args.expect.as_deref().map(Matrix::read).transpose()?;
    let (paths, names): (Vec<_>, Vec<_>) =
        (args.name.iter().cloned()).partition(|name| name.contains('/'));
    let strangers: Vec<Driver> = (paths.iter())
        .map(|path| Driver::at(path.as_ref()).with_context(|| path.clone()))
        .collect::<anyhow::Result<_>>()?;
    let mut drivers: Vec<&Driver> = strangers.iter().collect();
    if !names.is_empty() || paths.is_empty() {
        drivers.extend(chosen(lab, &names)?);
    }
    let mut suite = Conformance::open(lab).map_err(crate::home::judge)?;
    let mut matrix = Matrix::default();
    let mut absent = Vec::new();
    for (index, driver) in drivers.iter().enumerate() {
        let name = &driver.entry.name;
        let progress = Progress::new(index + 1, drivers.len());
        match suite.examine(driver, args.case.as_deref(), &|f| progress.report(f)) {
            Ok(report) => {
                progress.status.clear();
                eprintln!("{} {name}: {} cases", progress.head, report.findings.len());
                matrix.add(Examined::new(name, &report.hello), report.findings);
            }
            Err(reason) => {
                progress.status.clear();
                eprintln!("{name}: NOT TRIED: {reason}");
                absent.push((name.as_str(), reason));
            }
        }
        progress.status.clear();
    }
    let asked: Vec<&str> = drivers.iter().map(|d| d.entry.name.as_str()).collect();
    let mut wrong = Vec::new();
    if let Some(expected) = &expected {
        wrong.extend(matrix.worse_than(expected, &asked, args.case.as_deref()));
    } else if !args.name.is_empty() {
        wrong.extend(absent.iter().map(|(name, why)| format!("{name}: {why}")));
    }
    match args.json {
        true => out::json(&matrix)?,
        false => out::print(&matrix.text())?,
    }
    let not_tried = match absent.len() {
        0 => String::new(),
        n => format!("; {n} drivers NOT TRIED (`commute stacks` says why)"),
    };
    eprintln!("{}{not_tried}", matrix.summary());
    for line in &wrong {
        eprintln!("wrong: {line}");
    }
    let held = wrong.is_empty() && !matrix.has_failures();
    if let Some(dir) = &args.out {
        if let Ok(earlier) = Matrix::read(dir) {
            matrix.keep_others(earlier, args.case.as_deref());
        }
        matrix.write(dir)?;
    }
    Ok(if held { exit::PASS } else { exit::THRESHOLD })
}

/// The case that was tried last, on a status line; failures on lines of their own.
struct Progress {
    head: String,
    status: StatusLine,
}

impl Progress {
    fn new(index: usize, of: usize) -> Progress {
        Progress {
            head: format!("[{index}/{of}]"),
            status: StatusLine::new(),
        }
    }

    fn report(&self, finding: &Finding) {
        let Finding {
            driver,
            protocol,
            case,
            outcome,
        } = finding;
        if let Verdict::Fail(why) = outcome {
            self.status.clear();
            eprintln!("{driver} {protocol} {case}: FAIL: {why}");
        } else {
            self.status
                .show(&format!("{} {driver} {protocol} {case}", self.head));
        }
    }
}
