//! A driver that tries what a driver must not do, for the test of the confinement: hyper's, which tries everything before
//! its first reply and reports the outcomes among its settings.
//!
//! The argument is a file with what the test has prepared on the machine, one a line: see [`Machine`]. As arguments, the
//! lab would make its files visible.

#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    reason = "system calls on this process only, whose pointers live through the call"
)]

mod attempt;
mod files;
mod limits;
mod network;
mod privileges;
mod processes;
mod terminal;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::ExitCode;
use std::sync::OnceLock;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Hello, Reconnect, Setup};
use engine::channel::open;
use engine::origin::Origin;
use engine::request::HttpRequest;
use engine::serve::{converse, exit_code};
use engine::stack::{ConnInfo, Stack};
use engine::stack_error::StackError;
use engine::stacks::hyper::{Conn, Hyper};
use engine::trace::Trace;

use crate::attempt::Machine;

/// The outcomes, once everything has been tried.
static OUTCOMES: OnceLock<BTreeMap<String, String>> = OnceLock::new();

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_default();
    let prepared = fs::read_to_string(argument).unwrap_or_default();
    let prepared: Vec<String> = prepared.lines().map(str::to_owned).collect();
    let Ok([file, socket, abstract_name, address, memory]) = <[String; 5]>::try_from(prepared)
    else {
        eprintln!("give a file with what is prepared on the machine, in five lines");
        return ExitCode::FAILURE;
    };
    let machine = Machine {
        file,
        socket,
        abstract_name,
        address,
        has_memory: memory == "has memory",
    };
    OUTCOMES.get_or_init(|| try_all(&machine));
    exit_code(open().and_then(|(requests, mut replies)| converse::<Probe>(requests, &mut replies)))
}

/// Tries everything, and returns for each whether it was `allowed`, `denied`, or `limited` as not on every machine.
fn try_all(machine: &Machine) -> BTreeMap<String, String> {
    let mut outcomes = BTreeMap::new();
    for (name, tried) in [
        files::attempts(machine),
        processes::attempts(),
        privileges::attempts(),
        terminal::attempts(),
        network::attempts(machine),
        limits::attempts(machine),
    ]
    .into_iter()
    .flatten()
    {
        let outcome = match &tried {
            Ok(()) => "allowed",
            Err(e) if e.kind() == io::ErrorKind::QuotaExceeded => "limited",
            Err(_) => "denied",
        };
        eprintln!("{name}: {tried:?}");
        outcomes.insert(name, outcome.to_owned());
    }
    outcomes
}

/// hyper, with the outcomes among its settings.
struct Probe(Hyper);

impl Stack for Probe {
    type Conn = Conn;
    type Request = HttpRequest;

    fn hello() -> Hello {
        Hello {
            stack: "probe".into(),
            settings: OUTCOMES.get().cloned().unwrap_or_default(),
            ..Hyper::hello()
        }
    }

    fn new(setup: &Setup) -> Result<Self, StackError> {
        Hyper::new(setup).map(Probe)
    }

    fn origin(&self) -> &Origin {
        self.0.origin()
    }

    fn shares_connection(&self) -> bool {
        self.0.shares_connection()
    }

    fn prepare(&self, id: u32, action: &Action, payload: Bytes) -> Result<HttpRequest, StackError> {
        self.0.prepare(id, action, payload)
    }

    async fn connect(&self, mode: Reconnect, trace: &Trace) -> Result<Conn, CallError> {
        self.0.connect(mode, trace).await
    }

    async fn call(
        &self,
        conn: &Conn,
        request: &HttpRequest,
        trace: &Trace,
    ) -> Result<(), CallError> {
        self.0.call(conn, request, trace).await
    }

    fn conn_info(&self, conn: &Conn) -> ConnInfo {
        self.0.conn_info(conn)
    }

    fn is_usable(&self, conn: &Conn) -> bool {
        self.0.is_usable(conn)
    }

    async fn close(&self, conn: Conn) {
        self.0.close(conn).await;
    }

    fn discard_tickets(&self) {
        self.0.discard_tickets();
    }
}
