//! Time limits of a request.

use std::fmt;
use std::time::Duration;

/// The phase that took longer than a request allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// To find or open a connection.
    Connect,
    /// To get the head of the response, with what came before.
    FirstByte,
    /// To get the next piece of the body.
    Idle,
    /// All of it.
    Whole,
}

/// The limits of a request; none where nothing is set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    pub(crate) connect: Option<Duration>,
    pub(crate) first_byte: Option<Duration>,
    pub(crate) idle: Option<Duration>,
    pub(crate) whole: Option<Duration>,
}

impl Limits {
    /// Returns the limits that end at a certain time after the request was made.
    pub(crate) fn timed(&self) -> impl Iterator<Item = (Phase, Duration)> + use<> {
        let limits = [
            (Phase::FirstByte, self.first_byte),
            (Phase::Whole, self.whole),
        ];
        limits
            .into_iter()
            .filter_map(|(phase, limit)| Some((phase, limit?)))
    }

    /// Returns the limits of a request for the rest of a body. Its reader waits for the next piece while the engine
    /// waits for its head, so the idle limit applies to both.
    pub(crate) fn of_rest(&self, left: Option<Duration>) -> Self {
        Self {
            connect: None,
            first_byte: self.idle,
            idle: self.idle,
            whole: left,
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "no connection",
            Self::FirstByte => "no response",
            Self::Idle => "no more of the response",
            Self::Whole => "no complete response",
        })
    }
}
