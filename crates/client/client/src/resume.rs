//! Resumed bodies: the rest of a body, requested on another connection (RFC 9110 section 14). The first connection
//! broke or fell silent, or the other transport may be faster.

mod competing_fetch;
mod range_fetcher;

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use route::{Fault, Policy, Protocol, RateAdvice, RateMonitor, Transport};

use tokio::sync::oneshot;

use crate::download::may_have_changed;
use crate::error::Error;
use crate::limits::Phase;
use crate::message::Message;
use crate::metrics::Outcome;
use crate::report::Report;
use crate::response::{Response, Stream};
use competing_fetch::{CompetingFetch, FetchState, pinned};

pub(crate) use range_fetcher::{RangeFetcher, coding_of, resumable};

/// Most requests in a row for the rest that bring little of it.
const MAX_FRUITLESS: u32 = 3;
/// A request whose part breaks off before this many bytes was fruitless.
const MIN_PROGRESS_BYTES: u64 = 64 << 10;

/// A body that can be resumed, in its order. Its reader may stop waiting at any moment, so state that must outlive a
/// wait is kept here.
pub(crate) struct ResumableBody {
    fetcher: RangeFetcher,
    /// The first byte that was asked for.
    began_at: u64,
    position: u64,
    /// Where the part that comes now ends; a server may send less or more of it than it said.
    end: u64,
    monitor: RateMonitor,
    competitor: Option<CompetingFetch>,
    /// Time of completed waits since the last report to the monitor.
    waited: Duration,
    /// A request for the rest, because the body broke off.
    pending: Option<PendingRange>,
    /// A piece that has come; a reader that stops waiting for it must get it the next time.
    held: Option<Bytes>,
    /// Ends a wait, so that a body without progress is noticed.
    tick: Option<oneshot::Receiver<()>>,
    /// Requests in a row for the rest that brought little of it.
    fruitless: u32,
    /// Where the part that comes now began.
    from: u64,
    has_reported_end: bool,
}

struct PendingRange {
    /// Why the body broke off.
    error: Error,
    answer: Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>,
}

/// The first thing that arrived.
enum Arrival {
    Current(Result<Option<Bytes>, Error>),
    Competitor(Result<Option<Bytes>, Error>),
    /// Nothing arrived for a while.
    Timeout,
}

impl ResumableBody {
    pub(crate) fn new(fetcher: RangeFetcher, position: u64) -> Self {
        let (monitor, end) = (RateMonitor::new(fetcher.length, position), fetcher.length);
        let fruitless = if fetcher.outbound.traits.resends {
            0
        } else {
            MAX_FRUITLESS
        };
        Self {
            fetcher,
            began_at: position,
            position,
            end,
            monitor,
            competitor: None,
            waited: Duration::ZERO,
            pending: None,
            held: None,
            tick: None,
            fruitless,
            from: position,
            has_reported_end: false,
        }
    }

    /// Returns the fetcher of the same body.
    pub(crate) fn of_what(&self) -> &RangeFetcher {
        &self.fetcher
    }

    /// Returns the next piece of the body, from wherever it comes.
    pub(crate) async fn next(
        &mut self,
        stream: &mut Stream,
        report: &mut Report,
    ) -> Result<Option<Bytes>, Error> {
        let next = self.advance(stream, report).await;
        match &next {
            Ok(Some(_)) => {}
            Ok(None) => self.report_end(Outcome::Done),
            Err(error) => self.report_end(Outcome::of(error)),
        }
        next
    }

    /// Reports the end of the response, once.
    fn report_end(&mut self, outcome: Outcome) {
        if std::mem::replace(&mut self.has_reported_end, true) {
            return;
        }
        self.fetcher
            .report_end(self.position - self.began_at, outcome);
    }

    async fn advance(
        &mut self,
        stream: &mut Stream,
        report: &mut Report,
    ) -> Result<Option<Bytes>, Error> {
        loop {
            if let Some(held) = self.held.take() {
                return Ok(Some(held));
            }
            if let Some(pending) = &mut self.pending {
                let answer = pending.answer.as_mut().await;
                if let Some(fetcher) = self.answered(answer, report)? {
                    *stream = fetcher;
                }
                continue;
            }
            if let Some(ahead) = self.take_over(stream, report).await {
                self.position += ahead.len() as u64;
                return Ok(Some(ahead));
            }
            let came = self.wait(stream).await;
            let waited = std::mem::take(&mut self.waited);
            match came {
                Arrival::Current(Ok(Some(bytes))) => {
                    let bytes = self.up_to_end(bytes, stream);
                    self.position += bytes.len() as u64;
                    let advice = self.monitor.received(bytes.len() as u64, waited);
                    self.held = (!bytes.is_empty()).then_some(bytes);
                    self.follow(advice, stream, report).await;
                }
                Arrival::Timeout => {
                    self.tick = None;
                    let advice = self.monitor.received(0, waited);
                    self.follow(advice, stream, report).await;
                }
                Arrival::Current(Ok(None)) if self.position == self.fetcher.length => {
                    return Ok(None);
                }
                Arrival::Current(Ok(None)) => self.broke_off(too_short(), report)?,
                Arrival::Current(Err(error)) => self.broke_off(error, report)?,
                Arrival::Competitor(Ok(Some(bytes))) => {
                    let Some(competitor) = &mut self.competitor else {
                        continue;
                    };
                    let (kept, took) = (competitor.keep(bytes), competitor.took());
                    let advice = self.monitor.other_received(kept, waited, took);
                    self.follow(advice, stream, report).await;
                }
                Arrival::Competitor(Ok(None)) => {
                    if let Some(competitor) = &mut self.competitor {
                        competitor.state = FetchState::Ended;
                    }
                }
                Arrival::Competitor(Err(_)) => self.stay(),
            }
        }
    }

    /// Waits for either transport. The competitor is polled first, and stops when its buffer is full.
    async fn wait(&mut self, stream: &mut Stream) -> Arrival {
        if self.tick.is_none() && self.monitor.is_watching() {
            self.tick = Some(self.fetcher.mailbox.after(RateMonitor::WINDOW));
        }
        let mut competitor = self
            .competitor
            .as_mut()
            .filter(|competitor| competitor.has_room());
        let mut other = pin!(async {
            match &mut competitor {
                Some(competitor) => competitor.next().await,
                None => pending().await,
            }
        });
        let mut this = pin!(stream.next());
        let tick = &mut self.tick;
        let _waiting = Waiting {
            began: Instant::now(),
            waited: &mut self.waited,
        };
        poll_fn(|context| {
            if let Poll::Ready(came) = other.as_mut().poll(context) {
                return Poll::Ready(Arrival::Competitor(came));
            }
            if let Poll::Ready(came) = this.as_mut().poll(context) {
                return Poll::Ready(Arrival::Current(came));
            }
            match tick.as_mut().map(|tick| Pin::new(tick).poll(context)) {
                Some(Poll::Ready(_)) => Poll::Ready(Arrival::Timeout),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Requests the rest: first over TCP if the body broke off over HTTP/3, which might break off again.
    fn broke_off(&mut self, error: Error, report: &Report) -> Result<(), Error> {
        self.stay();
        let progresses = self.position >= self.from + MIN_PROGRESS_BYTES;
        if progresses && self.fetcher.outbound.traits.resends {
            self.fruitless = 0;
        }
        let policy = match (self.fetcher.outbound.traits.policy, transport(report)) {
            (Policy::Adaptive | Policy::Race, Transport::Quic) => Policy::H2,
            (policy, _) => policy,
        };
        self.ask_again(error, policy)
    }

    /// Requests the rest where the body broke off, unless that was fruitless too often.
    fn ask_again(&mut self, error: Error, policy: Policy) -> Result<(), Error> {
        // A malformed body is not requested again, and a complete one has no rest.
        let broke = matches!(error, Error::Failed { fault, .. } if fault != Fault::Malformed);
        if !broke || self.fruitless >= MAX_FRUITLESS || self.position == self.fetcher.length {
            return Err(error);
        }
        self.fruitless += 1;
        self.from = self.position;
        let part = self.position..self.fetcher.length;
        let answer = Box::pin(self.fetcher.fetch(part, policy));
        self.pending = Some(PendingRange { error, answer });
        Ok(())
    }

    /// Continues with the rest, or requests it once more.
    fn answered(
        &mut self,
        answer: Result<Response, Error>,
        report: &mut Report,
    ) -> Result<Option<Stream>, Error> {
        let Some(pending) = self.pending.take() else {
            return Ok(None);
        };
        match answer {
            Ok(response) => {
                let (stream, resumed) = response.into_stream();
                self.fetcher.update_report(report, &resumed);
                Ok(Some(stream))
            }
            // For the reader this was a wait for the next piece.
            Err(Error::TimedOut(Phase::FirstByte)) => Err(Error::TimedOut(Phase::Idle)),
            Err(late @ Error::TimedOut(_)) => Err(late),
            Err(Error::Refused(status)) if may_have_changed(status) => Err(pending.error),
            // No reason to ask again.
            Err(
                malformed @ Error::Failed {
                    fault: Fault::Malformed,
                    ..
                },
            ) => Err(malformed),
            Err(_) => {
                let policy = self.fetcher.outbound.traits.policy;
                self.ask_again(pending.error, policy).map(|()| None)
            }
        }
    }

    async fn follow(&mut self, advice: RateAdvice, stream: &mut Stream, report: &mut Report) {
        let traits = self.fetcher.outbound.traits;
        match advice {
            RateAdvice::Continue => {}
            // A request that is pinned to a transport is not sent over the other one, one that is not to be sent again is
            // not, and nothing is learnt from one that is urgent.
            RateAdvice::Compare { .. }
                if traits.policy != Policy::Adaptive || traits.urgent || !traits.resends => {}
            // One that has won brings the rest.
            RateAdvice::Compare { .. } if self.competitor.is_some() => {}
            RateAdvice::Compare { from, bytes } => {
                let part = from..from + bytes;
                self.competitor = Some(CompetingFetch::new(
                    self.fetcher.clone(),
                    part,
                    transport(report),
                ));
                self.monitor.comparing(from, bytes);
            }
            RateAdvice::Switch { ratio } => self.switch(ratio, stream, report).await,
            RateAdvice::Stay => self.stay(),
        }
    }

    /// Takes the body from the competitor's transport from now on. The bytes before the competitor's first one are
    /// requested there, too, because this transport may need long for them.
    async fn switch(&mut self, ratio: f64, stream: &mut Stream, report: &mut Report) {
        let Some(competitor) = &mut self.competitor else {
            return;
        };
        self.end = competitor.from;
        self.monitor.settled(self.position);
        let faster = transport(report).other();
        competitor.win(&self.fetcher, faster);
        let (origin, mailbox) = (self.fetcher.outbound.origin.clone(), &self.fetcher.mailbox);
        mailbox.send(Message::Compared(origin, faster, ratio));
        if self.position < competitor.from {
            let gap = self.position..competitor.from;
            let filling = self
                .fetcher
                .clone()
                .without_learning()
                .fetch(gap, pinned(faster));
            if let Ok(filling) = filling.await {
                (*stream, _) = filling.into_stream();
            }
        }
    }

    fn stay(&mut self) {
        self.competitor = None;
        self.end = self.fetcher.length;
        self.monitor.settled(self.position);
    }

    /// Cuts a piece off at the end of its part; nothing more is taken from there.
    fn up_to_end(&self, bytes: Bytes, stream: &mut Stream) -> Bytes {
        let room = self.end.saturating_sub(self.position);
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        if bytes.len() <= room {
            return bytes;
        }
        *stream = Stream::ended();
        bytes.slice(..room)
    }

    /// Lets the competitor take over once the body has reached its part. Returns the bytes that it has buffered.
    async fn take_over(&mut self, stream: &mut Stream, report: &mut Report) -> Option<Bytes> {
        let competitor = self.competitor.as_mut()?;
        if !competitor.wins || self.position < competitor.from {
            return None;
        }
        while let Some(mut bytes) = competitor.ahead.pop_front() {
            // This one may have come further meanwhile.
            let known = self.position - competitor.from;
            competitor.from += bytes.len() as u64;
            let known = usize::try_from(known).unwrap_or(usize::MAX);
            if known < bytes.len() {
                return Some(bytes.split_off(known));
            }
        }
        let part = competitor.wait_for_part().await;
        self.competitor = None;
        self.end = self.fetcher.length;
        *stream = match part {
            Some((stream, resumed)) => {
                self.fetcher.update_report(report, &resumed);
                stream
            }
            None => Stream::ended(),
        };
        self.monitor.settled(self.position);
        None
    }
}

impl Drop for ResumableBody {
    fn drop(&mut self) {
        self.report_end(Outcome::Cancelled);
    }
}

/// Counts the time of a wait, also of one that is given up.
struct Waiting<'a> {
    began: Instant,
    waited: &'a mut Duration,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        *self.waited += self.began.elapsed();
    }
}

/// Returns the error of a part that is shorter than the server said.
fn too_short() -> Error {
    Error::Failed {
        fault: Fault::Protocol,
        may_have_acted: true,
    }
}

fn transport(report: &Report) -> Transport {
    match report.protocol {
        Protocol::H3 => Transport::Quic,
        Protocol::H1 | Protocol::H2 => Transport::Tcp,
    }
}
