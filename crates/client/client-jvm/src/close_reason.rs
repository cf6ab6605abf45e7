//! The reason why the engine closes a socket.

use client::{Error, Fault, Phase};

/// The reason why the engine closes a socket: a code for the JVM, and a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CloseReason {
    pub(crate) kind: CloseKind,
    pub(crate) message: String,
}

/// The kind of a close. The numbers are those of `Native.java`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum CloseKind {
    /// No more requests, or a response that was cut off.
    EndOfStream = -1,
    /// The engine does not send this request. The app falls back to its own client.
    Unavailable = -10,
    /// No route led to the server, which cannot have acted. If the app's own client reaches it, the engine
    /// was at fault.
    NotSent = -11,
    /// The certificate was refused.
    Certificate = -12,
    /// No connection was opened in time.
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

impl CloseReason {
    pub(crate) fn new(kind: CloseKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }

    /// Adapts the reason to a request, which may be the first one on the socket or follow others.
    pub(crate) fn for_request(self, was_sent: bool, resends: bool) -> Self {
        match (self.kind, was_sent) {
            // The app's own client would send it again, which the app does not want.
            (CloseKind::NotSent | CloseKind::Unavailable | CloseKind::MalformedHead, true)
                if !resends =>
            {
                Self::new(CloseKind::Broken, self.message)
            }
            // It was the response before that was cut off.
            (CloseKind::EndOfStream, false) => Self::new(CloseKind::Unavailable, self.message),
            (CloseKind::Lost, true) => {
                let message = "the engine has ended; the server may have acted on the request";
                Self::new(CloseKind::Broken, message)
            }
            (CloseKind::Lost, false) => Self::new(CloseKind::Unavailable, "the engine has ended"),
            _ => self,
        }
    }

    /// Creates the reason of a response that was cut off.
    pub(crate) fn cut_off(message: impl Into<String>) -> Self {
        Self::new(CloseKind::EndOfStream, message)
    }
}

impl From<Error> for CloseReason {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::FallBack(_) | Error::Invalid(_) => CloseKind::Unavailable,
            Error::Ended => CloseKind::Lost,
            // Sockets limit only the wait for a connection, which may be the second one.
            Error::TimedOut(Phase::Connect | Phase::FirstByte) => CloseKind::ConnectTimedOut,
            Error::Failed {
                fault: Fault::Certificate,
                ..
            } => CloseKind::Certificate,
            // These say nothing against the engine.
            Error::Failed {
                fault: Fault::Offline | Fault::TooMany,
                may_have_acted: false,
            } => CloseKind::Unavailable,
            Error::Failed {
                may_have_acted: false,
                ..
            } => CloseKind::NotSent,
            Error::Failed {
                fault: Fault::Protocol | Fault::Malformed,
                ..
            } => CloseKind::Protocol,
            _ => CloseKind::Broken,
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
            CloseReason::from(Error::Failed {
                fault,
                may_have_acted,
            })
            .kind
        };
        assert_eq!(failed(Fault::Connect, false), CloseKind::NotSent);
        assert_eq!(failed(Fault::Reset, true), CloseKind::Broken);
        assert_eq!(failed(Fault::Protocol, true), CloseKind::Protocol);
        assert_eq!(failed(Fault::Malformed, true), CloseKind::Protocol);
        assert_eq!(failed(Fault::Protocol, false), CloseKind::NotSent);
        assert_eq!(failed(Fault::Certificate, false), CloseKind::Certificate);
    }

    #[test]
    fn a_request_that_the_engine_cannot_send_is_left_to_the_app() {
        let invalid = CloseReason::from(Error::Invalid("a header is not one".to_owned()));
        let expected = CloseReason::new(CloseKind::Unavailable, "a header is not one");
        assert_eq!(invalid, expected);
    }

    #[test]
    fn an_engine_without_a_network_or_room_is_not_at_fault() {
        for fault in [Fault::Offline, Fault::TooMany] {
            let failed = |may_have_acted| {
                CloseReason::from(Error::Failed {
                    fault,
                    may_have_acted,
                })
                .kind
            };
            assert_eq!(failed(false), CloseKind::Unavailable);
            assert_eq!(failed(true), CloseKind::Broken);
        }
    }

    #[test]
    fn a_request_that_was_sent_is_not_free_to_be_repeated_when_the_engine_is_lost() {
        for lost in [CloseReason::from(Error::Ended), CloseReason::default()] {
            assert_eq!(lost.clone().for_request(true, true).kind, CloseKind::Broken);
            assert_eq!(lost.for_request(false, true).kind, CloseKind::Unavailable);
        }
        let cut_off = CloseReason::cut_off("");
        assert_eq!(
            cut_off.clone().for_request(false, true).kind,
            CloseKind::Unavailable
        );
        assert_eq!(cut_off.clone().for_request(true, true), cut_off);
        let refused = CloseReason::new(CloseKind::Certificate, "");
        assert_eq!(refused.clone().for_request(true, true), refused);
    }

    #[test]
    fn an_app_that_wants_no_second_request_gets_the_failure_of_the_first() {
        for kind in [
            CloseKind::NotSent,
            CloseKind::Unavailable,
            CloseKind::MalformedHead,
        ] {
            let end = CloseReason::new(kind, "refused");
            assert_eq!(end.clone().for_request(true, false).kind, CloseKind::Broken);
            assert_eq!(end.clone().for_request(true, true).kind, kind);
            assert_eq!(end.for_request(false, false).kind, kind);
        }
    }
}
