//! Connections: resolves their names, opens them where the router decides, and closes them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use route::{CallId, ConnId, DnsRecords, Origin, Protocol, QueryId, Reason, Transport};
use tokio::task::AbortHandle;

use super::Actor;
use crate::conn::{self, Conn, ConnLoad, Target};
use crate::message::{ConnectRequest, Event, Message};
use crate::report::{Connected, Phases, Report};

/// A connection, from its first packet on.
pub(super) struct Slot {
    pub(super) task: AbortHandle,
    pub(super) conn: Option<Conn>,
    pub(super) load: Arc<ConnLoad>,
    pub(super) origin: Origin,
    pub(super) local_port: u16,
    pub(super) resumed: bool,
    /// The first request on it.
    pub(super) opener: Option<CallId>,
    pub(super) resolved: Option<Instant>,
    pub(super) connected: Option<Instant>,
    pub(super) tls: Option<Instant>,
}

impl Actor {
    pub(super) fn resolve(
        &mut self,
        query: QueryId,
        origin: Origin,
        records: DnsRecords,
        awaits_record: bool,
    ) {
        let answer = self.resolver.resolve(&origin, records);
        let expected = awaits_record.then(|| self.expected.wait(&origin, Instant::now()));
        self.queries.insert(query, origin);
        let messages = self.messages.clone();
        tokio::spawn(async move {
            let answer = answer.await;
            let at = Instant::now();
            if let Some(record) = expected {
                record.await;
            }
            messages
                .send(Message::Event(Event::Resolved { query, answer, at }))
                .ok();
        });
    }

    pub(super) fn open(
        &mut self,
        id: ConnId,
        origin: Origin,
        address: SocketAddr,
        over: Transport,
        http1: bool,
        early: bool,
    ) {
        let messages = self.messages.clone();
        let target = Target {
            id,
            origin: origin.clone(),
            address,
            over,
            http1,
            early,
            messages,
        };
        let task = tokio::spawn(conn::open(target, self.tls.clone())).abort_handle();
        let slot = Slot {
            task,
            conn: None,
            load: Arc::new(ConnLoad::new(id, self.messages.clone())),
            resolved: self.resolved.get(&origin).copied(),
            origin,
            local_port: 0,
            resumed: false,
            opener: None,
            connected: None,
            tls: None,
        };
        self.conns.insert(id, slot);
    }

    pub(super) fn connect(&mut self, connecting: ConnectRequest) {
        let (id, policy, origin) = (connecting.id, connecting.policy, connecting.origin.clone());
        self.connecting.insert(id, connecting);
        let origin = &origin;
        self.handle(route::Event::Connect { id, origin, policy });
    }

    pub(super) fn connected(&mut self, id: CallId, conn_id: ConnId, reason: Reason) {
        let (Some(connecting), Some(slot)) =
            (self.connecting.remove(&id), self.conns.get(&conn_id))
        else {
            return;
        };
        let Some(conn) = &slot.conn else {
            return;
        };
        let (is_tls13, chain) = conn.security();
        let connected = Connected {
            report: slot.report(conn_id, reason, connecting.asked),
            is_tls13,
            chain,
        };
        // The receiver may have been dropped.
        connecting.reply.send(Ok(connected)).ok();
    }

    /// Closes every connection.
    pub(super) fn disconnect(&mut self) {
        self.handle(route::Event::Disconnect);
        self.resolved.clear();
    }
}

impl Slot {
    /// Returns the report of the connection for a request made at `asked`.
    pub(super) fn report(&self, id: ConnId, reason: Reason, asked: Instant) -> Report {
        Report {
            protocol: self.conn.as_ref().map_or(Protocol::H2, Conn::protocol),
            reason,
            connection: id.0,
            reused: self.tls.is_some_and(|at| at < asked),
            resumed: self.resumed,
            early_data: false,
            local_port: self.local_port,
            attempts: 0,
            resumed_bodies: 0,
            asked,
            phases: Phases {
                dns_ns: ns_after(asked, self.resolved),
                connect_ns: ns_after(asked, self.connected),
                tls_ns: ns_after(asked, self.tls),
                ..Phases::default()
            },
            ready: self.tls,
        }
    }

    pub(super) fn close(&self) {
        self.task.abort();
        if let Some(conn) = &self.conn {
            conn.close();
        }
        tracing::trace!("closed a connection to {}", self.origin.host);
    }
}

pub(super) fn ns_after(asked: Instant, at: Option<Instant>) -> Option<u64> {
    let after = at?.checked_duration_since(asked)?;
    u64::try_from(after.as_nanos()).ok()
}
