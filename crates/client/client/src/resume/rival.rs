//! A part of the body over the other transport, to compare the two, and the rest after it if that takes over.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use route::{MAX_AHEAD_BYTES, Policy, Transport};

use super::Rest;
use crate::error::Error;
use crate::report::Report;
use crate::response::Stream;

/// A later part of the body, over the other transport.
pub(super) struct Rival {
    pub(super) from: u64,
    /// Where what it brings ends.
    end: u64,
    pub(super) state: RivalState,
    pub(super) ahead: VecDeque<Bytes>,
    pub(super) ahead_bytes: u64,
    /// Whether it takes over at its first byte.
    pub(super) wins: bool,
}

/// A part of the body as it comes, and how.
pub(super) type Part = (Stream, Report);

pub(super) enum RivalState {
    Asked(Pin<Box<dyn Future<Output = Result<Part, Error>> + Send>>),
    Comes(Box<Part>),
    Ended,
}

impl Rival {
    pub(super) fn new(rest: Rest, part: Range<u64>, over: Transport) -> Self {
        let (from, end, rest) = (part.start, part.end, rest.untaught());
        let asked = async move {
            let origin = rest.outbound.origin.clone();
            if rest.mailbox.may_compare(origin, over).await {
                let response = rest.ask(part, pinned(over.other())).await?;
                Ok(response.into_stream())
            } else {
                Err(Error::Invalid("not now".to_owned()))
            }
        };
        Self {
            from,
            end,
            state: RivalState::Asked(Box::pin(asked)),
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            wins: false,
        }
    }

    /// Requests the bytes after the part, too, and takes over when the body has reached the part.
    pub(super) fn win(&mut self, rest: &Rest, over: Transport) {
        let part = self.from + self.ahead_bytes..rest.length;
        (self.wins, self.end) = (true, rest.length);
        let asked = rest.ask(part, pinned(over));
        self.state = RivalState::Asked(Box::pin(async move { Ok(asked.await?.into_stream()) }));
    }

    pub(super) fn has_room(&self) -> bool {
        self.ahead_bytes < MAX_AHEAD_BYTES && !matches!(self.state, RivalState::Ended)
    }

    /// Returns how long the bytes that have come took. The time runs from their first byte, also while nobody read, and
    /// is at least what that byte took on an open connection. Bytes held back by a loss come at once, and late.
    pub(super) fn took(&self) -> Duration {
        let RivalState::Comes(coming) = &self.state else {
            return Duration::MAX;
        };
        let report = &coming.1;
        let at = |ns: Option<u64>| ns.map_or(Duration::ZERO, Duration::from_nanos);
        let first = at(report.phases.first_byte_ns);
        let asked = first.saturating_sub(at(report.phases.request_sent_ns));
        report.asked.elapsed().saturating_sub(first).max(asked)
    }

    /// Keeps a piece until the rival takes over, up to the end of its part. Returns how many bytes of the piece were
    /// kept.
    pub(super) fn keep(&mut self, mut bytes: Bytes) -> u64 {
        let room = self.end.saturating_sub(self.from + self.ahead_bytes);
        if bytes.len() as u64 > room {
            self.state = RivalState::Ended;
            bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        }
        let kept = bytes.len() as u64;
        self.ahead_bytes += kept;
        self.ahead.push_back(bytes);
        kept
    }

    /// Waits for the part and returns it; nothing if it has ended. A waiter may stop and wait again.
    pub(super) async fn coming(&mut self) -> Option<Part> {
        if let RivalState::Asked(asked) = &mut self.state {
            let answer = asked.await;
            self.state = answer.map_or(RivalState::Ended, |part| RivalState::Comes(Box::new(part)));
        }
        match std::mem::replace(&mut self.state, RivalState::Ended) {
            RivalState::Comes(coming) => Some(*coming),
            RivalState::Asked(_) | RivalState::Ended => None,
        }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if let RivalState::Asked(asked) = &mut self.state {
            self.state = RivalState::Comes(Box::new(asked.await?));
        }
        match &mut self.state {
            RivalState::Comes(coming) => coming.0.next().await,
            RivalState::Asked(_) | RivalState::Ended => Ok(None),
        }
    }
}

pub(super) fn pinned(over: Transport) -> Policy {
    match over {
        Transport::Quic => Policy::H3,
        Transport::Tcp => Policy::H2,
    }
}
