//! The server's log, indexed.

use std::collections::BTreeMap;

use record::server_log::{ClosedEvent, ConnectionEvent, RequestEvent, ServerEvent, Transport};
use record::{ConnectionSettings, Sender};

/// The server's log, indexed.
pub struct Log<'a> {
    pub(super) connections: BTreeMap<u64, &'a ConnectionEvent>,
    /// The end of each connection that ended.
    closed: BTreeMap<u64, &'a ClosedEvent>,
    /// Requests by the id that the driver sent, in the order in which they began.
    pub(super) requests: BTreeMap<u32, Vec<&'a RequestEvent>>,
    /// Start and id of the first request on each connection.
    pub(super) first: BTreeMap<u64, (u64, Option<u32>)>,
}

impl<'a> Log<'a> {
    /// Indexes a log, or returns what cannot be true in it.
    pub fn new(log: &'a [ServerEvent]) -> Result<Log<'a>, String> {
        let mut indexed = Log {
            connections: BTreeMap::new(),
            closed: BTreeMap::new(),
            requests: BTreeMap::new(),
            first: BTreeMap::new(),
        };
        for line in log {
            match line {
                ServerEvent::Connection(c) => {
                    indexed.connections.insert(c.connection, c);
                }
                ServerEvent::Request(r) => {
                    if let Some(id) = r.id {
                        indexed.requests.entry(id).or_default().push(r);
                    }
                    let first = indexed
                        .first
                        .entry(r.connection)
                        .or_insert((r.start_ns, r.id));
                    *first = (*first).min((r.start_ns, r.id));
                }
                // A request that was refused fails the driver's row.
                ServerEvent::Refused(_) => {}
                ServerEvent::Closed(closed) => {
                    let number = closed.connection;
                    let failed = |why| Err(format!("the server's connection {number}: {why}"));
                    let Some(connection) = indexed.connections.get(&number) else {
                        return failed("it ended without a handshake".to_owned());
                    };
                    if let Err(why) = closed.sender.check(connection.transport) {
                        return failed(why);
                    }
                    if !closed.windows.is_sorted_by_key(|sample| sample.at_ns) {
                        return failed("the samples of its window go back in time".to_owned());
                    }
                    if indexed.closed.insert(number, closed).is_some() {
                        return failed("it ended twice".to_owned());
                    }
                }
            }
        }
        indexed
            .requests
            .values_mut()
            .for_each(|hits| hits.sort_by_key(|r| r.start_ns));
        Ok(indexed)
    }

    /// Returns the connection with this number, if its handshake completed.
    pub fn connection(&self, number: u64) -> Option<&'a ConnectionEvent> {
        self.connections.get(&number).copied()
    }

    /// Returns what the server told of its sending on a connection, once it had ended.
    pub fn sender(&self, number: u64) -> Option<&'a Sender> {
        self.closed.get(&number).map(|closed| &closed.sender)
    }

    /// Returns the settings of each connection with the client's port.
    pub(super) fn settings(&self) -> Vec<(ConnectionSettings, u16)> {
        let of = |(number, c): (&u64, &&ConnectionEvent)| {
            (settings(c, self.sender(*number).cloned()), c.peer_port)
        };
        self.connections.iter().map(of).collect()
    }
}

fn settings(c: &ConnectionEvent, sender: Option<Sender>) -> ConnectionSettings {
    ConnectionSettings {
        transport: match c.transport {
            Transport::Tcp => "tcp",
            Transport::Quic => "quic",
        }
        .to_owned(),
        ip_version: Some(c.ip_version),
        alpn: c.alpn.clone(),
        tls_version: c.tls_version.clone(),
        cipher: c.cipher.clone(),
        group: c.group.clone(),
        resumed: c.resumed,
        hello_retry: c.hello_retry,
        chain_bytes: c.chain_bytes,
        congestion: c.congestion.clone(),
        sender,
        ..ConnectionSettings::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::connection;
    use super::*;
    use record::server_log::WindowSample;

    fn closed(connection: u64, lost_packets: u64) -> ServerEvent {
        ServerEvent::Closed(ClosedEvent {
            connection,
            at_ns: 2_000,
            sender: Sender {
                lost_packets: Some(lost_packets),
                ..Sender::default()
            },
            windows: Vec::new(),
        })
    }

    /// Returns the end of a connection with a sample of its window at each time.
    fn sampled(times_ns: [u64; 2]) -> ServerEvent {
        let sample = |at_ns| WindowSample {
            at_ns,
            window_bytes: 12_000,
            in_flight_bytes: 0,
            app_limited: false,
        };
        ServerEvent::Closed(ClosedEvent {
            connection: 1,
            at_ns: 2_000,
            sender: Sender::default(),
            windows: times_ns.map(sample).to_vec(),
        })
    }

    #[test]
    fn ended_connections_have_what_the_server_told() {
        let log = [connection(), closed(1, 3)];
        let settings = Log::new(&log).unwrap().settings();
        let told = settings[0].0.sender.as_ref().unwrap();
        assert_eq!(told.lost_packets, Some(3));
        let log = [connection()];
        let indexed = Log::new(&log).unwrap();
        assert_eq!(indexed.settings()[0].0.sender, None);
        let log = [connection(), sampled([7, 7])];
        let indexed = Log::new(&log).unwrap();
        assert!(indexed.sender(1).is_some());
    }

    #[test]
    fn ends_that_cannot_be_true_are_refused() {
        for (log, reason) in [
            (
                vec![closed(1, 3), connection()],
                "the server's connection 1: it ended without a handshake",
            ),
            (
                vec![connection(), closed(1, 3), closed(1, 3)],
                "the server's connection 1: it ended twice",
            ),
            (
                vec![connection(), sampled([9, 7])],
                "the server's connection 1: the samples of its window go back in time",
            ),
            (
                vec![connection(), closed(1, u64::MAX)],
                "the server's connection 1: lost_packets 18446744073709551615 is not plausible",
            ),
        ] {
            assert_eq!(Log::new(&log).err().as_deref(), Some(reason));
        }
    }
}
