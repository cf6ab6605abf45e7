//! The life of a request: placed on a connection or waiting for one, sent, perhaps sent again,
//! and ended exactly once.

use crate::command::Command;
use crate::conn::{Call, ConnState, RequestCopy};
use crate::event::{CallId, ConnId, Fault, Origin, Policy, Protocol, RequestTraits, Transport};
use crate::reason::Reason;
use crate::router::{MAX_CALLS, Router};

impl Router {
    pub(crate) fn on_call(&mut self, id: CallId, origin: &Origin, traits: RequestTraits) {
        if !self.calls.contains_key(&id) {
            self.all_calls = self.all_calls.saturating_add(1);
            self.begin(id, origin, traits, false);
        }
    }

    pub(crate) fn on_connect(&mut self, id: CallId, origin: &Origin, policy: Policy) {
        // It is no request to learn from.
        let traits = RequestTraits {
            replayable: true,
            resends: true,
            bytes: None,
            kind: 0,
            urgent: true,
            early: false,
            policy,
        };
        if !self.calls.contains_key(&id) {
            self.begin(id, origin, traits, true);
        }
    }

    fn begin(&mut self, id: CallId, origin: &Origin, traits: RequestTraits, only_connects: bool) {
        let call = Call {
            origin: origin.clone(),
            traits,
            only_connects,
            copies: Vec::new(),
            delivered: false,
            resumable: false,
            may_have_acted: false,
            retries: 0,
            refusals: 0,
            answers_seen: 0,
            failing_since: None,
            hedge_at: None,
            before: None,
            left_quic: None,
            is_sample: !traits.urgent,
            reason: Reason::Opening,
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

    /// Ends a request that nobody waits for any more.
    pub(crate) fn drop_call(&mut self, id: CallId) {
        let Some(call) = self.calls.remove(&id) else {
            return;
        };
        for copy in &call.copies {
            self.push_command(Command::Withdraw {
                call: id,
                conn: copy.conn,
            });
            self.left(id, copy.conn);
        }
        if let Some(state) = self.origins.get_mut(&call.origin) {
            state.waiting.retain(|waiting| *waiting != id);
        }
    }

    /// Sends a request, or lets it wait for a connection.
    pub(crate) fn place(&mut self, id: CallId) {
        let Some(call) = self.calls.get(&id) else {
            return;
        };
        let (origin, mut traits) = (call.origin.clone(), call.traits);
        let off = if !self.switches.engine {
            Some(Reason::EngineOff)
        } else if self.breaker.is_open() {
            Some(Reason::Tripped)
        } else {
            None
        };
        if let Some(reason) = off {
            self.calls.remove(&id);
            return self.push_command(Command::FallBack { call: id, reason });
        }
        if self.network.is_none() {
            return self.fail(id, Fault::Offline);
        }
        if traits.policy != Policy::H3 && self.requires_http1(&origin) {
            traits.policy = Policy::H1;
            if let Some(call) = self.calls.get_mut(&id) {
                call.traits.policy = Policy::H1;
            }
        }
        let usable = |over| self.usable(&origin, &traits, over);
        let (quic, tcp) = (usable(Transport::Quic), usable(Transport::Tcp));
        if self.is_unanswered(&origin, &traits) {
            return match tcp {
                Some(conn) => self.send(id, conn, Reason::SecondTry(Transport::Tcp)),
                None => self.wait_for_tcp(id, &origin),
            };
        }
        match (quic, tcp) {
            (Some(quic), Some(tcp)) => {
                let (over, reason) = self.choose(&origin, &traits);
                let conn = if over == Transport::Quic { quic } else { tcp };
                self.send(id, conn, reason);
            }
            (Some(conn), None) => {
                self.send(
                    id,
                    conn,
                    self.reason_for_only(&origin, &traits, Transport::Quic),
                );
            }
            (None, Some(conn)) => {
                self.send(
                    id,
                    conn,
                    self.reason_for_only(&origin, &traits, Transport::Tcp),
                );
            }
            (None, None) => match self.early_conn(&origin, &traits) {
                Some(conn) => self.send(id, conn, Reason::OnlyOpen(Transport::Quic)),
                None => self.wait(id, &origin, traits.policy),
            },
        }
    }

    pub(crate) fn send(&mut self, id: CallId, conn_id: ConnId, reason: Reason) {
        let now = self.now;
        let (Some(call), Some(conn)) = (self.calls.get(&id), self.conns.get(&conn_id)) else {
            return;
        };
        let instead_of_quic =
            conn.over == Transport::Tcp && self.is_unanswered(&call.origin, &call.traits);
        let hedge_at = self.hedge_at(call, conn, &reason);
        let (Some(call), Some(conn)) = (self.calls.get_mut(&id), self.conns.get_mut(&conn_id))
        else {
            return;
        };
        if call.only_connects {
            self.calls.remove(&id);
            let (call, conn) = (id, conn_id);
            return self.push_command(Command::Connected { call, conn, reason });
        }
        // Beside others its time tells less of the transport than of them.
        call.is_sample &= call.copies.is_empty() && call.retries == 0 && conn.calls.is_empty();
        call.is_sample &= conn.state != ConnState::Early;
        let explores = matches!(reason, Reason::Exploring(_));
        (call.hedge_at, call.failing_since) = (hedge_at, None);
        if instead_of_quic {
            call.left_quic = Some(conn.network);
        }
        call.reason = match call.left_quic {
            Some(_) => Reason::SecondTry(conn.over),
            None => reason,
        };
        call.copies.push(RequestCopy {
            conn: conn_id,
            network: conn.network,
            over: conn.over,
            sent: now,
            head: None,
            cut_off: false,
            explores,
            is_alone: call.is_sample,
        });
        conn.calls.insert(id);
        conn.sent = conn.sent.saturating_add(1);
        let begins = conn.monitor.deadline().is_none();
        conn.monitor.begin(now);
        self.push_command(Command::Send {
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
        let copies = std::mem::take(&mut call.copies);
        let (answered, others): (Vec<_>, Vec<_>) =
            copies.into_iter().partition(|copy| copy.conn == conn_id);
        (call.copies, call.hedge_at) = (answered, None);
        let traits = call.traits;
        call.hedge_at = None;
        self.on_offer(&origin, alt_svc);
        let was_silent = self.answered(conn_id);
        if tcp_instead {
            self.tcp_answered_instead(&origin, network);
        }
        if first {
            self.push_command(Command::Deliver {
                call: id,
                conn: conn_id,
            });
        }
        for copy in others {
            let other = copy.conn;
            self.push_command(Command::Withdraw {
                call: id,
                conn: other,
            });
            if copy.teaches() {
                self.learn_overtaken(&origin, &traits, copy);
            }
            self.lost_hedge(other);
            self.lost_probation(other);
            self.left(id, other);
        }
        if was_silent {
            self.place_waiting(&origin);
        }
    }

    /// Records that the head of a response came over this connection. Returns whether the
    /// connection was silent.
    fn answered(&mut self, id: ConnId) -> bool {
        let now = self.now;
        let Some(conn) = self.conns.get_mut(&id) else {
            return false;
        };
        let was_silent = conn.record_response(now);
        conn.answers = conn.answers.saturating_add(1);
        let (origin, network, over) = (conn.origin.clone(), conn.network, conn.over);
        let digest = self.knowledge.digest(&origin);
        let entry = self.knowledge.origin(network, digest, now);
        (entry.answers, entry.last_answer) = (entry.answers + 1, Some(now));
        if over == Transport::Quic {
            self.quic_answers(&origin, network);
        }
        was_silent
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
        self.breaker.record_call();
        let mut was_silent = false;
        if let Some(conn) = self.conns.get_mut(&conn_id) {
            was_silent = conn.record_response(self.now);
            let (origin, network) = (conn.origin.clone(), conn.network);
            if conn.over == Transport::Quic {
                self.quic_has_answered(&origin, network);
            }
        }
        if let Some(copy) = call.copies.first() {
            self.learn(&call, *copy, bytes);
        }
        self.left(id, conn_id);
        if was_silent {
            self.place_waiting(&call.origin);
        }
        self.open_to_learn(&call);
    }

    /// Removes a request from a connection. Closes the connection if it is spent, draining or
    /// silent, and gives its room to requests that wait.
    pub(crate) fn left(&mut self, id: CallId, conn_id: ConnId) {
        let Some(conn) = self.conns.get_mut(&conn_id) else {
            return;
        };
        conn.calls.remove(&id);
        let was_full = std::mem::take(&mut conn.full);
        if !conn.calls.is_empty() {
            if was_full {
                let origin = conn.origin.clone();
                self.place_waiting(&origin);
            }
            return;
        }
        let silent = conn.monitor.is_silent();
        let (origin, state) = (conn.origin.clone(), conn.state);
        let spent = conn.is_spent() && !state.is_opening();
        // One whose handshake is not done is its race's.
        if silent && !state.is_opening() {
            self.leave_silent(conn_id);
            return self.place_waiting(&origin);
        }
        conn.monitor.end();
        if spent || state == ConnState::Draining {
            self.close(conn_id);
            // What waited for it to be free needs another one.
            return self.place_waiting(&origin);
        }
        match state {
            ConnState::Ready(Protocol::H1) => self.place_waiting(&origin),
            ConnState::Ready(_) if was_full => self.place_waiting(&origin),
            _ => {}
        }
    }

    /// Places the requests that wait for a connection to an origin.
    pub(crate) fn place_waiting(&mut self, origin: &Origin) {
        let waiting = match self.origins.get_mut(origin) {
            Some(state) => std::mem::take(&mut state.waiting),
            None => return,
        };
        for id in waiting {
            self.place(id);
        }
    }

    pub(crate) fn place_waiting_everywhere(&mut self) {
        for origin in self.origins.keys().cloned().collect::<Vec<_>>() {
            self.place_waiting(&origin);
        }
    }

    /// Reports whether another request may be hedged: at most one in twenty, and one more.
    pub(crate) fn may_hedge(&self) -> bool {
        self.hedges <= self.all_calls / 20
    }
}
