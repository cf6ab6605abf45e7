//! `commute link --between`: the link as a bridge between two interfaces.

use std::ffi::OsString;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use link::Network;
use pump::{Bridge, BridgeError};

use super::audit;
use crate::{exit, out, progress};

/// How often the flag that Ctrl-C sets is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Carries frames until a signal arrives or the command ends.
pub(crate) fn run(
    network: &Network,
    seed: u64,
    interfaces: [&str; 2],
    command: &[OsString],
    print_audit: bool,
) -> anyhow::Result<u8> {
    let stop = crate::interrupt::stop_flag(|| "stopping")?;
    let bridge = Bridge::start(network, seed, interfaces).map_err(|e| match e {
        BridgeError::Interface { ref source, .. }
            if source.raw_os_error() == Some(libc::ENODEV) =>
        {
            exit::usage(format!("--between: {e}"))
        }
        other => other.into(),
    })?;
    let [near, far] = interfaces;
    progress::line(&format!("{}: {}", network.name, network.numbers()));
    progress::line(&format!("bridging {near} (client) and {far} (server)"));
    let code = match command.split_first() {
        None => wait_for(&stop),
        Some((program, args)) => {
            let mut child = match Command::new(program).args(args).spawn() {
                Ok(child) => child,
                Err(e) => {
                    out::note!("commute: cannot run {}: {e}", program.display());
                    return Ok(match e.kind() {
                        std::io::ErrorKind::NotFound => exit::NOT_FOUND,
                        _ => exit::NOT_RUN,
                    });
                }
            };
            let status = child.wait().context("cannot wait for the command")?;
            status.code().map_or(exit::INTERRUPTED, |code| code as u8)
        }
    };
    let window = bridge.end()?;
    let oversize = window.up.oversize_frames + window.down.oversize_frames;
    if oversize > 0 {
        out::note!(
            "{oversize} frames above the MTU of {} B were dropped: segmentation offload is on at a \
             host behind the link, or its MTU is larger. On that host: `ethtool -K IF tso off gso \
             off`, `ip link set IF mtu {}`",
            network.mtu,
            network.mtu
        );
    }
    if print_audit {
        audit::print(network, &window);
    }
    Ok(code)
}

fn wait_for(stop: &AtomicBool) -> u8 {
    progress::line("press Ctrl-C to stop");
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(POLL_INTERVAL);
    }
    exit::PASS
}
