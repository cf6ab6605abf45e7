//! `commute link --between`: the link as a slow cable between two interfaces.

use std::ffi::OsString;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use link::Network;
use pump::Between;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::exit;

/// Carries until a signal or the end of the command.
pub(crate) fn run(
    network: &Network,
    seed: u64,
    interfaces: [&str; 2],
    command: &[OsString],
    audit: bool,
) -> anyhow::Result<u8> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .context("cannot watch for signals")?;
    }
    let between = Between::start(network, seed, interfaces).map_err(|e| exit::Unfit(e.into()))?;
    let [near, far] = interfaces;
    eprintln!("{}: {}", network.name, network.numbers());
    eprintln!("carrying between {near} (client) and {far} (server)");
    let code = match command.split_first() {
        None => until(&stop),
        Some((program, args)) => {
            let mut child = Command::new(program)
                .args(args)
                .spawn()
                .with_context(|| format!("cannot run {}", program.display()))?;
            let status = child.wait().context("cannot wait for the command")?;
            status.code().map_or(exit::INTERRUPTED, |code| code as u8)
        }
    };
    let window = between.end()?;
    let joined = window.up.oversize_frames + window.down.oversize_frames;
    if joined > 0 {
        eprintln!(
            "{joined} frames above the MTU of {} B were not carried: they held several packets, or \
             the far sides have a larger MTU. On each far side: `ethtool -K IF tso off gso off`, \
             `ip link set IF mtu {}`",
            network.mtu, network.mtu
        );
    }
    if audit {
        crate::audit::print(network, &window);
    }
    Ok(code)
}

fn until(stop: &AtomicBool) -> u8 {
    eprintln!("Ctrl-C ends it");
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_EVERY);
    }
    exit::PASS
}

const LOOK_EVERY: Duration = Duration::from_millis(50);
