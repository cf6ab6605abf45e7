//! Conversations with a driver on the host, without a bench: nothing is measured, no packet is
//! sent.

use std::time::{Duration, Instant};

use driver::manifest::ChannelKind;
use driver::process::{Process, Started};
use driver::protocol::Hello;
use driver::{DriverError, Host, Limits};

use crate::cell::{CLOSE_LIMIT, STARTUP_LIMIT};
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

impl Driver {
    /// Starts the driver, reads its hello and closes it. The error says why the driver cannot be
    /// used here.
    pub fn query_hello(&self) -> Result<DriverHello, String> {
        let started = Instant::now();
        self.converse(|host, deadline| {
            let hello = host.hello(deadline)?;
            let startup = started.elapsed();
            Ok(DriverHello { hello, startup })
        })
    }

    /// Checks that the driver answers an unknown request with `unsupported` and goes on.
    pub(crate) fn send_unknown_request(&self) -> Result<(), String> {
        self.converse(|host, deadline| {
            host.hello(deadline)?;
            host.send_unknown_request(UNKNOWN_REQUEST, deadline)?;
            // The driver must still answer.
            host.hello(deadline)?;
            Ok(())
        })
    }

    fn converse<T>(
        &self,
        talk: impl FnOnce(&mut Host, Instant) -> Result<T, DriverError>,
    ) -> Result<T, String> {
        if let Some(reason) = self.missing() {
            return Err(reason);
        }
        let deadline = Instant::now() + STARTUP_LIMIT;
        let started = match self.entry.channel {
            ChannelKind::Pipes => Process::start(&self.command),
            ChannelKind::Tcp => Process::start_connecting(&self.command, deadline),
        };
        let Started {
            mut process,
            read,
            write,
        } = started
            .map_err(|e| format!("{}: {e}: {}", self.command[0], self.folder.install_hint()))?;
        let mut host = Host::new(read, write, Limits::default()).map_err(|e| e.to_string())?;
        let outcome = talk(&mut host, deadline);
        let outcome = outcome.map_err(|e| process.kill_and_explain(&e.to_string()))?;
        host.close();
        // The driver has answered. One that has to be killed is still usable.
        process.close(CLOSE_LIMIT).ok();
        Ok(outcome)
    }
}
