//! Opens the lab for the verbs that need one.

use std::path::Path;

use anyhow::Context as _;
use lab::{Home, Lab};

use crate::bundle;

/// Opens the lab in the named folder, else in the checkout around the working folder or the binary, else
/// with what the binary carries.
pub(crate) fn open(named: Option<&Path>) -> anyhow::Result<Lab> {
    let commute = std::env::current_exe().context("cannot find the commute binary")?;
    let cwd = std::env::current_dir().context("cannot read the working folder")?;
    let home = match (named, Home::checkout(&cwd, &commute)) {
        (Some(root), _) => Home::named(root, commute)?,
        (None, Some(checkout)) => checkout,
        (None, None) => Home {
            root: bundle::unpacked()?,
            commute,
        },
    };
    Ok(Lab::open(home)?)
}
