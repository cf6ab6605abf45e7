//! The user's own server as cells reach it: through a relay at the far end of the link.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proof::Accepted;
use pump::Bench;
use study::plan::Plan;
use study::{ExternalServer, ServerUrl, Trust};

use super::error::CellError;
use crate::error::LabError;
use crate::lab::Lab;
use crate::relay::{FarEnd, Relay};

/// Connections that a cell opens to measure the round trip: half of them before its steps.
pub const PROBES_PER_CELL: usize = 6;
/// Longer than three SYNs take (RFC 6298: after 1 and 3 s).
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// The user's own server, looked up once for a run, so that all its cells connect to one address.
#[derive(Clone, Debug)]
pub(crate) struct External {
    url: ServerUrl,
    address: SocketAddr,
    /// The authorities that clients trust, in PEM.
    ca_pem: String,
}

impl Lab {
    /// Returns the address of the user's own server, if the plan has one and it accepts a connection.
    pub fn reach(&self, plan: &Plan) -> Result<Option<SocketAddr>, LabError> {
        let external = plan.study.external.as_ref();
        let found = external.map(External::find).transpose()?;
        Ok(found.map(|found| found.address()))
    }
}

impl External {
    /// Resolves the server's name, and takes the first of its addresses that accepts a connection.
    pub(crate) fn find(server: &ExternalServer) -> Result<External, LabError> {
        let url = &server.url;
        let place = server.address.clone().unwrap_or_else(|| url.authority());
        let unreachable = |why: String| LabError::Unreachable(format!("{url}: {why}"));
        let addresses = (place.to_socket_addrs())
            .map_err(|e| unreachable(format!("{place} is not known: {e}")))?;
        let mut refusals = Vec::new();
        for address in addresses {
            match connect_ns(&address) {
                Ok(_) => {
                    return Ok(External {
                        url: url.clone(),
                        address,
                        ca_pem: authorities(&server.trust)?,
                    });
                }
                Err(e) => refusals.push(format!("no connection to {address}: {e}")),
            }
        }
        Err(unreachable(match refusals.is_empty() {
            true => format!("{place} has no address"),
            false => refusals.join("; "),
        }))
    }

    /// Returns the name by which clients know it.
    pub(crate) fn name(&self) -> &str {
        &self.url.name
    }

    /// Returns the address that is connected to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Returns the text of the authorities to trust.
fn authorities(trust: &Trust) -> Result<String, LabError> {
    let file = match trust {
        Trust::Pem(pem) => return Ok(pem.clone()),
        Trust::File(path) | Trust::OfStudy(path) => path.clone(),
        Trust::System => openssl_probe::probe().cert_file.ok_or_else(|| {
            LabError::Unreachable(
                "this system has no file of certificate authorities; name one with --ca".to_owned(),
            )
        })?,
    };
    fs::read_to_string(&file).map_err(|source| LabError::Read { path: file, source })
}

fn connect_ns(address: &SocketAddr) -> io::Result<u64> {
    let started = Instant::now();
    TcpStream::connect_timeout(address, CONNECT_LIMIT)?;
    Ok(started.elapsed().as_nanos() as u64)
}

/// The way to the user's own server in one cell.
pub(crate) struct Route {
    relay: Relay,
    url: String,
    address: SocketAddr,
    /// Has `ca.pem`, as a server of the lab has.
    credentials: PathBuf,
    connect_ns: Vec<u64>,
}

/// What a cell learnt of its way to the user's own server.
pub(crate) struct Travelled {
    pub(crate) relay: record::Relay,
    /// The connections over TCP.
    pub(crate) accepted: Vec<Accepted>,
}

impl Route {
    /// Measures the round trip to the server, and opens its port at the far end of the link.
    pub(super) fn open(
        bench: &mut Bench,
        external: &External,
        dir: &Path,
    ) -> Result<Route, CellError> {
        fs::write(dir.join("ca.pem"), &external.ca_pem).map_err(|e| CellError::io("ca.pem", &e))?;
        let connect_ns = probe(&external.url, &external.address)?;
        let far = FarEnd::open(bench, external.url.port)?;
        let relay = Relay::start_watching(far, external.address);
        Ok(Route {
            relay: relay.map_err(|e| CellError::io("relay", &e))?,
            url: external.url.to_string(),
            address: external.address,
            credentials: dir.to_owned(),
            connect_ns,
        })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn credentials(&self) -> &Path {
        &self.credentials
    }

    /// Ends the relay, and measures the round trip once more. A server that is gone by then proves
    /// nothing about the driver.
    pub(super) fn close(mut self) -> Result<Travelled, CellError> {
        let accepted = self.relay.accepted();
        drop(self.relay);
        self.connect_ns.extend(probe(&self.url, &self.address)?);
        Ok(Travelled {
            relay: record::Relay {
                address: self.address.to_string(),
                connect_ns: self.connect_ns,
            },
            accepted,
        })
    }
}

fn probe(url: &impl std::fmt::Display, address: &SocketAddr) -> Result<Vec<u64>, CellError> {
    let failed = |e| CellError::Lab(format!("server {url}: no connection to {address}: {e}"));
    (0..PROBES_PER_CELL / 2)
        .map(|_| connect_ns(address).map_err(failed))
        .collect()
}
