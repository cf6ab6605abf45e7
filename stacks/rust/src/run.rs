//! One run: steps in, rows out.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use driver::protocol::{Action, CallError, Capability, ErrorKind, Reconnect, Reply, Step};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::exchange::{Exchanges, Source};
use crate::failure::{cancelled, timed_out};
use crate::pool::Pool;
use crate::schedule::{Ready, Schedule};
use crate::trace::Phase;
use crate::{Out, Refused, Stack, Trace};

/// Steps that are ready to run.
pub(crate) struct Run<'a, S: Stack> {
    pool: &'a Pool<S>,
    exchanges: &'a Exchanges,
    steps: &'a [Step],
    requests: Vec<Option<Prepared<S>>>,
    timeout_ns: u64,
    schedule: Schedule,
    first: Vec<Ready>,
}

/// What is there of a call before the run begins.
struct Prepared<S: Stack> {
    request: S::Request,
    /// Of an exchange, whose request has no body yet.
    message: Option<Source>,
}

impl<'a, S: Stack> Run<'a, S> {
    /// Checks the steps and makes every request.
    pub(crate) fn prepare(
        pool: &'a Pool<S>,
        exchanges: &'a Exchanges,
        steps: &'a [Step],
        timeout_ns: u64,
    ) -> Result<Self, Refused> {
        let (schedule, first) =
            Schedule::first(steps).map_err(|error| Refused::Failed(error.to_string()))?;
        let capabilities = S::hello().capabilities;
        let request = |step: &Step| match &step.action {
            Action::Pause { .. } => Ok(None),
            Action::Reconnect { mode } => reconnects(&capabilities, *mode).map(|()| None),
            call => {
                let message = match call {
                    Action::Exchange { message, kind } => Some(exchanges.prepare(message, kind)?),
                    _ => None,
                };
                let request = pool.stack().prepare(step.id, call)?;
                Ok(Some(Prepared { request, message }))
            }
        };
        let requests = steps.iter().map(request).collect::<Result<_, _>>()?;
        Ok(Self {
            pool,
            exchanges,
            steps,
            requests,
            timeout_ns,
            schedule,
            first,
        })
    }

    /// Follows the steps; sends each group's rows when it has ended and nothing runs.
    pub(crate) async fn follow(mut self, out: &mut dyn Out) -> io::Result<()> {
        let mut groups = Groups::new(self.steps);
        let first = std::mem::take(&mut self.first);
        let mut schedule = std::mem::take(&mut self.schedule);
        let begin = Instant::now();
        let start = |ready: Ready| {
            let begin = begin + Duration::from_nanos(ready.delay_ns);
            self.step(ready.place, (ready.delay_ns > 0).then_some(begin))
        };
        let mut running: FuturesUnordered<_> = first.into_iter().map(start).collect();
        while let Some((place, trace)) = running.next().await {
            groups.ended(&self.steps[place], trace);
            if running.is_empty() {
                groups.send_complete(out)?;
            }
            let ready = schedule.ended(place);
            running.extend(ready.into_iter().map(|place| self.step(place, None)));
        }
        out.send(Reply::Done)
    }

    async fn step(&self, place: usize, begin: Option<Instant>) -> (usize, Option<Trace>) {
        if let Some(begin) = begin {
            sleep_until(begin).await;
        }
        let step = &self.steps[place];
        match (&self.requests[place], &step.action) {
            (Some(prepared), _) => (place, Some(self.call(step, prepared).await)),
            (None, Action::Reconnect { mode }) => {
                self.pool.reconnect(*mode).await;
                (place, None)
            }
            (None, Action::Pause { ns }) => {
                sleep(Duration::from_nanos(*ns)).await;
                (place, None)
            }
            (None, _) => unreachable!("prepare makes a request for every other step"),
        }
    }

    async fn call(&self, step: &Step, prepared: &Prepared<S>) -> Trace {
        let trace = Trace::new(step.id);
        let cancel_ns = step.cancel_after_ns.filter(|&ns| ns < self.timeout_ns);
        let limit = Duration::from_nanos(cancel_ns.unwrap_or(self.timeout_ns));
        trace.stamp(Phase::Start);
        let outcome = timeout(limit, self.whole(prepared, &trace)).await;
        trace.stamp(Phase::End);
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => Some(cancel_ns.map_or_else(|| timed_out(self.timeout_ns), cancelled)),
        };
        trace.edit(|row| row.error = error);
        trace
    }

    /// A call with all that an application does for it.
    async fn whole(&self, prepared: &Prepared<S>, trace: &Trace) -> Result<(), CallError> {
        let Some(source) = &prepared.message else {
            return self.send(&prepared.request, trace).await;
        };
        let (message, body) = self.exchanges.encode(source, trace);
        let stack = self.pool.stack();
        let request = stack.carrying(&prepared.request, self.exchanges.codec(), body);
        self.send(&request, trace).await?;
        trace.stamp(Phase::Received);
        self.exchanges.decode(message, trace)
    }

    async fn send(&self, request: &S::Request, trace: &Trace) -> Result<(), CallError> {
        let lease = self.pool.lease(trace).await?;
        let outcome = self.pool.stack().call(lease.conn(), request, trace).await;
        // Again, for early data was sent before all was known.
        self.pool.describe(&lease, trace);
        // An answer that says no is still a whole answer.
        if outcome
            .as_ref()
            .err()
            .is_none_or(|error| error.kind == ErrorKind::Status)
        {
            self.pool.give_back(lease);
        }
        outcome
    }
}

fn reconnects(capabilities: &[Capability], mode: Reconnect) -> Result<(), Refused> {
    let (what, needed) = match mode {
        Reconnect::Cold => return Ok(()),
        Reconnect::Resume => ("reconnect resume", Capability::Resume),
        Reconnect::EarlyData => ("reconnect early_data", Capability::EarlyData),
    };
    match capabilities.contains(&needed) {
        true => Ok(()),
        false => Err(Refused::unsupported(
            what,
            "not among this driver's capabilities",
        )),
    }
}

/// The calls that ended but whose rows were not sent.
struct Groups {
    owed: BTreeMap<u32, usize>,
    ended: BTreeMap<u32, Vec<Trace>>,
}

impl Groups {
    fn new(steps: &[Step]) -> Self {
        let mut owed = BTreeMap::new();
        for step in steps.iter().filter(|step| step.action.is_call()) {
            *owed.entry(step.group).or_default() += 1;
        }
        Self {
            owed,
            ended: BTreeMap::new(),
        }
    }

    fn ended(&mut self, step: &Step, trace: Option<Trace>) {
        if let Some(trace) = trace {
            self.ended.entry(step.group).or_default().push(trace);
        }
    }

    fn send_complete(&mut self, out: &mut dyn Out) -> io::Result<()> {
        let owed = &self.owed;
        let complete = self
            .ended
            .extract_if(.., |group, traces| owed.get(group) == Some(&traces.len()));
        for trace in complete.flat_map(|(_, traces)| traces) {
            out.send(Reply::Row(trace.finish()))?;
        }
        Ok(())
    }
}
