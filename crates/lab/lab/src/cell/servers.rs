//! The servers of a cell, as one: the first origin's, and those of origins that have their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proof::{CONNECTIONS_PER_SERVER, Destination};
use pump::Bench;
use record::server_log::ServerEvent;
use study::{Origins, Placement, Security};

use super::error::CellError;
use super::server_process::{Libraries, ServerOptions, ServerProcess};

/// The servers of a cell.
pub(crate) struct Servers {
    first: ServerProcess,
    /// Those of the origins that have their own, in order of name.
    own: Vec<ServerProcess>,
    /// By name.
    origins: BTreeMap<String, At>,
}

/// Where an origin besides the first is.
struct At {
    /// Its index among the names of origins.
    origin: usize,
    /// Its server: 0 for the first origin's, then those in [`Servers::own`].
    server: usize,
}

impl Servers {
    /// Starts every server, each with fresh keys, and waits until it listens.
    pub(super) fn start(
        bench: &mut Bench,
        exe: &Path,
        dir: &Path,
        options: &ServerOptions,
        origins: &Origins,
    ) -> Result<Servers, CellError> {
        let (mut at, mut shared, mut own) = (BTreeMap::new(), Vec::new(), Vec::new());
        for (origin, (name, placement)) in (1..).zip(origins) {
            let server = match placement {
                Placement::SameServer => {
                    shared.push(origin);
                    0
                }
                Placement::OwnServer => {
                    own.push(origin);
                    own.len()
                }
            };
            at.insert(name.clone(), At { origin, server });
        }
        let options = ServerOptions {
            more_origins: shared,
            ..options.clone()
        };
        let first = ServerProcess::start(bench, exe, dir, &options)?;
        let start = |origin: usize| {
            let dir = dir.join(format!("origin-{origin}"));
            fs::create_dir(&dir).map_err(|e| CellError::io("server's folder", &e))?;
            let options = ServerOptions {
                origin,
                more_origins: Vec::new(),
                ..options.clone()
            };
            ServerProcess::start(bench, exe, &dir, &options)
        };
        Ok(Servers {
            first,
            own: own.into_iter().map(start).collect::<Result<_, _>>()?,
            origins: at,
        })
    }

    /// Returns the first origin's server.
    pub(super) fn first(&self) -> &ServerProcess {
        &self.first
    }

    /// Returns all servers, the first origin's before the others.
    pub(super) fn all(&self) -> impl Iterator<Item = &ServerProcess> {
        std::iter::once(&self.first).chain(&self.own)
    }

    /// Returns the first server's library of each protocol; the others run the same program.
    pub(super) fn libraries(&self) -> &Libraries {
        self.first.libraries()
    }

    /// Returns the URL of each origin besides the first, by name.
    pub(super) fn urls(&self, security: Security) -> BTreeMap<String, String> {
        (self.origins.iter())
            .map(|(name, at)| (name.clone(), self.url(at, security)))
            .collect()
    }

    fn url(&self, at: &At, security: Security) -> String {
        match at.server.checked_sub(1) {
            None => self.first.url_of(at.origin, security),
            Some(own) => self.own[own].url(security),
        }
    }

    /// Returns where the requests of each origin must arrive, by the name in steps; empty if there is
    /// only the first.
    pub(super) fn destinations(&self, security: Security) -> BTreeMap<Option<String>, Destination> {
        let destination = |url: String, server: usize| Destination {
            authority: url.split("//").last().unwrap_or_default().to_owned(),
            server: server as u64,
        };
        let first = (None, destination(self.first.url(security), 0));
        let others = self.origins.iter().map(|(name, at)| {
            let destination = destination(self.url(at, security), at.server);
            (Some(name.clone()), destination)
        });
        match self.origins.is_empty() {
            true => BTreeMap::new(),
            false => std::iter::once(first).chain(others).collect(),
        }
    }

    /// Ends every server and returns their logs as one.
    pub(super) fn stop(self) -> Result<Vec<ServerEvent>, CellError> {
        let servers = std::iter::once(self.first).chain(self.own);
        // All of them end, whatever one of them reports.
        let logs: Vec<_> = servers.map(ServerProcess::stop).collect();
        let mut joined = Vec::new();
        for (server, log) in (0..).zip(logs) {
            joined.extend(renumber(server, log?)?);
        }
        Ok(joined)
    }
}

/// Numbers a server's connections so that they differ from those of every other.
fn renumber(server: u64, mut log: Vec<ServerEvent>) -> Result<Vec<ServerEvent>, CellError> {
    for event in &mut log {
        let number = match event {
            ServerEvent::Connection(event) => &mut event.connection,
            ServerEvent::Request(event) => &mut event.connection,
            ServerEvent::Refused(event) => &mut event.connection,
            ServerEvent::Closed(event) => &mut event.connection,
        };
        if *number >= CONNECTIONS_PER_SERVER {
            let reason = format!("the server numbers a connection {number}");
            return Err(CellError::Failed(reason));
        }
        *number += server * CONNECTIONS_PER_SERVER;
    }
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Sender;
    use record::server_log::ClosedEvent;

    fn closed(connection: u64) -> Vec<ServerEvent> {
        vec![ServerEvent::Closed(ClosedEvent {
            connection,
            at_ns: 1,
            sender: Sender::default(),
            windows: Vec::new(),
        })]
    }

    #[test]
    fn connections_of_two_servers_never_have_the_same_number() {
        assert_eq!(renumber(0, closed(1)).unwrap(), closed(1));
        let second = CONNECTIONS_PER_SERVER + 1;
        assert_eq!(renumber(1, closed(1)).unwrap(), closed(second));
        assert!(renumber(0, closed(CONNECTIONS_PER_SERVER)).is_err());
    }
}
