//! Which connections are accepted: how many in all, and how many of one address.
//!
//! Without the second limit one client could take all connections with idle ones, and nobody else would be served until
//! they time out. The first refusal of each kind is logged as a warning, so that whoever runs the server learns of it.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::config::Limits;

/// An address of IPv6 stands for its network of this length, which one client usually has.
const IPV6_NETWORK_BITS: u32 = 64;

/// The connections of a server.
pub(crate) struct Admission {
    /// One permit per connection that may still be accepted.
    places: Arc<Semaphore>,
    most: usize,
    most_of_one_address: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
    warned: Warned,
}

/// The kinds of refusals that a warning was logged about.
#[derive(Default)]
struct Warned {
    all: AtomicBool,
    of_one_address: AtomicBool,
    accept: AtomicBool,
}

/// A place for a connection whose client is not known yet.
pub(crate) struct Place {
    admission: Arc<Admission>,
    _permit: OwnedSemaphorePermit,
}

/// A connection that was accepted; counts until it is dropped.
pub(crate) struct Admitted {
    place: Place,
    client: IpAddr,
}

impl Admission {
    pub(crate) fn new(limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(limits.connections)),
            most: limits.connections,
            most_of_one_address: limits.connections_of_one_address,
            open: Mutex::default(),
            warned: Warned::default(),
        })
    }

    /// Waits for a place.
    pub(crate) async fn place(self: &Arc<Self>) -> Place {
        if let Some(place) = self.try_place() {
            return place;
        }
        let permit = self.places.clone().acquire_owned().await;
        Place {
            admission: self.clone(),
            _permit: permit.expect("the semaphore is never closed"),
        }
    }

    /// Returns a place, if there is one.
    pub(crate) fn try_place(self: &Arc<Self>) -> Option<Place> {
        let Ok(permit) = self.places.clone().try_acquire_owned() else {
            if is_first(&self.warned.all) {
                let most = self.most;
                tracing::warn!(
                    "all {most} connections are taken: further clients wait or are refused"
                );
            }
            return None;
        };
        Some(Place {
            admission: self.clone(),
            _permit: permit,
        })
    }

    /// Logs that a connection could not be accepted. The client may just have gone already, which is not worth a
    /// warning.
    pub(crate) fn log_failed_accept(&self, error: &io::Error) {
        let is_scarce = matches!(
            error.raw_os_error(),
            Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
        );
        if is_scarce && is_first(&self.warned.accept) {
            tracing::warn!(%error, "cannot accept connections: clients wait until others leave");
        } else {
            tracing::debug!(%error, "cannot accept a connection");
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        // Each use is a single operation on the map, so a panic cannot leave it half changed.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Takes the place for a connection from this address. Returns none if the address has too many already.
    pub(crate) fn admit(self, address: IpAddr) -> Option<Admitted> {
        let client = client(address);
        let mut open = self.admission.open();
        let count = open.entry(client).or_default();
        let most = self.admission.most_of_one_address;
        if *count >= most {
            drop(open);
            match is_first(&self.admission.warned.of_one_address) {
                true => tracing::warn!(
                    "{client} has {most} connections, the most of one address: further ones are refused"
                ),
                false => tracing::debug!("refused: {client} has too many connections"),
            }
            return None;
        }
        *count += 1;
        drop(open);
        Some(Admitted {
            place: self,
            client,
        })
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        let mut open = self.place.admission.open();
        if let Some(count) = open.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.client);
            }
        }
    }
}

/// Returns whether a refusal is the first of its kind.
fn is_first(warned: &AtomicBool) -> bool {
    !warned.swap(true, Ordering::Relaxed)
}

/// Returns the address, or the network, that stands for a client.
fn client(address: IpAddr) -> IpAddr {
    // An IPv6 socket sees IPv4 clients under mapped addresses (RFC 4291, 2.5.5.2).
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let network = u128::from(v6) >> (128 - IPV6_NETWORK_BITS) << (128 - IPV6_NETWORK_BITS);
            Ipv6Addr::from(network).into()
        }
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_leaves_places_for_others() {
        let admission = Admission::new(&Limits {
            connections: 4,
            connections_of_one_address: 2,
            ..Limits::default()
        });
        let admit = |text| admission.try_place()?.admit(address(text));
        let first = admit("192.0.2.1").unwrap();
        // The same client, seen by a socket of IPv6.
        let _second = admit("::ffff:192.0.2.1").unwrap();
        assert!(admit("192.0.2.1").is_none());
        let _third = admit("192.0.2.2").unwrap();
        drop(first);
        let _again = admit("192.0.2.1").unwrap();
        let _fourth = admit("2001:2::1").unwrap();
        assert!(admit("192.0.2.3").is_none(), "all places are taken");
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        assert_eq!(
            client(address("2001:2::1")),
            client(address("2001:2::ffff"))
        );
        assert_ne!(
            client(address("2001:2::1")),
            client(address("2001:2:0:1::1"))
        );
    }
}
