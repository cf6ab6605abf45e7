//! The same body over the other transport, to compare the two and perhaps to take over.

use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;
use route::{MAX_AHEAD_BYTES, Policy, Transport};

use super::Rest;
use crate::error::Error;
use crate::report::Report;
use crate::response::Stream;

/// The same body from a later byte on, over the other transport.
pub(super) struct Rival {
    pub(super) from: u64,
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
    pub(super) fn new(rest: Rest, from: u64, over: Transport) -> Self {
        let asked = async move {
            let origin = rest.outbound.origin.clone();
            if rest.mailbox.may_compare(origin, over).await {
                let part = from..rest.length;
                let response = rest.ask(part, pinned(over.other())).await?;
                Ok(response.into_stream())
            } else {
                Err(Error::Invalid("not now".to_owned()))
            }
        };
        Self {
            from,
            state: RivalState::Asked(Box::pin(asked)),
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            wins: false,
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.ahead_bytes < MAX_AHEAD_BYTES && !matches!(self.state, RivalState::Ended)
    }

    /// Keeps a piece until it takes over, up to the end of the body.
    pub(super) fn keep(&mut self, mut bytes: Bytes, length: u64) {
        let room = length.saturating_sub(self.from + self.ahead_bytes);
        if bytes.len() as u64 > room {
            self.state = RivalState::Ended;
            bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        }
        self.ahead_bytes += bytes.len() as u64;
        self.ahead.push_back(bytes);
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
