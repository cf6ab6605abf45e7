//! Resumed bodies: the rest of a body, requested on another connection (RFC 9110 section 14). The first connection
//! broke or fell silent, or the other transport may be faster.

mod rest;
mod rival;

use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use route::{Advice, Fault, Policy, Protocol, RateMonitor, Transport};

use tokio::sync::oneshot;

use crate::download::may_have_changed;
use crate::error::Error;
use crate::limits::Phase;
use crate::message::Message;
use crate::metrics::Outcome;
use crate::report::Report;
use crate::response::{Response, Stream};
use rival::{Rival, RivalState, pinned};

pub(crate) use rest::{Rest, coding_of, resumable};

/// How often in a row the rest is asked for at most without getting much of it.
const MAX_VAIN: u32 = 3;
/// A part that breaks off before this many bytes was asked for in vain.
const MIN_PROGRESS_BYTES: u64 = 64 << 10;

/// A body that can be resumed, in its order. Its reader may stop waiting at any moment, so state that must outlive a
/// wait is kept here.
pub(crate) struct Resuming {
    rest: Rest,
    /// The first byte that was asked for.
    began_at: u64,
    position: u64,
    /// Where the part that comes now ends; a server may send less or more of it than it said.
    end: u64,
    pace: RateMonitor,
    rival: Option<Rival>,
    /// Since the last report to the pace, in waits that are over.
    waited: Duration,
    /// The rest is being asked for, because the body broke off.
    asking: Option<Asking>,
    /// A piece that has come; a reader that stops waiting for it must get it the next time.
    held: Option<Bytes>,
    /// Ends a wait, so that a body without progress is noticed.
    tick: Option<oneshot::Receiver<()>>,
    /// How often in a row the rest was asked for without getting much of it.
    vain: u32,
    /// Where the part that comes now began.
    from: u64,
    has_told_end: bool,
}

struct Asking {
    /// Why the body broke off.
    error: Error,
    answer: Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>,
}

/// What came first.
enum Came {
    This(Result<Option<Bytes>, Error>),
    Other(Result<Option<Bytes>, Error>),
    /// For a while.
    Nothing,
}

impl Resuming {
    pub(crate) fn new(rest: Rest, position: u64) -> Self {
        let (pace, end) = (RateMonitor::new(rest.length, position), rest.length);
        let vain = if rest.outbound.traits.resends {
            0
        } else {
            MAX_VAIN
        };
        Self {
            rest,
            began_at: position,
            position,
            end,
            pace,
            rival: None,
            waited: Duration::ZERO,
            asking: None,
            held: None,
            tick: None,
            vain,
            from: position,
            has_told_end: false,
        }
    }

    /// Returns what identifies another answer as one of the same body.
    pub(crate) fn of_what(&self) -> &Rest {
        &self.rest
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
            Ok(None) => self.tell_end(Outcome::Done),
            Err(error) => self.tell_end(Outcome::of(error)),
        }
        next
    }

    /// Reports the end of the response, once.
    fn tell_end(&mut self, outcome: Outcome) {
        if std::mem::replace(&mut self.has_told_end, true) {
            return;
        }
        self.rest.tell_end(self.position - self.began_at, outcome);
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
            if let Some(asking) = &mut self.asking {
                let answer = asking.answer.as_mut().await;
                if let Some(rest) = self.answered(answer, report)? {
                    *stream = rest;
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
                Came::This(Ok(Some(bytes))) => {
                    let bytes = self.up_to_end(bytes, stream);
                    self.position += bytes.len() as u64;
                    let advice = self.pace.received(bytes.len() as u64, waited);
                    self.held = (!bytes.is_empty()).then_some(bytes);
                    self.follow(advice, stream, report).await;
                }
                Came::Nothing => {
                    self.tick = None;
                    let advice = self.pace.received(0, waited);
                    self.follow(advice, stream, report).await;
                }
                Came::This(Ok(None)) if self.position == self.rest.length => return Ok(None),
                Came::This(Ok(None)) => self.broke_off(too_short(), report)?,
                Came::This(Err(error)) => self.broke_off(error, report)?,
                Came::Other(Ok(Some(bytes))) => {
                    let Some(rival) = &mut self.rival else {
                        continue;
                    };
                    let (kept, took) = (rival.keep(bytes), rival.took());
                    let advice = self.pace.other_received(kept, waited, took);
                    self.follow(advice, stream, report).await;
                }
                Came::Other(Ok(None)) => {
                    if let Some(rival) = &mut self.rival {
                        rival.state = RivalState::Ended;
                    }
                }
                Came::Other(Err(_)) => self.stay(),
            }
        }
    }

    /// Waits for either way. The rival first: it stops when its room is full.
    async fn wait(&mut self, stream: &mut Stream) -> Came {
        if self.tick.is_none() && self.pace.is_watching() {
            self.tick = Some(self.rest.mailbox.after(RateMonitor::WINDOW));
        }
        let mut rival = self.rival.as_mut().filter(|rival| rival.has_room());
        let mut other = pin!(async {
            match &mut rival {
                Some(rival) => rival.next().await,
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
                return Poll::Ready(Came::Other(came));
            }
            if let Poll::Ready(came) = this.as_mut().poll(context) {
                return Poll::Ready(Came::This(came));
            }
            match tick.as_mut().map(|tick| Pin::new(tick).poll(context)) {
                Some(Poll::Ready(_)) => Poll::Ready(Came::Nothing),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// Requests the rest: first over TCP if the body broke off over HTTP/3, which might break off again.
    fn broke_off(&mut self, error: Error, report: &Report) -> Result<(), Error> {
        self.stay();
        let progresses = self.position >= self.from + MIN_PROGRESS_BYTES;
        if progresses && self.rest.outbound.traits.resends {
            self.vain = 0;
        }
        let policy = match (self.rest.outbound.traits.policy, transport(report)) {
            (Policy::Adaptive | Policy::Race, Transport::Quic) => Policy::H2,
            (policy, _) => policy,
        };
        self.ask_again(error, policy)
    }

    /// Requests the rest where the body broke off, unless that was in vain too often.
    fn ask_again(&mut self, error: Error, policy: Policy) -> Result<(), Error> {
        // A malformed body is not requested again, and a complete one has no rest.
        let broke = matches!(error, Error::Failed { fault, .. } if fault != Fault::Malformed);
        if !broke || self.vain >= MAX_VAIN || self.position == self.rest.length {
            return Err(error);
        }
        self.vain += 1;
        self.from = self.position;
        let part = self.position..self.rest.length;
        let answer = Box::pin(self.rest.ask(part, policy));
        self.asking = Some(Asking { error, answer });
        Ok(())
    }

    /// Continues with the rest, or requests it once more.
    fn answered(
        &mut self,
        answer: Result<Response, Error>,
        report: &mut Report,
    ) -> Result<Option<Stream>, Error> {
        let Some(asking) = self.asking.take() else {
            return Ok(None);
        };
        match answer {
            Ok(response) => {
                let (stream, resumed) = response.into_stream();
                self.rest.note(report, &resumed);
                Ok(Some(stream))
            }
            // To whoever reads, this was a wait for the next piece.
            Err(Error::TimedOut(Phase::FirstByte)) => Err(Error::TimedOut(Phase::Idle)),
            Err(late @ Error::TimedOut(_)) => Err(late),
            Err(Error::Refused(status)) if may_have_changed(status) => Err(asking.error),
            // No reason to ask again.
            Err(
                malformed @ Error::Failed {
                    fault: Fault::Malformed,
                    ..
                },
            ) => Err(malformed),
            Err(_) => {
                let policy = self.rest.outbound.traits.policy;
                self.ask_again(asking.error, policy).map(|()| None)
            }
        }
    }

    async fn follow(&mut self, advice: Advice, stream: &mut Stream, report: &mut Report) {
        let traits = self.rest.outbound.traits;
        match advice {
            Advice::Continue => {}
            // A request that is pinned to a transport is not sent over the other one, one that is not to be sent again is
            // not, and nothing is learnt from one that is urgent.
            Advice::Compare { .. }
                if traits.policy != Policy::Adaptive || traits.urgent || !traits.resends => {}
            // One that has won brings the rest.
            Advice::Compare { .. } if self.rival.is_some() => {}
            Advice::Compare { from, bytes } => {
                let part = from..from + bytes;
                self.rival = Some(Rival::new(self.rest.clone(), part, transport(report)));
                self.pace.comparing(from, bytes);
            }
            Advice::Switch { ratio } => self.switch(ratio, stream, report).await,
            Advice::Stay => self.stay(),
        }
    }

    /// Takes the body from the rival's transport from now on. The bytes before the rival's first one are requested
    /// there, too, because this transport may need long for them.
    async fn switch(&mut self, ratio: f64, stream: &mut Stream, report: &mut Report) {
        let Some(rival) = &mut self.rival else {
            return;
        };
        self.end = rival.from;
        self.pace.settled(self.position);
        let faster = transport(report).other();
        rival.win(&self.rest, faster);
        let (origin, mailbox) = (self.rest.outbound.origin.clone(), &self.rest.mailbox);
        mailbox.tell(Message::Compared(origin, faster, ratio));
        if self.position < rival.from {
            let gap = self.position..rival.from;
            let filling = self.rest.clone().untaught().ask(gap, pinned(faster));
            if let Ok(filling) = filling.await {
                (*stream, _) = filling.into_stream();
            }
        }
    }

    fn stay(&mut self) {
        self.rival = None;
        self.end = self.rest.length;
        self.pace.settled(self.position);
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

    /// Lets the rival take over if its time has come; returns what it has already brought.
    async fn take_over(&mut self, stream: &mut Stream, report: &mut Report) -> Option<Bytes> {
        let rival = self.rival.as_mut()?;
        if !rival.wins || self.position < rival.from {
            return None;
        }
        while let Some(mut bytes) = rival.ahead.pop_front() {
            // This one may have come further meanwhile.
            let known = self.position - rival.from;
            rival.from += bytes.len() as u64;
            let known = usize::try_from(known).unwrap_or(usize::MAX);
            if known < bytes.len() {
                return Some(bytes.split_off(known));
            }
        }
        let coming = rival.coming().await;
        self.rival = None;
        self.end = self.rest.length;
        *stream = match coming {
            Some((stream, resumed)) => {
                self.rest.note(report, &resumed);
                stream
            }
            None => Stream::ended(),
        };
        self.pace.settled(self.position);
        None
    }
}

impl Drop for Resuming {
    fn drop(&mut self) {
        self.tell_end(Outcome::Cancelled);
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
