//! One run: follows the steps and sends the rows.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use driver::protocol::{Action, CallError, Capability, ErrorKind, Reconnect, Reply, Step};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::call_error::{cancelled_error, timeout_error};
use crate::channel::ReplySink;
use crate::exchange::{Exchanger, Source};
use crate::pool::Pool;
use crate::schedule::{Ready, Schedule};
use crate::stack::{Stack, StackError};
use crate::trace::{Phase, Trace};

/// A run whose requests are prepared.
pub(crate) struct Run<'a, S: Stack> {
    pool: &'a Pool<S>,
    exchanger: &'a Exchanger,
    steps: &'a [Step],
    /// By step; none for steps that are not calls.
    calls: Vec<Option<PreparedCall<S>>>,
    timeout_ns: u64,
    schedule: Schedule,
    /// The steps that start with the run.
    first: Vec<Ready>,
}

/// The parts of a call that are made before the run starts.
struct PreparedCall<S: Stack> {
    request: S::Request,
    /// In an exchange: the source of its message. The request has no body yet.
    message: Option<Source>,
}

impl<'a, S: Stack> Run<'a, S> {
    /// Checks the steps and makes every request.
    pub(crate) fn prepare(
        pool: &'a Pool<S>,
        exchanger: &'a Exchanger,
        steps: &'a [Step],
        timeout_ns: u64,
    ) -> Result<Self, StackError> {
        let (schedule, first) =
            Schedule::new(steps).map_err(|error| StackError::Failed(error.to_string()))?;
        let capabilities = S::hello().capabilities;
        let prepare = |step: &Step| match &step.action {
            Action::Pause { .. } => Ok(None),
            Action::Reconnect { mode } => check_reconnect(&capabilities, *mode).map(|()| None),
            call => {
                let message = match call {
                    Action::Exchange { message, kind } => Some(exchanger.prepare(message, kind)?),
                    _ => None,
                };
                let request = pool.stack().prepare(step.id, call)?;
                Ok(Some(PreparedCall { request, message }))
            }
        };
        let calls = steps.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Self {
            pool,
            exchanger,
            steps,
            calls,
            timeout_ns,
            schedule,
            first,
        })
    }

    /// Follows the steps. Sends the rows of a group once it has ended and no call is running.
    pub(crate) async fn follow(mut self, replies: &mut dyn ReplySink) -> io::Result<()> {
        let mut groups = Groups::new(self.steps);
        let first = std::mem::take(&mut self.first);
        let mut schedule = std::mem::take(&mut self.schedule);
        let begin = Instant::now();
        let start = |ready: Ready| {
            let begin = begin + Duration::from_nanos(ready.delay_ns);
            self.step(ready.index, (ready.delay_ns > 0).then_some(begin))
        };
        let mut running: FuturesUnordered<_> = first.into_iter().map(start).collect();
        while let Some((index, trace)) = running.next().await {
            groups.step_ended(&self.steps[index], trace);
            if running.is_empty() {
                groups.send_complete(replies)?;
            }
            let ready = schedule.step_ended(index);
            running.extend(ready.into_iter().map(|index| self.step(index, None)));
        }
        replies.send(Reply::Done)
    }

    /// Does one step. Returns its index and, if it is a call, its trace.
    async fn step(&self, index: usize, begin: Option<Instant>) -> (usize, Option<Trace>) {
        if let Some(begin) = begin {
            sleep_until(begin).await;
        }
        let step = &self.steps[index];
        match (&self.calls[index], &step.action) {
            (Some(prepared), _) => (index, Some(self.call(step, prepared).await)),
            (None, Action::Reconnect { mode }) => {
                self.pool.reconnect(*mode).await;
                (index, None)
            }
            (None, Action::Pause { ns }) => {
                sleep(Duration::from_nanos(*ns)).await;
                (index, None)
            }
            (None, _) => unreachable!("every other step is a prepared call"),
        }
    }

    async fn call(&self, step: &Step, prepared: &PreparedCall<S>) -> Trace {
        let trace = Trace::new(step.id);
        let cancel_ns = step.cancel_after_ns.filter(|&ns| ns < self.timeout_ns);
        let limit = Duration::from_nanos(cancel_ns.unwrap_or(self.timeout_ns));
        trace.stamp(Phase::Start);
        let outcome = timeout(limit, self.exchange_or_send(prepared, &trace)).await;
        trace.stamp(Phase::End);
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => {
                Some(cancel_ns.map_or_else(|| timeout_error(self.timeout_ns), cancelled_error))
            }
        };
        trace.edit(|row| row.error = error);
        trace
    }

    /// Sends the request; in an exchange, also encodes its message and decodes the response.
    async fn exchange_or_send(
        &self,
        prepared: &PreparedCall<S>,
        trace: &Trace,
    ) -> Result<(), CallError> {
        let Some(source) = &prepared.message else {
            return self.send(&prepared.request, trace).await;
        };
        let (message, body) = self.exchanger.encode(source, trace);
        let stack = self.pool.stack();
        let request = stack.with_message(&prepared.request, self.exchanger.codec(), body);
        self.send(&request, trace).await?;
        trace.stamp(Phase::Received);
        self.exchanger.decode(message, trace)
    }

    async fn send(&self, request: &S::Request, trace: &Trace) -> Result<(), CallError> {
        let conn = self.pool.acquire(trace).await?;
        let outcome = self.pool.stack().call(conn.get(), request, trace).await;
        // Once more: early data is sent before the handshake's outcome is known.
        self.pool.describe(&conn, trace);
        // A response with an error status is still a complete response.
        if outcome
            .as_ref()
            .err()
            .is_none_or(|error| error.kind == ErrorKind::Status)
        {
            self.pool.release(conn);
        }
        outcome
    }
}

fn check_reconnect(capabilities: &[Capability], mode: Reconnect) -> Result<(), StackError> {
    let required = match mode {
        Reconnect::Cold => return Ok(()),
        Reconnect::Resume => Capability::Resume,
        Reconnect::EarlyData => Capability::EarlyData,
    };
    if capabilities.contains(&required) {
        return Ok(());
    }
    Err(StackError::unsupported(
        format!("reconnect {}", mode.name()),
        "not among this driver's capabilities",
    ))
}

/// The calls that have ended but whose rows have not been sent.
struct Groups {
    /// By group: its number of calls.
    sizes: BTreeMap<u32, usize>,
    ended: BTreeMap<u32, Vec<Trace>>,
}

impl Groups {
    fn new(steps: &[Step]) -> Self {
        let mut sizes = BTreeMap::new();
        for step in steps.iter().filter(|step| step.action.is_call()) {
            *sizes.entry(step.group).or_default() += 1;
        }
        Self {
            sizes,
            ended: BTreeMap::new(),
        }
    }

    fn step_ended(&mut self, step: &Step, trace: Option<Trace>) {
        if let Some(trace) = trace {
            self.ended.entry(step.group).or_default().push(trace);
        }
    }

    fn send_complete(&mut self, replies: &mut dyn ReplySink) -> io::Result<()> {
        let sizes = &self.sizes;
        let complete = self
            .ended
            .extract_if(.., |group, traces| sizes.get(group) == Some(&traces.len()));
        for trace in complete.flat_map(|(_, traces)| traces) {
            replies.send(Reply::Row(trace.finish()))?;
        }
        Ok(())
    }
}
