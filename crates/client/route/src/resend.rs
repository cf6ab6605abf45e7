//! Resending of failed requests, where that does no harm and may help.

use crate::command::Command;
use crate::conn::{ConnState, RequestCopy};
use crate::event::{CallId, ConnId, Fault, NetworkId, Origin, Policy, Protocol, Replay, Transport};
use crate::router::Router;

/// How often a request that its peer did not take is sent again while its origin answers nothing else. There is no
/// limit as long as the origin answers others.
const MAX_REFUSALS: u8 = 3;
/// How often a request on which the peer may have acted is sent again, if acting twice does no harm.
pub(crate) const MAX_RETRIES: u8 = 2;

impl Router {
    pub(crate) fn on_failed(&mut self, id: CallId, conn_id: ConnId, fault: Fault, replay: Replay) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let Some(index) = call.copies.iter().position(|copy| copy.conn == conn_id) else {
            return;
        };
        let copy = call.copies.remove(index);
        let teaches = copy.teaches();
        let RequestCopy {
            over,
            network,
            cut_off,
            ..
        } = copy;
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
        let harmless = call.may_have_acted && call.traits.replayable && call.retries < MAX_RETRIES;
        let is_kept = replay != Replay::BodyGone;
        let may = is_kept
            && call.traits.resends
            && !call.delivered
            && !is_final(fault, over, call.traits.policy);
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
            call.traits.policy = match (fault, call.traits.policy) {
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
        let traits = call.traits;
        let is_sample = std::mem::replace(&mut call.is_sample, false) || teaches;
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
        if is_sample && (blames_quic || !again && !cut_off) {
            self.learn_failure(&origin, &traits, over);
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
        (call.traits.policy, call.left_quic) = (before, None);
        true
    }

    /// Counts the failures of a request since its origin last answered anything. Returns their number.
    fn count_refusal(&mut self, id: CallId, network: NetworkId) -> u8 {
        let Some(call) = self.calls.get_mut(&id) else {
            return 0;
        };
        let digest = self.knowledge.digest(&call.origin);
        let answers = self.knowledge.origin(network, digest, self.now).answers;
        if answers != call.answers_seen {
            (call.answers_seen, call.refusals) = (answers, 0);
        }
        call.refusals = call.refusals.saturating_add(1);
        call.refusals
    }

    /// Records that the origin takes requests over HTTP/1.1 only. Its connections over HTTP/2 take no more.
    fn require_http1(&mut self, origin: &Origin, network: NetworkId) {
        let (now, digest) = (self.now, self.knowledge.digest(origin));
        self.knowledge.origin(network, digest, now).http1 = true;
        for conn in self.conns.values_mut() {
            if conn.origin == *origin && conn.state == ConnState::Ready(Protocol::H2) {
                conn.state = ConnState::Draining;
            }
        }
    }

    /// Reports whether the origin takes requests over HTTP/1.1 only, as far as is known.
    pub(crate) fn requires_http1(&self, origin: &Origin) -> bool {
        let digest = self.knowledge.digest(origin);
        let entry = self
            .network_id()
            .and_then(|network| self.knowledge.origins.get(&(network, digest)));
        entry.is_some_and(|entry| entry.http1)
    }

    /// Handles a response over HTTP/3 from a peer that is not one for this origin (421). The offer of HTTP/3 is
    /// withdrawn (RFC 7838 section 6), and the request goes over TCP, whatever its method (RFC 9110 section 15.5.20).
    /// Returns false if the app gets the response.
    pub(crate) fn on_misdirected(&mut self, id: CallId, conn_id: ConnId, kept: bool) -> bool {
        let Some(call) = self.calls.get_mut(&id) else {
            return false;
        };
        let copy = call.copies.iter().find(|copy| copy.conn == conn_id);
        let Some(&RequestCopy {
            over: Transport::Quic,
            network,
            ..
        }) = copy
        else {
            return false;
        };
        let may = kept && !call.delivered && call.traits.resends;
        let again = may && matches!(call.traits.policy, Policy::Adaptive | Policy::Race);
        let origin = call.origin.clone();
        let mut alone = false;
        if again {
            call.copies.retain(|copy| copy.conn != conn_id);
            (call.traits.policy, call.is_sample) = (Policy::H2, false);
            alone = call.copies.is_empty();
        }
        self.withdraw_quic(&origin, network);
        if again {
            self.push_command(Command::Withdraw {
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
    pub(crate) fn detach_calls(&mut self, conn_id: ConnId) -> Vec<CallId> {
        let calls = self.conns.get(&conn_id).map(|conn| conn.calls.clone());
        let mut again = Vec::new();
        for id in calls.unwrap_or_default() {
            let Some(call) = self.calls.get_mut(&id) else {
                continue;
            };
            call.copies.retain(|copy| copy.conn != conn_id);
            (call.may_have_acted, call.is_sample) = (true, false);
            let alone = call.copies.is_empty();
            let harmless =
                call.traits.replayable && call.traits.resends && call.retries < MAX_RETRIES;
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
            self.push_command(Command::Withdraw {
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
        // A peer that broke the protocol over TCP will do so again.
        Fault::Protocol | Fault::HeadTooLarge => over == Transport::Tcp,
        _ => false,
    }
}
