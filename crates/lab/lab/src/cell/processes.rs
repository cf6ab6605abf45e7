//! The processes of a cell's driver: one, and another after each restart of the workload.

use std::path::PathBuf;
use std::time::Instant;

use driver::protocol::{Row, Setup};
use driver::{RunAnswer, SetupAnswer};
use pump::{Bench, SandboxId};
use study::plan::Workload;

use super::driver_process::{DriverProcess, Exited};
use super::error::CellError;
use super::moves::Mover;
use super::process::STARTUP_LIMIT;
use super::scratch::Scratch;
use crate::bench;
use crate::stacks::Driver;

/// A cell's driver. Its processes share a sandbox with a home, so that what a client keeps there outlives it.
pub(super) struct Processes<'a> {
    driver: &'a Driver,
    scratch: &'a Scratch,
    sandbox: SandboxId,
    /// None after one could not be started.
    running: Option<DriverProcess>,
    /// CPU of those that a restart has ended.
    ended_cpu_ns: u64,
}

/// What happens to the phone while its driver follows the workload.
#[derive(Clone, Copy)]
pub(super) struct Moves<'a> {
    pub(super) planned: &'a [study::Move],
    /// Whether the driver can be notified of them.
    pub(super) notifies: bool,
}

/// A driver whose processes have all ended.
pub(super) struct Ended {
    pub(super) cpu_ns: u64,
    last: Option<Exited>,
}

impl<'a> Processes<'a> {
    /// Starts the driver, which may read `also_readable` besides its own files.
    pub(super) fn start(
        bench: &mut Bench,
        driver: &'a Driver,
        scratch: &'a Scratch,
        also_readable: Option<PathBuf>,
    ) -> Result<Processes<'a>, CellError> {
        let readable = also_readable.into_iter().chain([scratch.client()]);
        let sandbox = bench::driver_sandbox(bench, driver, scratch.home(), readable.collect())?;
        let running = DriverProcess::start(bench, driver, scratch.home(), sandbox)?;
        Ok(Processes {
            driver,
            scratch,
            sandbox,
            running: Some(running),
            ended_cpu_ns: 0,
        })
    }

    /// Returns the process that is running.
    pub(super) fn running(&mut self) -> Result<&mut DriverProcess, CellError> {
        let none = || CellError::Failed("no process of the driver is running".to_owned());
        self.running.as_mut().ok_or_else(none)
    }

    /// Has the driver follow the workload, each part of it in a process of its own. All rows of a part must arrive
    /// before the `deadline` that is taken when the part is sent. Returns the moves that the phone made meanwhile, too.
    pub(super) fn follow(
        &mut self,
        bench: &mut Bench,
        workload: &Workload,
        moves: Moves<'_>,
        setup: &Setup,
        deadline: impl Fn() -> Instant,
    ) -> Result<(RunAnswer, Vec<record::Move>), CellError> {
        let mut all = Vec::new();
        let mut made = Vec::new();
        for (number, steps) in workload.by_process().enumerate() {
            if number > 0 {
                self.restart(bench, setup)?;
            }
            // A study with moves has no restart.
            let mut mover = Mover::new(bench, moves.planned, moves.notifies);
            let host = &mut self.running()?.host;
            let answer = host.run_meanwhile(steps, deadline(), &mut mover);
            // A driver may fail because a move did.
            mover.check()?;
            match answer? {
                RunAnswer::Rows(rows) => {
                    made.extend(mover.finish(&rows)?);
                    renumber_connections(&mut all, rows);
                }
                unsupported @ RunAnswer::Unsupported { .. } => {
                    return Ok((unsupported, Vec::new()));
                }
            }
        }
        Ok((RunAnswer::Rows(all), made))
    }

    /// Ends the process and sets up another in the same home.
    fn restart(&mut self, bench: &mut Bench, setup: &Setup) -> Result<(), CellError> {
        if let Some(running) = self.running.take() {
            self.ended_cpu_ns += running.stop()?.exit.cpu_ns;
        }
        let next = DriverProcess::start(bench, self.driver, self.scratch.home(), self.sandbox)?;
        let next = self.running.insert(next);
        let deadline = next.spawned + STARTUP_LIMIT;
        next.host.hello(deadline)?;
        match next.host.setup(setup, deadline)? {
            SetupAnswer::Ready => Ok(()),
            SetupAnswer::Unsupported { what, reason } => {
                Err(CellError::Unsupported(format!("{what}: {reason}")))
            }
        }
    }

    /// Asks the process to close, and kills it if it does not exit in time.
    pub(super) fn stop(self) -> Result<Ended, CellError> {
        let last = self.running.map(DriverProcess::stop).transpose()?;
        let last_cpu_ns = last.as_ref().map_or(0, |exited| exited.exit.cpu_ns);
        Ok(Ended {
            cpu_ns: self.ended_cpu_ns + last_cpu_ns,
            last,
        })
    }
}

impl Ended {
    /// Adds the last line of the driver's log to a failure.
    pub(super) fn explain(&self, error: CellError) -> CellError {
        match &self.last {
            Some(exited) => exited.explain(error),
            None => error,
        }
    }
}

/// Adds the rows of a process, which numbers its connections from 1, as all do.
fn renumber_connections(all: &mut Vec<Row>, rows: Vec<Row>) {
    let before = all.iter().map(|row| row.connection).max().unwrap_or(0);
    all.extend(rows.into_iter().map(|row| Row {
        connection: match row.connection {
            0 => 0,
            number => number.saturating_add(before),
        },
        ..row
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_two_processes_never_have_the_same_number() {
        let rows = |connections: &[u32]| {
            let row = |&connection: &u32| Row {
                connection,
                ..Row::default()
            };
            connections.iter().map(row).collect()
        };
        let mut all = Vec::new();
        renumber_connections(&mut all, rows(&[1, 2, 1]));
        renumber_connections(&mut all, rows(&[0, 1, 2]));
        let numbers: Vec<u32> = all.iter().map(|row| row.connection).collect();
        assert_eq!(numbers, [1, 2, 1, 0, 3, 4]);
    }
}
