//! Prepares stacks: Debian packages when the user agrees, then each folder's own script.

use std::io::{BufRead as _, IsTerminal as _};
use std::process::Command;

use anyhow::Context as _;
use lab::{Folder, Lab};

use crate::exit;

/// Prepare stacks: download what they need through the ordinary package clients, and build
///
/// Everything lands inside stacks/, with versions and hashes pinned. Where a stack wants Debian
/// packages, you are asked first (or give --system). Without names: all stacks.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Names of stacks or of their folders
    name: Vec<String>,
    /// Install the Debian packages they want without asking (needs root)
    #[arg(long)]
    system: bool,
}

pub(super) fn run(lab: &Lab, args: &Args) -> anyhow::Result<u8> {
    let folders = chosen(lab, &args.name)?;
    let mut failed = Vec::new();
    for (index, folder) in folders.iter().enumerate() {
        let name = folder.name();
        eprintln!("[{}/{}] {name}", index + 1, folders.len());
        if let Err(e) = prepare(folder, args.system) {
            eprintln!("{name}: {e:#}");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        eprintln!("ready: `commute stacks` lists them, `commute stacks check` tries them");
        return Ok(exit::PASS);
    }
    eprintln!("not prepared: {}", failed.join(", "));
    Ok(exit::THRESHOLD)
}

/// The folders of these names, or of the drivers of these names; none for all.
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

fn prepare(folder: &Folder, system: bool) -> anyhow::Result<()> {
    packages(folder, system)?;
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
        anyhow::bail!("its install script failed (see above); it needs {needs}");
    }
    Ok(())
}

/// Installs the Debian packages that are not there, if the user agrees.
fn packages(folder: &Folder, system: bool) -> anyhow::Result<()> {
    let wanted = &folder.stack.debian;
    let missing: Vec<&str> = (wanted.iter().map(String::as_str))
        .filter(|package| !installed(package))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let line = format!(
        "apt-get install --yes --no-install-recommends {}",
        missing.join(" ")
    );
    if !system && !agreed(&line)? {
        anyhow::bail!("it wants Debian packages: {line} (or give --system)");
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

/// Whether dpkg knows it as installed; no dpkg, no packages.
fn installed(package: &str) -> bool {
    let query = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .output();
    query.is_ok_and(|out| out.stdout == b"installed")
}

fn agreed(line: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    eprint!("run `{line}`? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
