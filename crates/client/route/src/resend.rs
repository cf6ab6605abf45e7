//! Resending of failed requests, where that does no harm and may help.

use crate::command::Command;
use crate::conn::{ConnState, Copy};
use crate::event::{CallId, ConnId, Fault, NetworkId, Origin, Policy, Protocol, Replay, Transport};
use crate::router::Router;

/// A request that its peer did not take is sent again so often while its origin answers nothing else. As long as it
/// answers others there is no limit.
const MAX_REFUSALS: u8 = 3;
/// A request on which the peer may have acted is sent again so often, if acting twice does no harm.
pub(crate) const MAX_RETRIES: u8 = 2;

impl Router {
    pub(crate) fn on_failed(&mut self, id: CallId, conn_id: ConnId, fault: Fault, replay: Replay) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let Some(index) = call.copies.iter().position(|copy| copy.conn == conn_id) else {
            return;
        };
        let Copy {
            over,
            network,
            cut_off,
            ..
        } = call.copies.remove(index);
        if replay != Replay::MayHaveActed
            && let Some(conn) = self.conns.get_mut(&conn_id)
        {
            conn.sent = conn.sent.saturating_sub(1);
        }
        call.may_have_acted |= replay == Replay::MayHaveActed;
        let (origin, alone) = (call.origin.clone(), call.copies.is_empty());
        let refusals = self.count_refusal(id, network);
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let safe = !call.may_have_acted && refusals <= MAX_REFUSALS;
        let harmless = call.may_have_acted && call.ask.replayable && call.retries < MAX_RETRIES;
        let is_kept = replay != Replay::BodyGone;
        let may = is_kept
            && call.ask.resends
            && !call.delivered
            && !is_final(fault, over, call.ask.policy);
        let again = alone && may && (safe || harmless);
        // That a connection takes no more requests says nothing against HTTP/3; that another one does not, either, does.
        let is_blamed = match replay {
            Replay::MayHaveActed => !cut_off,
            Replay::Safe | Replay::BodyGone => refusals > 1,
        };
        let blames_quic = over == Transport::Quic
            && !matches!(fault, Fault::HeadTooLarge | Fault::Http11Required)
            && is_blamed;
        // A request that is cut off again may be the reason.
        let leaves_quic =
            blames_quic || cut_off && call.retries > 0 || fault == Fault::HeadTooLarge;
        if again {
            if !safe {
                call.retries += 1;
            }
            call.ask.policy = match (fault, call.ask.policy) {
                (Fault::Http11Required, Policy::Adaptive | Policy::Race | Policy::H2) => Policy::H1,
                // The same way would likely fail the same way.
                (_, before @ (Policy::Adaptive | Policy::Race)) if leaves_quic => {
                    call.before = (fault != Fault::HeadTooLarge).then_some(before);
                    call.left_quic = blames_quic.then_some(network);
                    Policy::H2
                }
                (_, policy) => policy,
            };
        }
        let ask = call.ask;
        let teaches = std::mem::replace(&mut call.teaches, false);
        if let Some(conn) = self.conns.get_mut(&conn_id)
            && conn.state == ConnState::Ready(Protocol::H1)
        {
            conn.state = ConnState::Draining;
        }
        if fault == Fault::Http11Required && over == Transport::Tcp {
            self.require_http1(&origin, network);
        }
        if blames_quic {
            self.quic_failed(&origin, network);
        }
        if teaches && (blames_quic || !again && !cut_off) {
            self.learn_failure(&origin, &ask, over);
        }
        self.left(id, conn_id);
        if again {
            self.place(id);
        } else if alone {
            self.fail(id, fault);
        }
    }

    /// Lets a request that failed over HTTP/3 go there again because TCP cannot be opened, if its app allows that.
    /// Returns whether it does.
    pub(crate) fn returns_to_quic(&mut self, id: CallId) -> bool {
        let call = self.calls.get_mut(&id);
        let Some((before, call)) = call.and_then(|call| Some((call.before.take()?, call))) else {
            return false;
        };
        (call.ask.policy, call.left_quic) = (before, None);
        true
    }

    /// Counts the failures of a request since its origin last answered anything. Returns their number.
    fn count_refusal(&mut self, id: CallId, network: NetworkId) -> u8 {
        let Some(call) = self.calls.get_mut(&id) else {
            return 0;
        };
        let digest = self.book.digest(&call.origin);
        let answers = self.book.row(network, digest, self.now).answers;
        if answers != call.answers_seen {
            (call.answers_seen, call.refusals) = (answers, 0);
        }
        call.refusals = call.refusals.saturating_add(1);
        call.refusals
    }

    /// Records that the origin takes requests over HTTP/1.1 only. Its connections over HTTP/2 take no more.
    fn require_http1(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.book.digest(origin));
        self.book.row(network, digest, now).http1 = true;
        for conn in self.conns.values_mut() {
            if conn.origin == *origin && conn.state == ConnState::Ready(Protocol::H2) {
                conn.state = ConnState::Draining;
            }
        }
    }

    /// Reports whether the origin takes requests over HTTP/1.1 only, as far as is known.
    pub(crate) fn requires_http1(&self, origin: &Origin) -> bool {
        let digest = self.book.digest(origin);
        let row = self
            .network_id()
            .and_then(|network| self.book.rows.get(&(network, digest)));
        row.is_some_and(|row| row.http1)
    }

    /// Handles a response over HTTP/3 from a peer that is not one for this origin (421). The offer of HTTP/3 is
    /// withdrawn (RFC 7838 section 6), and the request goes over TCP, whatever its method (RFC 9110 section 15.5.20).
    /// Returns false if the app gets the response.
    pub(crate) fn on_misdirected(&mut self, id: CallId, conn_id: ConnId, kept: bool) -> bool {
        let Some(call) = self.calls.get_mut(&id) else {
            return false;
        };
        let copy = call.copies.iter().find(|copy| copy.conn == conn_id);
        let Some(&Copy {
            over: Transport::Quic,
            network,
            ..
        }) = copy
        else {
            return false;
        };
        let may = kept && !call.delivered && call.ask.resends;
        let again = may && matches!(call.ask.policy, Policy::Adaptive | Policy::Race);
        let origin = call.origin.clone();
        let mut alone = false;
        if again {
            call.copies.retain(|copy| copy.conn != conn_id);
            (call.ask.policy, call.teaches) = (Policy::H2, false);
            alone = call.copies.is_empty();
        }
        self.withdraw_quic(&origin, network);
        if again {
            self.order(Command::Withdraw {
                call: id,
                conn: conn_id,
            });
            self.left(id, conn_id);
        }
        if alone {
            self.place(id);
        }
        again
    }

    /// Takes the requests off a connection that is closed for no fault of its own. Those that may be sent again
    /// are returned, and placed once it is closed; others fail.
    pub(crate) fn take_off(&mut self, conn_id: ConnId) -> Vec<CallId> {
        let calls = self.conns.get(&conn_id).map(|conn| conn.calls.clone());
        let mut again = Vec::new();
        for id in calls.unwrap_or_default() {
            let Some(call) = self.calls.get_mut(&id) else {
                continue;
            };
            call.copies.retain(|copy| copy.conn != conn_id);
            (call.may_have_acted, call.teaches) = (true, false);
            let alone = call.copies.is_empty();
            let harmless = call.ask.replayable && call.ask.resends && call.retries < MAX_RETRIES;
            let may = !call.delivered && harmless;
            if alone && !may {
                self.left(id, conn_id);
                self.fail(id, Fault::Reset);
                continue;
            }
            if alone {
                call.retries += 1;
                again.push(id);
            }
            self.order(Command::Withdraw {
                call: id,
                conn: conn_id,
            });
            self.left(id, conn_id);
        }
        again
    }
}

/// Reports whether the same request would fail the same way, or must not be sent again.
fn is_final(fault: Fault, over: Transport, policy: Policy) -> bool {
    match fault {
        Fault::Certificate | Fault::Malformed => true,
        // The policy rules out the other way.
        Fault::HeadTooLarge | Fault::Http11Required if policy == Policy::H3 => true,
        // Who broke the protocol over TCP will do so again.
        Fault::Protocol | Fault::HeadTooLarge => over == Transport::Tcp,
        _ => false,
    }
}
