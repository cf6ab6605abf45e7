//! The lab as the command line finds it.

use std::path::Path;

use anyhow::Context as _;
use lab::{Home, Lab, LabError};

use crate::exit::Unfit;

/// Opens the lab: the folder with the stacks, and this very binary.
pub(crate) fn open(named: Option<&Path>) -> anyhow::Result<Lab> {
    let exe = std::env::current_exe().context("cannot find the commute binary")?;
    let cwd = std::env::current_dir().context("cannot read the working folder")?;
    let home = Home::find(named, &cwd, &exe)?;
    Ok(Lab::open(home, exe)?)
}

/// Tells errors of the machine from errors of the tool.
pub(crate) fn judge(e: LabError) -> anyhow::Error {
    match e {
        LabError::Bench(_) => Unfit(e.into()).into(),
        other => other.into(),
    }
}
