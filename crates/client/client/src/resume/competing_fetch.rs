//! A competing fetch: a part of the body over the other transport, to compare the two. It takes over the rest of the
//! body if it is faster.

use std::collections::VecDeque;
use std::ops::Range;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use route::{MAX_AHEAD_BYTES, Policy, Transport};

use super::RangeFetcher;
use crate::error::Error;
use crate::report::Report;
use crate::response::Stream;

/// The fetch of a later part of the body over the other transport.
pub(super) struct CompetingFetch {
    pub(super) from: u64,
    /// The end of the range that it fetches.
    end: u64,
    pub(super) state: FetchState,
    pub(super) ahead: VecDeque<Bytes>,
    pub(super) ahead_bytes: u64,
    /// Whether it takes over at its first byte.
    pub(super) wins: bool,
}

/// The stream of a part of the body, and its report.
pub(super) type FetchedPart = (Stream, Report);

pub(super) enum FetchState {
    Requested(Pin<Box<dyn Future<Output = Result<FetchedPart, Error>> + Send>>),
    Streaming(Box<FetchedPart>),
    Ended,
}

impl CompetingFetch {
    pub(super) fn new(fetcher: RangeFetcher, part: Range<u64>, over: Transport) -> Self {
        let (from, end, fetcher) = (part.start, part.end, fetcher.without_learning());
        let request = async move {
            let origin = fetcher.outbound.origin.clone();
            if fetcher.mailbox.may_compare(origin, over).await {
                let response = fetcher.fetch(part, pinned(over.other())).await?;
                Ok(response.into_stream())
            } else {
                Err(Error::Invalid("not now".to_owned()))
            }
        };
        Self {
            from,
            end,
            state: FetchState::Requested(Box::pin(request)),
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            wins: false,
        }
    }

    /// Requests the bytes after the part, too, and takes over when the body has reached the part.
    pub(super) fn win(&mut self, fetcher: &RangeFetcher, over: Transport) {
        let part = self.from + self.ahead_bytes..fetcher.length;
        (self.wins, self.end) = (true, fetcher.length);
        let request = fetcher.fetch(part, pinned(over));
        self.state =
            FetchState::Requested(Box::pin(async move { Ok(request.await?.into_stream()) }));
    }

    pub(super) fn has_room(&self) -> bool {
        self.ahead_bytes < MAX_AHEAD_BYTES && !matches!(self.state, FetchState::Ended)
    }

    /// Returns how long the received bytes took. The time runs from their first byte, also while nobody read, and
    /// is at least what that byte took on an open connection. Bytes held back by a loss come at once, and late.
    pub(super) fn took(&self) -> Duration {
        let FetchState::Streaming(part) = &self.state else {
            return Duration::MAX;
        };
        let report = &part.1;
        let at = |ns: Option<u64>| ns.map_or(Duration::ZERO, Duration::from_nanos);
        let first = at(report.phases.first_byte_ns);
        let response_time = first.saturating_sub(at(report.phases.request_sent_ns));
        report
            .asked
            .elapsed()
            .saturating_sub(first)
            .max(response_time)
    }

    /// Keeps a piece until the competitor takes over, up to the end of its part. Returns the number of bytes that were
    /// kept.
    pub(super) fn keep(&mut self, mut bytes: Bytes) -> u64 {
        let room = self.end.saturating_sub(self.from + self.ahead_bytes);
        if bytes.len() as u64 > room {
            self.state = FetchState::Ended;
            bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        }
        let kept = bytes.len() as u64;
        self.ahead_bytes += kept;
        self.ahead.push_back(bytes);
        kept
    }

    /// Waits for the part and returns it; nothing if it has ended. A waiter may stop and wait again.
    pub(super) async fn wait_for_part(&mut self) -> Option<FetchedPart> {
        if let FetchState::Requested(request) = &mut self.state {
            let answer = request.await;
            self.state = answer.map_or(FetchState::Ended, |part| {
                FetchState::Streaming(Box::new(part))
            });
        }
        match std::mem::replace(&mut self.state, FetchState::Ended) {
            FetchState::Streaming(part) => Some(*part),
            FetchState::Requested(_) | FetchState::Ended => None,
        }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if let FetchState::Requested(request) = &mut self.state {
            self.state = FetchState::Streaming(Box::new(request.await?));
        }
        match &mut self.state {
            FetchState::Streaming(part) => part.0.next().await,
            FetchState::Requested(_) | FetchState::Ended => Ok(None),
        }
    }
}

pub(super) fn pinned(over: Transport) -> Policy {
    match over {
        Transport::Quic => Policy::H3,
        Transport::Tcp => Policy::H2,
    }
}
