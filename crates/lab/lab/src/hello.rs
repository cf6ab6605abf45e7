//! Conversations with a driver in which nothing is measured and no packet is sent.

use std::time::{Duration, Instant};

use driver::manifest::ChannelKind;
use driver::process::{Process, Started};
use driver::protocol::Hello;
use driver::{DriverError, Host, Limits};

use pump::{Bench, BenchError};

use crate::bench;
use crate::cell::driver_process::DriverProcess;
use crate::cell::error::CellError;
use crate::cell::scratch::Scratch;
use crate::cell::{CLOSE_LIMIT, STARTUP_LIMIT};
use crate::lab::Lab;
use crate::stacks::Driver;

/// No version of the protocol has this type of request.
const UNKNOWN_REQUEST: &str = r#"{"type":"unknown"}"#;

/// A driver's hello, and how long the driver took to send it.
#[derive(Clone, Debug)]
pub struct DriverHello {
    /// The hello, already checked.
    pub hello: Hello,
    /// Time from starting the driver to receiving its hello.
    pub startup: Duration,
}

/// Reads the hellos of drivers inside a bench, where they can reach only what they reach in a cell.
pub struct HelloReader {
    /// None where an ordinary user can start no bench: then drivers run with that user's rights.
    bench: Option<Bench>,
}

impl HelloReader {
    /// Starts a bench. Without one, root gets an error: drivers would run with all its rights.
    pub fn start(lab: &Lab) -> Result<HelloReader, BenchError> {
        match bench::start_for_drivers(lab, 1, None) {
            Ok(bench) => Ok(HelloReader { bench: Some(bench) }),
            Err(_) if !rustix::process::geteuid().is_root() => Ok(HelloReader { bench: None }),
            Err(e) => Err(e),
        }
    }

    /// Starts the driver, reads its hello and closes it. The error says why the driver cannot be
    /// used here.
    pub fn query(&mut self, driver: &Driver) -> Result<DriverHello, String> {
        match &mut self.bench {
            Some(bench) => query(bench, driver),
            None => converse_on_host(driver, read_hello(Instant::now())),
        }
    }
}

/// Starts the driver on a bench, reads its hello and closes it.
pub(crate) fn query(bench: &mut Bench, driver: &Driver) -> Result<DriverHello, String> {
    converse(bench, driver, read_hello(Instant::now()))
}

/// Checks that the driver answers an unknown request with `unsupported` and goes on.
pub(crate) fn send_unknown_request(bench: &mut Bench, driver: &Driver) -> Result<(), String> {
    converse(bench, driver, |host, deadline| {
        host.hello(deadline)?;
        host.send_unknown_request(UNKNOWN_REQUEST, deadline)?;
        // The driver must still answer.
        host.hello(deadline)?;
        Ok(())
    })
}

fn read_hello(
    started: Instant,
) -> impl FnOnce(&mut Host, Instant) -> Result<DriverHello, DriverError> {
    move |host, deadline| {
        let hello = host.hello(deadline)?;
        let startup = started.elapsed();
        Ok(DriverHello { hello, startup })
    }
}

fn converse<T>(
    bench: &mut Bench,
    driver: &Driver,
    talk: impl FnOnce(&mut Host, Instant) -> Result<T, DriverError>,
) -> Result<T, String> {
    if let Some(reason) = driver.missing() {
        return Err(reason);
    }
    let scratch = Scratch::new(bench::driver_user(bench)).map_err(|e| e.to_string())?;
    let started = bench::driver_sandbox(bench, driver, scratch.home(), vec![scratch.client()])
        .map_err(CellError::from)
        .and_then(|sandbox| DriverProcess::start(bench, driver, scratch.home(), sandbox));
    let outcome = started.and_then(|mut process| {
        let deadline = process.spawned + STARTUP_LIMIT;
        let outcome = talk(&mut process.host, deadline);
        let exited = process.stop()?;
        outcome.map_err(|e| exited.explain(e.into()))
    });
    let cleared = bench.clear_endpoints();
    let outcome = outcome.map_err(|e| e.to_string())?;
    cleared.map_err(|e| e.to_string())?;
    Ok(outcome)
}

fn converse_on_host<T>(
    driver: &Driver,
    talk: impl FnOnce(&mut Host, Instant) -> Result<T, DriverError>,
) -> Result<T, String> {
    if let Some(reason) = driver.missing() {
        return Err(reason);
    }
    let deadline = Instant::now() + STARTUP_LIMIT;
    let started = match driver.entry.channel {
        ChannelKind::Pipes => Process::start(&driver.command),
        ChannelKind::Tcp => Process::start_connecting(&driver.command, deadline),
    };
    let Started {
        mut process,
        read,
        write,
    } = started.map_err(|e| {
        let remedy = driver.folder.remedy();
        format!("{}: {e}; {remedy}", driver.command[0])
    })?;
    let mut host = Host::new(read, write, Limits::default()).map_err(|e| e.to_string())?;
    let outcome = talk(&mut host, deadline);
    let outcome = outcome.map_err(|e| process.kill_and_explain(&e.to_string()))?;
    host.close();
    // The driver has answered. One that has to be killed is still usable.
    process.close(CLOSE_LIMIT).ok();
    Ok(outcome)
}
