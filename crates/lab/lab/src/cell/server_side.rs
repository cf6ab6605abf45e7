//! The server side of a cell: servers of the lab, or the user's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proof::Destination;
use pump::Bench;
use record::server_log::ServerEvent;
use study::{Origins, Security};

use super::error::CellError;
use super::external::{External, Route, Travelled};
use super::server_process::{Libraries, ServerOptions, ServerProcess};
use super::servers::Servers;

/// What answers a cell's driver.
pub(super) enum ServerSide {
    Lab(Servers),
    External(Route),
}

/// What the server's side of a cell tells when it has ended.
pub(crate) enum Testimony {
    /// The log of all servers.
    Log(Vec<ServerEvent>),
    /// There is no log.
    Travelled(Travelled),
}

impl Testimony {
    /// Returns the servers' log, which is empty where there is none.
    pub(super) fn log(&self) -> &[ServerEvent] {
        match self {
            Testimony::Log(log) => log,
            Testimony::Travelled(_) => &[],
        }
    }
}

impl ServerSide {
    /// Starts the servers, or opens the way to the user's own.
    pub(super) fn start(
        bench: &mut Bench,
        exe: &Path,
        dir: &Path,
        external: Option<&External>,
        options: &ServerOptions,
        origins: &Origins,
    ) -> Result<ServerSide, CellError> {
        match external {
            Some(external) => Route::open(bench, external, dir).map(ServerSide::External),
            None => Servers::start(bench, exe, dir, options, origins).map(ServerSide::Lab),
        }
    }

    /// Returns the URL of the first origin.
    pub(super) fn url(&self, security: Security) -> String {
        match self {
            ServerSide::Lab(servers) => servers.first().url(security),
            ServerSide::External(route) => route.url().to_owned(),
        }
    }

    /// Returns the URL of each origin besides the first, by name.
    pub(super) fn urls(&self, security: Security) -> BTreeMap<String, String> {
        match self {
            ServerSide::Lab(servers) => servers.urls(security),
            ServerSide::External(_) => BTreeMap::new(),
        }
    }

    /// Returns the folder with `ca.pem` and, of a server of the lab, the client's keys.
    pub(super) fn credentials(&self) -> &Path {
        match self {
            ServerSide::Lab(servers) => servers.first().credentials(),
            ServerSide::External(route) => route.credentials(),
        }
    }

    /// Returns the file with the authorities of each server.
    pub(super) fn authorities(&self) -> Vec<PathBuf> {
        match self {
            ServerSide::Lab(servers) => servers.all().map(ServerProcess::authority).collect(),
            ServerSide::External(route) => vec![route.credentials().join("ca.pem")],
        }
    }

    /// Returns the server's library of each protocol, as far as it is known.
    pub(super) fn libraries(&self) -> Libraries {
        match self {
            ServerSide::Lab(servers) => servers.libraries().clone(),
            ServerSide::External(_) => Libraries::new(),
        }
    }

    /// Returns where the requests of each origin must arrive, as [`Servers::destinations`] does.
    pub(super) fn destinations(&self, security: Security) -> BTreeMap<Option<String>, Destination> {
        match self {
            ServerSide::Lab(servers) => servers.destinations(security),
            ServerSide::External(_) => BTreeMap::new(),
        }
    }

    /// Ends what the cell has started.
    pub(super) fn stop(self) -> Result<Testimony, CellError> {
        match self {
            ServerSide::Lab(servers) => servers.stop().map(Testimony::Log),
            ServerSide::External(route) => route.close().map(Testimony::Travelled),
        }
    }
}
