//! Name resolution: by the platform, unless the app gives the addresses.

use std::net::{IpAddr, SocketAddr};

use route::{DnsAnswer, DnsRecords, Origin};

/// The sources of addresses and HTTPS records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolver {
    /// Addresses that are used instead of asking.
    pub(crate) known: Vec<(String, Vec<IpAddr>)>,
    /// The name servers for HTTPS records.
    #[cfg(feature = "https-records")]
    pub(crate) servers: std::sync::Arc<[SocketAddr]>,
}

impl Resolver {
    /// Reports whether there are name servers to ask for HTTPS records.
    pub(crate) fn has_https_records(&self) -> bool {
        #[cfg(feature = "https-records")]
        return !self.servers.is_empty();
        #[cfg(not(feature = "https-records"))]
        false
    }

    /// Looks up these records of an origin; returns nothing if there is no answer.
    pub(crate) fn resolve(
        &self,
        origin: &Origin,
        records: DnsRecords,
    ) -> impl Future<Output = Option<DnsAnswer>> + use<> {
        let (host, port) = (origin.host.to_string(), origin.port);
        let literal: Option<IpAddr> = host.parse().ok();
        let named = self.known.iter().find(|(name, _)| *name == host);
        let named = named.map(|(_, addresses)| addresses.clone());
        let known = literal.map(|ip| vec![ip]).or(named);
        #[cfg(feature = "https-records")]
        let servers = std::sync::Arc::clone(&self.servers);
        async move {
            match (records, known) {
                #[cfg(feature = "https-records")]
                (DnsRecords::Https, _) if literal.is_none() => {
                    let answer = crate::https_records::h3_record(servers, host, port).await;
                    answer.map(DnsAnswer::H3)
                }
                (DnsRecords::Https, _) => None,
                (DnsRecords::Addresses, Some(known)) => Some(DnsAnswer::Addresses(known)),
                (DnsRecords::Addresses, None) => {
                    let found = tokio::net::lookup_host((host, port)).await;
                    let addresses = |found| Iterator::map(found, |at: SocketAddr| at.ip());
                    found
                        .ok()
                        .map(|found| DnsAnswer::Addresses(addresses(found).collect()))
                }
            }
        }
    }
}
