//! One run: follows the steps and sends the rows.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::num::NonZero;
use std::time::Duration;

use bytes::Bytes;
use driver::protocol::{Action, CallError, Capability, ErrorKind, Reconnect, Reply, Step};
use futures_util::stream::{FuturesUnordered, StreamExt};
use messages::Kind;
use payload::Objects;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::auth::Auth;
use crate::call_error::{cancelled_error, timeout_error};
use crate::channel::ReplySink;
use crate::coding::{Coders, Coding};
use crate::exchange::{Exchanger, Source};
use crate::pool::{Pool, Pools};
use crate::schedule::{Ready, Schedule};
use crate::stack::{Stack, StepRequest};
use crate::stack_error::StackError;
use crate::trace::{Phase, Trace};

/// A run whose requests are prepared.
pub(crate) struct Run<'a, S: Stack> {
    pools: &'a Pools<S>,
    exchanger: &'a Exchanger,
    coders: &'a Coders,
    auth: Option<&'a Auth>,
    steps: &'a [Step],
    /// By step; none for steps that are not calls.
    calls: Vec<Option<PreparedCall<'a, S>>>,
    timeout_ns: u64,
    schedule: RefCell<Schedule>,
    /// The steps that start with the run.
    first: Vec<Ready>,
}

/// The parts of a call that are made before the run starts.
struct PreparedCall<'a, S: Stack> {
    /// Of the origin that the call goes to.
    pool: &'a Pool<S>,
    request: S::Request,
    /// In an exchange or a submission: the source of its message. The request has no body yet.
    message: Option<MessageSource>,
    /// Of a request of the study's own, if anything of it is encoded or decoded.
    coding: Option<Coding>,
}

/// The message of an exchange or a submission.
struct MessageSource {
    source: Source,
    form: Form,
}

/// What becomes of a message.
#[derive(Clone, Copy)]
enum Form {
    /// It is sent, and one like it received and decoded.
    Exchange,
    /// It is sent.
    Submission,
    /// It is sent in parts with at most this many bytes of payload.
    Parts(NonZero<usize>),
}

impl<'a, S: Stack> Run<'a, S> {
    /// Checks the steps and makes every request.
    pub(crate) fn prepare(
        pools: &'a Pools<S>,
        exchanger: &'a Exchanger,
        payloads: &BTreeMap<String, Bytes>,
        coders: &'a Coders,
        auth: Option<&'a Auth>,
        steps: &'a [Step],
        timeout_ns: u64,
    ) -> Result<Self, StackError> {
        let (schedule, first) =
            Schedule::new(steps).map_err(|error| StackError::Failed(error.to_string()))?;
        let capabilities = S::hello().capabilities;
        let prepare = |step: &Step| match &step.action {
            Action::Pause { .. } => Ok(None),
            Action::Reconnect { mode } => {
                check_reconnect(&capabilities, *mode)?;
                pools.of(None)?.stack().check_mode(*mode)?;
                Ok(None)
            }
            call => {
                let message = match call {
                    Action::Exchange { message, kind } => Some(MessageSource {
                        source: exchanger.prepare(message, kind)?,
                        form: Form::Exchange,
                    }),
                    Action::Submit {
                        message,
                        kind,
                        chunk_bytes,
                    } => Some(MessageSource {
                        source: exchanger.prepare(message, kind)?,
                        form: submission(kind, *chunk_bytes)?,
                    }),
                    Action::Stream { .. } if auth.is_some_and(Auth::signs) => {
                        let reason = "a stream in both directions cannot be signed";
                        return Err(StackError::unsupported("step stream", reason));
                    }
                    _ => None,
                };
                let pool = pools.of(step.origin.as_deref())?;
                let payload = payload(call, payloads)?;
                let coding = coders.prepare(call, &payload)?;
                let request = pool.stack().prepare(step.id, call, payload)?;
                Ok(Some(PreparedCall {
                    pool,
                    request,
                    message,
                    coding,
                }))
            }
        };
        let calls = steps.iter().map(prepare).collect::<Result<_, _>>()?;
        Ok(Self {
            pools,
            exchanger,
            coders,
            auth,
            steps,
            calls,
            timeout_ns,
            schedule: RefCell::new(schedule),
            first,
        })
    }

    /// Follows the steps. Sends the rows of a group once it has ended and no call is running.
    pub(crate) async fn follow(mut self, replies: &mut dyn ReplySink) -> io::Result<()> {
        let mut groups = Groups::new(self.steps);
        let first = std::mem::take(&mut self.first);
        let begin = Instant::now();
        let mut running: FuturesUnordered<_> = first
            .into_iter()
            .map(|ready| self.step(ready, begin))
            .collect();
        while let Some((index, trace)) = running.next().await {
            groups.step_ended(&self.steps[index], trace);
            if running.is_empty() {
                groups.send_complete(replies)?;
            }
            let ready = self
                .schedule
                .borrow_mut()
                .step_ended(index, elapsed_ns(begin));
            let at_once = |index| Ready { index, delay_ns: 0 };
            running.extend(
                ready
                    .into_iter()
                    .map(|index| self.step(at_once(index), begin)),
            );
        }
        replies.send(Reply::Done)
    }

    /// Executes one step, unless it is too late for it. Returns its index and the trace of a call.
    async fn step(&self, ready: Ready, begin: Instant) -> (usize, Option<Trace>) {
        let Ready { index, delay_ns } = ready;
        if delay_ns > 0 {
            sleep_until(begin + Duration::from_nanos(delay_ns)).await;
        }
        let until = self.steps[index].until;
        if until.is_some_and(|until| self.schedule.borrow().is_past(until, elapsed_ns(begin))) {
            return (index, None);
        }
        let step = &self.steps[index];
        match (&self.calls[index], &step.action) {
            (Some(prepared), _) => (index, Some(self.call(step, prepared).await)),
            (None, Action::Reconnect { mode }) => {
                self.pools.reconnect(*mode).await;
                (index, None)
            }
            (None, Action::Pause { ns }) => {
                sleep(Duration::from_nanos(*ns)).await;
                (index, None)
            }
            (None, _) => unreachable!("every other step is a prepared call"),
        }
    }

    async fn call(&self, step: &Step, prepared: &PreparedCall<'_, S>) -> Trace {
        let trace = Trace::new(step.id);
        let cancel_ns = step.cancel_after_ns.filter(|&ns| ns < self.timeout_ns);
        let limit = Duration::from_nanos(cancel_ns.unwrap_or(self.timeout_ns));
        trace.stamp(Phase::Start);
        let outcome = timeout(limit, self.exchange_or_send(prepared, &trace)).await;
        trace.stamp(Phase::End);
        let error = match outcome {
            // What was decoded is dropped when the call has ended.
            Ok(Ok(_)) => None,
            Ok(Err(error)) => Some(error),
            Err(_) => {
                Some(cancel_ns.map_or_else(|| timeout_error(self.timeout_ns), cancelled_error))
            }
        };
        trace.edit(|row| row.error = error);
        trace
    }

    /// Sends the request; in an exchange or a submission, also encodes its message; in an exchange, also
    /// decodes the response. Around a request of the study's own, encodes and decodes what is coded, and
    /// returns the decoded response.
    async fn exchange_or_send(
        &self,
        prepared: &PreparedCall<'_, S>,
        trace: &Trace,
    ) -> Result<Option<Objects>, CallError> {
        let pool = prepared.pool;
        let Some(MessageSource { source, form }) = &prepared.message else {
            let Some(coding) = &prepared.coding else {
                self.send(pool, &prepared.request, trace).await?;
                return Ok(None);
            };
            self.coders.encode_request(coding, trace);
            self.send(pool, &prepared.request, trace).await?;
            return self.coders.decode_response(coding, trace);
        };
        let (sent, messages) = match form {
            Form::Parts(bytes) => (None, self.exchanger.encode_parts(source, *bytes, trace)),
            Form::Exchange | Form::Submission => {
                let (message, body) = self.exchanger.encode(source, trace);
                let answered = matches!(form, Form::Exchange);
                (answered.then_some(message), vec![body])
            }
        };
        let request = (prepared.request).with_messages(self.exchanger.codec(), messages);
        self.send(pool, &request, trace).await?;
        if let Some(sent) = sent {
            trace.stamp(Phase::Received);
            self.exchanger.decode(sent, trace)?;
        }
        Ok(None)
    }

    async fn send(
        &self,
        pool: &Pool<S>,
        request: &S::Request,
        trace: &Trace,
    ) -> Result<(), CallError> {
        let proven = self.auth.map(|auth| {
            let proven = request.with_proof(auth, pool.stack().origin());
            if auth.signs() {
                trace.stamp(Phase::Signed);
            }
            proven
        });
        let request = proven.as_ref().unwrap_or(request);
        let conn = pool.acquire(trace).await?;
        let outcome = pool.stack().call(conn.get(), request, trace).await;
        // Once more: early data is sent before the handshake's outcome is known.
        pool.describe(&conn, trace);
        // A response with an error status is still a complete response.
        if outcome
            .as_ref()
            .err()
            .is_none_or(|error| error.kind == ErrorKind::Status)
        {
            pool.release(conn);
        }
        outcome
    }
}

/// Returns the payload of a step `fetch`, which setup has named; of any other, nothing.
fn payload(call: &Action, payloads: &BTreeMap<String, Bytes>) -> Result<Bytes, StackError> {
    let Action::Fetch {
        payload: Some(name),
        ..
    } = call
    else {
        return Ok(Bytes::new());
    };
    let unknown = || StackError::Failed(format!("setup has no payload {name:?}"));
    payloads.get(name).cloned().ok_or_else(unknown)
}

/// Returns the form of a submission of this kind.
fn submission(kind: &str, chunk_bytes: Option<u64>) -> Result<Form, StackError> {
    if kind != Kind::Diag.name() {
        let reason = "only messages of kind Diag are submitted";
        return Err(StackError::unsupported(format!("submit {kind}"), reason));
    }
    let Some(bytes) = chunk_bytes else {
        return Ok(Form::Submission);
    };
    let bytes = usize::try_from(bytes).ok().and_then(NonZero::new);
    let invalid = || StackError::Failed("a chunk must have at least one byte".to_owned());
    Ok(Form::Parts(bytes.ok_or_else(invalid)?))
}

fn elapsed_ns(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX)
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
    /// By group: its number of calls that have a row, or may still get one.
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
        match trace {
            Some(trace) => self.ended.entry(step.group).or_default().push(trace),
            // It was too late to start the call, which therefore has no row.
            None if step.action.is_call() => {
                self.sizes.entry(step.group).and_modify(|size| *size -= 1);
            }
            None => {}
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
