//! Asks a driver who it is, without a bench: nothing is measured, no packet is sent.

use std::fs::File;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use driver::manifest::ChannelKind;
use driver::protocol::Hello;
use driver::{Host, Limits};
use tempfile::TempDir;

use crate::cell::CLOSE_LIMIT;
use crate::cell::accept;
use crate::cell::process::{STARTUP_LIMIT, with_log_end};
use crate::stacks::Driver;

impl Driver {
    /// Starts it, hears its `hello`, ends it. An error says why it is of no use here.
    pub fn introduce(&self) -> Result<Introduced, String> {
        let started = Instant::now();
        let mut meeting = Meeting::begin(self)?;
        let hello = meeting.host.hello(started + STARTUP_LIMIT);
        let hello = hello.map_err(|e| meeting.explain(&e.to_string()))?;
        let startup = started.elapsed();
        meeting.end();
        Ok(Introduced { hello, startup })
    }

    /// Says words it cannot know. Right is to answer `unsupported` and to go on.
    pub(crate) fn provoke(&self) -> Result<(), String> {
        let mut meeting = Meeting::begin(self)?;
        let deadline = Instant::now() + STARTUP_LIMIT;
        let heard = meeting.host.hello(deadline);
        let heard = heard.and_then(|_| {
            meeting
                .host
                .send_unknown_request(r#"{"type":"sing"}"#, deadline)
        });
        // It must still be there.
        let heard = heard.and_then(|_| meeting.host.hello(deadline));
        heard.map_err(|e| meeting.explain(&e.to_string()))?;
        meeting.end();
        Ok(())
    }
}

/// What a driver said of itself.
#[derive(Clone, Debug)]
pub struct Introduced {
    /// Its words.
    pub hello: Hello,
    /// From spawning it to having heard them.
    pub startup: Duration,
}

struct Meeting {
    host: Host,
    child: Child,
    home: TempDir,
}

impl Meeting {
    fn begin(driver: &Driver) -> Result<Meeting, String> {
        if let Some(reason) = driver.missing() {
            return Err(reason);
        }
        let fail = |e: std::io::Error| e.to_string();
        let home = tempfile::tempdir().map_err(fail)?;
        let log = File::create(home.path().join(LOG)).map_err(fail)?;
        let mut command = Command::new(&driver.command[0]);
        command
            .args(&driver.command[1..])
            .env_clear()
            .envs(driver::env::base_env(home.path()))
            .current_dir(home.path())
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(fail)?)
            .stderr(log);
        let begun = match driver.entry.channel {
            ChannelKind::Pipes => over_pipes(command),
            ChannelKind::Tcp => over_tcp(command),
        };
        let (child, read, write) = begun.map_err(|e| {
            format!(
                "{}: {e}: {}",
                driver.command[0],
                driver.folder.install_hint()
            )
        })?;
        let host = Host::new(read, write, Limits::default()).map_err(fail)?;
        Ok(Meeting { host, child, home })
    }

    fn explain(&mut self, error: &str) -> String {
        self.child.kill().ok();
        self.child.wait().ok();
        with_log_end(error, &self.home.path().join(LOG))
    }

    fn end(mut self) {
        self.host.close();
        let until = Instant::now() + CLOSE_LIMIT;
        while Instant::now() < until {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

type Begun = (Child, OwnedFd, OwnedFd);

fn over_pipes(command: Command) -> std::io::Result<Begun> {
    let started = driver::process::start(command)?;
    Ok((started.child, started.read, started.write))
}

fn over_tcp(mut command: Command) -> std::io::Result<Begun> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?.to_string();
    let mut child = command.env(driver::env::ENV_CONNECT, address).spawn()?;
    match accept(&listener, Instant::now() + STARTUP_LIMIT) {
        Ok(stream) => Ok((child, stream.try_clone()?.into(), stream.into())),
        Err(e) => {
            child.kill().ok();
            child.wait().ok();
            Err(e)
        }
    }
}

const LOG: &str = "driver.log";
