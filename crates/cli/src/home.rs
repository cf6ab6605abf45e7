//! Opens the lab for the verbs that need one.

use std::path::Path;

use anyhow::Context as _;
use lab::{Home, Lab};

/// Opens the lab in the named folder, or in the nearest one with stacks.
pub(crate) fn open(named: Option<&Path>) -> anyhow::Result<Lab> {
    let exe = std::env::current_exe().context("cannot find the commute binary")?;
    let cwd = std::env::current_dir().context("cannot read the working folder")?;
    let home = Home::find(named, &cwd, &exe)?;
    Ok(Lab::open(home, exe)?)
}
