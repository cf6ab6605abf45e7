//! Network configuration of a bench: namespaces, interfaces, offloads, sysctls, counters.

pub(crate) mod counters;
pub(crate) mod ethtool;
pub(crate) mod genl;
pub(crate) mod local_route;
pub(crate) mod netlink;
pub(crate) mod netns;
mod request;
pub(crate) mod sock_diag;
pub(crate) mod sysctl;
