//! Setting up the network of a bench: namespaces, interfaces, offloads, settings, counters.

pub(crate) mod counters;
pub(crate) mod ethtool;
pub(crate) mod genl;
pub(crate) mod netlink;
pub(crate) mod netns;
pub(crate) mod sysctl;
