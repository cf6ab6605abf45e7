//! `commute stacks install`: Debian packages if the user agrees, then each stack's own script.

use std::process::Command;

use anyhow::Context as _;
use lab::{Folder, Lab};

use crate::confirm::confirm;
use crate::{exit, out};

/// Install stacks: download and build what they need
///
/// Everything is installed inside stacks/, with pinned versions and hashes. Stacks that need Debian
/// packages ask first, unless --system is given. Installs all stacks if none is named.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Names of stacks or of their folders
    name: Vec<String>,
    /// Install the Debian packages they need without asking (needs root)
    #[arg(long)]
    system: bool,
}

pub(super) fn run(lab: &Lab, args: &Args) -> anyhow::Result<u8> {
    let folders = chosen(lab, &args.name)?;
    let mut failed = Vec::new();
    for (index, folder) in folders.iter().enumerate() {
        let name = folder.name();
        out::note!("[{}/{}] {name}", index + 1, folders.len());
        if let Err(e) = install(folder, args.system) {
            out::note!("{name}: {e:#}");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        out::note!("installed; `commute stacks` lists them, `commute stacks check` tests them");
        return Ok(exit::PASS);
    }
    out::note!("not installed: {}", failed.join(", "));
    Ok(exit::THRESHOLD)
}

/// Returns the named folders, or those of the named drivers; all if there are no names.
fn chosen<'a>(lab: &'a Lab, names: &[String]) -> anyhow::Result<Vec<&'a Folder>> {
    if names.is_empty() {
        return Ok(lab.stacks.folders().collect());
    }
    let mut found: Vec<&Folder> = Vec::new();
    for name in names {
        let folder = match lab.stacks.folders().find(|folder| folder.name() == *name) {
            Some(folder) => folder,
            None => &lab.stacks.find(name)?.folder,
        };
        if found.iter().all(|known| known.path != folder.path) {
            found.push(folder);
        }
    }
    Ok(found)
}

fn install(folder: &Folder, system: bool) -> anyhow::Result<()> {
    install_packages(folder, system)?;
    let Some(script) = &folder.stack.install else {
        return Ok(());
    };
    let script = folder.path.join(script);
    let status = Command::new("sh")
        .arg(&script)
        .current_dir(&folder.path)
        .status()
        .with_context(|| format!("cannot run {}", script.display()))?;
    if !status.success() {
        let needs = &folder.stack.needs;
        anyhow::bail!("its install script failed (see above); requires {needs}");
    }
    Ok(())
}

/// Installs the missing Debian packages, if the user agrees.
fn install_packages(folder: &Folder, system: bool) -> anyhow::Result<()> {
    let wanted = &folder.stack.debian;
    let missing: Vec<&str> = (wanted.iter().map(String::as_str))
        .filter(|package| !is_installed(package))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let line = format!(
        "apt-get install --yes --no-install-recommends {}",
        missing.join(" ")
    );
    if !system && confirm(&[], &format!("run `{line}`?"))? != Some(true) {
        anyhow::bail!("needs Debian packages; run `{line}`, or give --system");
    }
    let update = Command::new("apt-get").args(["update", "-qq"]).status();
    anyhow::ensure!(update.is_ok_and(|s| s.success()), "apt-get update failed");
    let status = Command::new("apt-get")
        .args(["install", "--yes", "-qq", "--no-install-recommends"])
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status();
    anyhow::ensure!(status.is_ok_and(|s| s.success()), "{line} failed");
    Ok(())
}

/// Returns whether dpkg lists the package as installed; false without dpkg.
fn is_installed(package: &str) -> bool {
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .output();
    query.is_ok_and(|out| out.stdout == b"installed")
}
