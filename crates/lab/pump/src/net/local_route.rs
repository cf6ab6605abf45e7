//! Waits for the route by which the kernel takes packets to an IPv6 address for its own.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

const POLL_INTERVAL: Duration = Duration::from_micros(200);
/// A deadline against hanging.
const WITHIN: Duration = Duration::from_secs(2);

/// Waits until the calling thread's namespace takes packets to an address that it has just got. For IPv4 that is at once;
/// for IPv6, Linux leaves it to a work queue.
pub(crate) fn wait_for(address: IpAddr) -> io::Result<()> {
    let IpAddr::V6(address) = address else {
        return Ok(());
    };
    let until = Instant::now() + WITHIN;
    while !is_there(address)? {
        if Instant::now() > until {
            return Err(io::Error::other(format!("{address} does not come up")));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Reports whether there is a route to this address alone, which is local to whoever has the address.
fn is_there(address: Ipv6Addr) -> io::Result<bool> {
    let routes = fs::read_to_string("/proc/thread-self/net/ipv6_route")?;
    let start = format!("{:032x} 80 ", address.to_bits());
    Ok(routes.lines().any(|route| route.starts_with(&start)))
}
