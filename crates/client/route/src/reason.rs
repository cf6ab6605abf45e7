//! The reason for a request's route, as a code with numbers and in words.

use std::fmt;
use std::time::Duration;

use crate::event::Transport;
use crate::learn::ComparisonClass;

/// The reason for a route. The codes are stable; the sentences may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reason {
    /// It waits for a connection.
    Opening,
    /// The only connection that is open.
    OnlyOpen(Transport),
    /// The app's policy leaves no choice.
    Pinned(Transport),
    /// HTTP/3 is not known to be offered.
    NotOffered,
    /// HTTP/3 failed here while TCP worked.
    Broken {
        /// As often in a row.
        times: u8,
        /// Time until it is tried again.
        retry_in: Duration,
    },
    /// No UDP packet ever came back on this network while TCP worked.
    UdpSilent,
    /// HTTP/3 is switched off for this installation.
    SwitchedOff,
    /// Learnt: this transport is faster here.
    Faster {
        /// Which.
        over: Transport,
        /// For what.
        class: ComparisonClass,
        /// Least ratio of times, with 95 % confidence.
        low: f64,
        /// Greatest ratio of times.
        high: f64,
        /// Requests that it was learnt from, by HTTP/3 and by TCP.
        counts: [u32; 2],
    },
    /// Learnt: it does not matter.
    NoDifference {
        /// The one taken.
        over: Transport,
        /// For what.
        class: ComparisonClass,
    },
    /// Not known yet; both are open.
    CannotTell(Transport),
    /// To learn.
    Exploring(Transport),
    /// The connection in use fell silent, and this one answers.
    Hedge(Transport),
    /// The request failed over the other transport.
    SecondTry(Transport),
    /// The engine is switched off.
    EngineOff,
    /// The circuit breaker is open: requests failed in the engine and succeeded without it.
    Tripped,
}

impl Reason {
    /// Returns the stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::OnlyOpen(_) => "only_open",
            Self::Pinned(_) => "pinned",
            Self::NotOffered => "not_offered",
            Self::Broken { .. } => "broken",
            Self::UdpSilent => "udp_silent",
            Self::SwitchedOff => "switched_off",
            Self::Faster { .. } => "faster",
            Self::NoDifference { .. } => "no_difference",
            Self::CannotTell(_) => "cannot_tell",
            Self::Exploring(_) => "exploring",
            Self::Hedge(_) => "hedge",
            Self::SecondTry(_) => "second_try",
            Self::EngineOff => "engine_off",
            Self::Tripped => "tripped",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Opening => f.write_str("waits for a connection"),
            Self::OnlyOpen(over) => write!(f, "{over}: the connection that is open"),
            Self::Pinned(over) => write!(f, "{over}: the policy that was set"),
            Self::NotOffered => f.write_str("HTTP/2: HTTP/3 is not known to be offered"),
            Self::Broken { times, retry_in } => write!(
                f,
                "HTTP/2: HTTP/3 failed here where HTTP/2 worked (backoff {times}); next try in {} s",
                retry_in.as_secs()
            ),
            Self::UdpSilent => f.write_str("HTTP/2: UDP has no answers on this network"),
            Self::SwitchedOff => {
                f.write_str("HTTP/2: HTTP/3 is switched off for this installation")
            }
            Self::Faster {
                over,
                class,
                low,
                high,
                counts: [quic, tcp],
            } => write!(
                f,
                "{over}: faster here for {class}, {low:.2} to {high:.2} times \
                 ({quic} requests by HTTP/3, {tcp} by HTTP/2)"
            ),
            Self::NoDifference { over, class } => {
                write!(f, "{over}: no difference here for {class}")
            }
            Self::CannotTell(over) => write!(f, "{over}: cannot tell yet which is faster"),
            Self::Exploring(over) => write!(f, "{over}: to learn which is faster"),
            Self::Hedge(over) => write!(f, "{over}: the other connection fell silent"),
            Self::SecondTry(over) => {
                write!(f, "{over}: the request failed over {}", over.other())
            }
            Self::EngineOff => f.write_str("the engine is switched off"),
            Self::Tripped => {
                f.write_str("the engine turned itself off: what failed here worked without it")
            }
        }
    }
}
