//! Reasons why the engine ends a socket.

use client::{Error, Fault, Phase};

/// How the engine ends a socket, and why in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) kind: Kind,
    pub(crate) why: String,
}

/// What the end means to the reader or writer. The numbers are those of `Native.java`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Kind {
    /// No more requests, or a response that was cut off.
    EndOfStream = -1,
    /// The engine does not do this request. The app's own client may.
    Unavailable = -10,
    /// No route led to the server, which cannot have acted. If the app's own client gets there, the engine
    /// was at fault.
    NotSent = -11,
    /// The certificate was refused.
    Certificate = -12,
    /// No connection was there in time.
    ConnectTimedOut = -13,
    /// The request failed and the server may have acted.
    Broken = -14,
    /// The server broke the protocol.
    Protocol = -16,
    /// The head of a response over HTTP/1.1 is malformed for the engine. The server may have acted.
    MalformedHead = -17,
    /// The engine has ended, or has dropped the request. What that means depends on whether the request had been sent.
    #[default]
    Lost = -15,
}

impl End {
    pub(crate) fn new(kind: Kind, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { kind, why }
    }

    /// Decides what an end means for a request, which may be the first one or one that follows others.
    pub(crate) fn known(self, was_sent: bool, resends: bool) -> Self {
        match (self.kind, was_sent) {
            // The app's own client would send it again, which the app does not want.
            (Kind::NotSent | Kind::Unavailable | Kind::MalformedHead, true) if !resends => {
                Self::new(Kind::Broken, self.why)
            }
            // It was the response before that was cut off.
            (Kind::EndOfStream, false) => Self::new(Kind::Unavailable, self.why),
            (Kind::Lost, true) => {
                let why = "the engine has ended; the server may have acted on the request";
                Self::new(Kind::Broken, why)
            }
            (Kind::Lost, false) => Self::new(Kind::Unavailable, "the engine has ended"),
            _ => self,
        }
    }

    /// Creates the end of a socket whose response was cut off.
    pub(crate) fn cut_off(why: impl Into<String>) -> Self {
        Self::new(Kind::EndOfStream, why)
    }
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::FallBack(_) | Error::Invalid(_) => Kind::Unavailable,
            Error::Ended => Kind::Lost,
            // Sockets limit only the wait for a connection, which may be the second one.
            Error::TimedOut(Phase::Connect | Phase::FirstByte) => Kind::ConnectTimedOut,
            Error::Failed {
                fault: Fault::Certificate,
                ..
            } => Kind::Certificate,
            // These say nothing against the engine.
            Error::Failed {
                fault: Fault::Offline | Fault::TooMany,
                may_have_acted: false,
            } => Kind::Unavailable,
            Error::Failed {
                may_have_acted: false,
                ..
            } => Kind::NotSent,
            Error::Failed {
                fault: Fault::Protocol | Fault::Malformed,
                ..
            } => Kind::Protocol,
            _ => Kind::Broken,
        };
        Self::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_means_depends_on_whether_the_server_may_have_acted() {
        let failed = |fault, may_have_acted| {
            End::from(Error::Failed {
                fault,
                may_have_acted,
            })
            .kind
        };
        assert_eq!(failed(Fault::Connect, false), Kind::NotSent);
        assert_eq!(failed(Fault::Reset, true), Kind::Broken);
        assert_eq!(failed(Fault::Protocol, true), Kind::Protocol);
        assert_eq!(failed(Fault::Malformed, true), Kind::Protocol);
        assert_eq!(failed(Fault::Protocol, false), Kind::NotSent);
        assert_eq!(failed(Fault::Certificate, false), Kind::Certificate);
    }

    #[test]
    fn an_engine_without_a_network_or_room_is_not_at_fault() {
        for fault in [Fault::Offline, Fault::TooMany] {
            let failed = |may_have_acted| {
                End::from(Error::Failed {
                    fault,
                    may_have_acted,
                })
                .kind
            };
            assert_eq!(failed(false), Kind::Unavailable);
            assert_eq!(failed(true), Kind::Broken);
        }
    }

    #[test]
    fn a_request_that_was_sent_is_not_free_to_be_repeated_when_the_engine_is_lost() {
        for lost in [End::from(Error::Ended), End::default()] {
            assert_eq!(lost.clone().known(true, true).kind, Kind::Broken);
            assert_eq!(lost.known(false, true).kind, Kind::Unavailable);
        }
        let cut_off = End::cut_off("");
        assert_eq!(cut_off.clone().known(false, true).kind, Kind::Unavailable);
        assert_eq!(cut_off.clone().known(true, true), cut_off);
        let refused = End::new(Kind::Certificate, "");
        assert_eq!(refused.clone().known(true, true), refused);
    }

    #[test]
    fn an_app_that_wants_no_second_request_gets_the_failure_of_the_first() {
        for kind in [Kind::NotSent, Kind::Unavailable, Kind::MalformedHead] {
            let end = End::new(kind, "refused");
            assert_eq!(end.clone().known(true, false).kind, Kind::Broken);
            assert_eq!(end.clone().known(true, true).kind, kind);
            assert_eq!(end.known(false, false).kind, kind);
        }
    }
}
