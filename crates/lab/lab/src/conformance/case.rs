use driver::protocol::{Capability, Codec, Discovery, Protocol, Setup, Step};
use study::plan::SentRequests;
use study::{AuthScheme, Placement, Security};

use super::evidence::Evidence;
use crate::cell::scratch::Scratch;
use crate::stacks::Driver;

/// One conformance case.
pub struct Case {
    /// A short name, for columns and manifests.
    pub name: &'static str,
    /// What it checks, in one line.
    pub about: &'static str,
    /// The protocols it applies to.
    pub(super) protocols: &'static [Protocol],
    /// The capability that the driver must offer; without it the case is unsupported.
    pub(super) needs: Option<Capability>,
    pub(super) method: Method,
}

/// How a case is tried.
#[derive(Clone, Copy)]
pub(super) enum Method {
    /// Sends the driver a request it cannot know, without a bench.
    UnknownRequest,
    /// Measures one cell.
    Cell(fn(Protocol) -> Trial),
    /// Measures a cell for each codec that the driver offers.
    Exchange(fn(Protocol) -> Trial),
}

/// The cell of a case.
pub(super) struct Trial {
    pub(super) steps: Vec<Step>,
    /// The requests of a study's own among them.
    pub(super) own: SentRequests,
    /// More arguments for the server.
    pub(super) server_args: Vec<String>,
    /// The name on the server's certificate, when it is to be wrong.
    pub(super) certificate_name: Option<&'static str>,
    pub(super) security: Security,
    pub(super) auth: Option<AuthScheme>,
    /// The origins besides the first, by name.
    pub(super) origins: &'static [(&'static str, Placement)],
    pub(super) discovery: Option<Discovery>,
    pub(super) observe: Option<&'static str>,
    pub(super) warmup_calls: u32,
    /// The codec of exchanges; none for the protocol's plain one.
    pub(super) codec: Option<Codec>,
    pub(super) timeout_ns: u64,
    /// Changes the driver's setup.
    pub(super) amend_setup: fn(&mut Setup, &OtherCredentials),
    pub(super) check: fn(&Evidence<'_>) -> Result<(), String>,
}

/// Credentials that another server made, which this one does not accept.
pub(super) struct OtherCredentials {
    pub(super) scratch: Scratch,
}

impl OtherCredentials {
    pub(super) fn path(&self, name: &str) -> String {
        self.scratch.client().join(name).display().to_string()
    }
}

impl Case {
    /// Reports whether the case is one for this protocol. A client that chooses by itself has the cases that HTTP/2 and
    /// HTTP/3 share.
    pub(super) fn applies_to(&self, protocol: Protocol) -> bool {
        let has = |protocol| self.protocols.contains(&protocol);
        match protocol {
            Protocol::Auto => has(Protocol::H2) && has(Protocol::H3),
            _ => has(protocol),
        }
    }

    /// Returns why the case does not apply to this driver, if it does not.
    pub(super) fn unsupported_by(
        &self,
        driver: &Driver,
        protocol: Protocol,
        offered: &[Capability],
    ) -> Option<String> {
        if let Some(reason) = driver.entry.limit(protocol, self.name) {
            return Some(reason.to_owned());
        }
        let missing = self.needs.filter(|needed| !offered.contains(needed))?;
        let name = serde_json::to_string(&missing).unwrap_or_default();
        Some(format!(
            "the driver does not offer {}",
            name.trim_matches('"')
        ))
    }
}
