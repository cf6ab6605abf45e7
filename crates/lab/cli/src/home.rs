//! Opens the lab for the verbs that need one.

use std::path::Path;

use anyhow::Context as _;
use lab::{Home, Lab};

use crate::{bundle, out};

/// Opens the lab in the named folder, else in the checkout that the binary was built in, else with what the binary
/// carries.
pub(crate) fn open(named: Option<&Path>) -> anyhow::Result<Lab> {
    let commute = std::env::current_exe().context("cannot find the commute binary")?;
    if let Some(root) = named {
        return Ok(Lab::open(Home::named(root, commute)?)?);
    }
    let home = match Home::of_binary(&commute) {
        Some(checkout) => checkout,
        None => Home {
            root: bundle::unpacked()?,
            commute,
        },
    };
    let cwd = std::env::current_dir().context("cannot read the working folder")?;
    if let Some(unused) = home.unused_checkout(&cwd) {
        out::note!(
            "note: {0} has stacks of its own, which are not used: this commute is not below {0}/target. To use them, \
             add --home '{0}'",
            unused.display()
        );
    }
    Ok(Lab::open(home)?)
}
