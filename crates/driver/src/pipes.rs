//! How a driver finds the lab: names in its environment.
//!
//! Two paths, each opened once, input first. Under `/proc/self/fd` they are pipes the driver
//! has inherited; then end of file tells either side that the other is gone, wrappers and
//! children included, for as long as nobody else holds an end open.

/// The path a driver reads requests from.
pub const ENV_IN: &str = "COMMUTE_IN";
/// The path a driver writes replies to.
pub const ENV_OUT: &str = "COMMUTE_OUT";
/// `host:port` to connect to instead, where there are no paths.
pub const ENV_CONNECT: &str = "COMMUTE_CONNECT";
