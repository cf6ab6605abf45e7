//! The life of a request: placed on a connection or waiting for one, sent, perhaps sent again,
//! and ended exactly once.

use crate::command::Command;
use crate::conn::{Call, ConnState, Copy};
use crate::event::{Ask, CallId, ConnId, Fault, Origin, Policy, Protocol, Replay, Transport};
use crate::router::{MAX_CALLS, Router};
use crate::why::Why;

/// A request is sent again at most so often if the peer cannot have acted on it.
const MAX_SAFE_RETRIES: u8 = 3;
/// And so often if it may have acted, and acting twice does no harm.
pub(crate) const MAX_RETRIES: u8 = 2;

impl Router {
    pub(crate) fn on_call(&mut self, id: CallId, origin: &Origin, ask: Ask) {
        if !self.calls.contains_key(&id) {
            self.all_calls = self.all_calls.saturating_add(1);
            self.begin(id, origin, ask, false);
        }
    }

    pub(crate) fn on_connect(&mut self, id: CallId, origin: &Origin, policy: Policy) {
        // It is no request to learn from.
        let ask = Ask {
            replayable: true,
            bytes: None,
            kind: 0,
            urgent: true,
            early: false,
            policy,
        };
        if !self.calls.contains_key(&id) {
            self.begin(id, origin, ask, true);
        }
    }

    fn begin(&mut self, id: CallId, origin: &Origin, ask: Ask, only_connects: bool) {
        let call = Call {
            origin: origin.clone(),
            ask,
            only_connects,
            copies: Vec::new(),
            delivered: false,
            resumable: false,
            may_have_acted: false,
            retries: 0,
            left_quic: None,
            teaches: !ask.urgent,
            why: Why::Opening,
        };
        let requests = self.calls.values().filter(|call| !call.only_connects);
        let full = !only_connects && requests.count() >= MAX_CALLS;
        self.calls.insert(id, call);
        if full {
            self.fail(id, Fault::TooMany);
        } else {
            self.place(id);
        }
    }

    pub(crate) fn on_cancel(&mut self, id: CallId) {
        let Some(call) = self.calls.remove(&id) else {
            return;
        };
        for copy in &call.copies {
            self.order(Command::Withdraw {
                call: id,
                conn: copy.conn,
            });
            self.left(id, copy.conn);
        }
        if let Some(site) = self.sites.get_mut(&call.origin) {
            site.waiting.retain(|waiting| *waiting != id);
        }
    }

    /// Sends a request, or lets it wait for a connection.
    pub(crate) fn place(&mut self, id: CallId) {
        let Some(call) = self.calls.get(&id) else {
            return;
        };
        let (origin, ask) = (call.origin.clone(), call.ask);
        let off = if !self.switches.engine {
            Some(Why::EngineOff)
        } else if self.trip.tripped() {
            Some(Why::Tripped)
        } else {
            None
        };
        if let Some(why) = off {
            self.calls.remove(&id);
            return self.order(Command::Plain { call: id, why });
        }
        if self.network.is_none() {
            return self.fail(id, Fault::Offline);
        }
        let usable = |over| self.usable(&origin, &ask, over);
        let (quic, tcp) = (usable(Transport::Quic), usable(Transport::Tcp));
        match (quic, tcp) {
            (Some(quic), Some(tcp)) => {
                let (over, why) = self.choose(&origin, &ask);
                let conn = if over == Transport::Quic { quic } else { tcp };
                self.send(id, conn, why);
            }
            (Some(conn), None) => {
                self.send(id, conn, self.why_only(&origin, &ask, Transport::Quic));
            }
            (None, Some(conn)) => {
                self.send(id, conn, self.why_only(&origin, &ask, Transport::Tcp));
            }
            (None, None) => match self.early_conn(&origin, &ask) {
                Some(conn) => self.send(id, conn, Why::OnlyOpen(Transport::Quic)),
                None => self.wait(id, &origin, ask.policy),
            },
        }
    }

    pub(crate) fn send(&mut self, id: CallId, conn_id: ConnId, why: Why) {
        let now = self.now;
        let (Some(call), Some(conn)) = (self.calls.get_mut(&id), self.conns.get_mut(&conn_id))
        else {
            return;
        };
        if call.only_connects {
            self.calls.remove(&id);
            let (call, conn) = (id, conn_id);
            return self.order(Command::Connected { call, conn, why });
        }
        // Beside others its time tells less of the transport than of them.
        call.teaches &= call.copies.is_empty() && call.retries == 0 && conn.calls.is_empty();
        call.teaches &= conn.state != ConnState::Early;
        call.why = match call.left_quic {
            Some(_) => Why::SecondTry(conn.over),
            None => why,
        };
        call.copies.push(Copy {
            conn: conn_id,
            network: conn.network,
            over: conn.over,
            sent: now,
            head: None,
        });
        conn.calls.insert(id);
        let begins = conn.watch.deadline().is_none();
        conn.watch.begin(now);
        self.order(Command::Send {
            call: id,
            conn: conn_id,
        });
        if begins {
            self.sample(conn_id);
        }
    }

    pub(crate) fn on_head(&mut self, id: CallId, conn_id: ConnId, alt_svc: &[u8], resumable: bool) {
        let now = self.now;
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let Some(copy) = call.copies.iter_mut().find(|copy| copy.conn == conn_id) else {
            return;
        };
        copy.head.get_or_insert(now);
        call.resumable = resumable;
        let origin = call.origin.clone();
        let tcp_instead = copy.over == Transport::Tcp && call.left_quic == Some(copy.network);
        let network = copy.network;
        let first = !std::mem::replace(&mut call.delivered, true);
        let others: Vec<ConnId> = call
            .copies
            .iter()
            .map(|copy| copy.conn)
            .filter(|conn| *conn != conn_id)
            .collect();
        call.copies.retain(|copy| copy.conn == conn_id);
        self.on_offer(&origin, alt_svc);
        self.answered(conn_id);
        if tcp_instead {
            self.tcp_answered_instead(&origin, network);
        }
        if first {
            self.order(Command::Deliver {
                call: id,
                conn: conn_id,
            });
        }
        for other in others {
            self.order(Command::Withdraw {
                call: id,
                conn: other,
            });
            self.lost_hedge(other, conn_id);
            self.left(id, other);
        }
    }

    /// A response comes over this connection.
    fn answered(&mut self, id: ConnId) {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return;
        };
        conn.watch.heard(now);
        let (origin, network) = (conn.origin.clone(), conn.network);
        if conn.over == Transport::Quic {
            self.quic_answers(&origin, network);
        }
    }

    pub(crate) fn on_done(&mut self, id: CallId, conn_id: ConnId, bytes: u64) {
        let delivered = self.calls.get(&id).is_some_and(|call| {
            call.delivered && call.copies.iter().any(|copy| copy.conn == conn_id)
        });
        if !delivered {
            return;
        }
        let Some(call) = self.calls.remove(&id) else {
            return;
        };
        self.trip.call();
        if let Some(conn) = self.conns.get_mut(&conn_id) {
            conn.watch.heard(self.now);
            let (origin, network) = (conn.origin.clone(), conn.network);
            if conn.over == Transport::Quic {
                self.quic_has_answered(&origin, network);
            }
        }
        if let Some(copy) = call.copies.first() {
            self.learn(&call, *copy, bytes);
        }
        self.left(id, conn_id);
        self.open_to_learn(&call);
    }

    pub(crate) fn on_failed(&mut self, id: CallId, conn_id: ConnId, fault: Fault, replay: Replay) {
        let Some(call) = self.calls.get_mut(&id) else {
            return;
        };
        let Some(index) = call.copies.iter().position(|copy| copy.conn == conn_id) else {
            return;
        };
        let Copy { over, network, .. } = call.copies.remove(index);
        call.may_have_acted |= replay == Replay::MayHaveActed;
        let alone = call.copies.is_empty();
        let safe = !call.may_have_acted && call.retries < MAX_SAFE_RETRIES;
        let harmless = call.ask.replayable && call.retries < MAX_RETRIES;
        // Who broke the protocol over TCP will do so again.
        let ends =
            fault == Fault::Certificate || fault == Fault::Protocol && over == Transport::Tcp;
        let again = alone && !call.delivered && (safe || harmless) && !ends;
        // That a connection takes no more requests says nothing against HTTP/3; that another one does not,
        // either, does.
        let blames_quic = over == Transport::Quic && (replay != Replay::Safe || call.retries > 0);
        if again {
            call.retries += 1;
            if blames_quic && matches!(call.ask.policy, Policy::Adaptive | Policy::Race) {
                // The same way would likely fail the same way.
                (call.left_quic, call.ask.policy) = (Some(network), Policy::H2);
            }
        }
        let (origin, ask) = (call.origin.clone(), call.ask);
        let teaches = std::mem::replace(&mut call.teaches, false);
        if let Some(conn) = self.conns.get_mut(&conn_id)
            && conn.state == ConnState::Ready(Protocol::H1)
        {
            conn.state = ConnState::Draining;
        }
        if blames_quic {
            self.quic_failed(&origin, network);
        }
        if teaches && (blames_quic || !again) {
            self.learn_failure(&origin, &ask, over);
        }
        self.left(id, conn_id);
        if again {
            self.place(id);
        } else if alone {
            self.fail(id, fault);
        }
    }

    /// A request has left a connection.
    pub(crate) fn left(&mut self, id: CallId, conn_id: ConnId) {
        let Some(conn) = self.conns.get_mut(&conn_id) else {
            return;
        };
        conn.calls.remove(&id);
        if !conn.calls.is_empty() {
            return;
        }
        let silent = conn.watch.is_silent();
        conn.watch.end();
        let (origin, state) = (conn.origin.clone(), conn.state);
        // One whose handshake is not done is its race's.
        if silent && matches!(state, ConnState::Ready(_)) {
            return self.close_silent(conn_id);
        }
        match state {
            ConnState::Draining => {
                self.close(conn_id);
                // What waited for it to be free needs another one.
                self.place_waiting(&origin);
            }
            ConnState::Ready(Protocol::H1) => self.place_waiting(&origin),
            ConnState::Ready(_) | ConnState::Opening | ConnState::Early => {}
        }
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
            let may = !call.delivered && call.ask.replayable && call.retries < MAX_RETRIES;
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

    /// Places the requests that wait for a connection to an origin.
    pub(crate) fn place_waiting(&mut self, origin: &Origin) {
        let waiting = match self.sites.get_mut(origin) {
            Some(site) => std::mem::take(&mut site.waiting),
            None => return,
        };
        for id in waiting {
            self.place(id);
        }
    }

    pub(crate) fn place_waiting_everywhere(&mut self) {
        for origin in self.sites.keys().cloned().collect::<Vec<_>>() {
            self.place_waiting(&origin);
        }
    }

    /// Whether another request may be hedged: at most one in twenty, and one more.
    pub(crate) fn may_hedge(&self) -> bool {
        self.hedges <= self.all_calls / 20
    }
}
