//! The limit of open descriptors, for verbs that hold many sockets.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the soft limit of open descriptors, usually 1024, to the hard one. Returns the limit in effect; none if there
/// is none. Processes that run already keep theirs.
pub(crate) fn raise_limit() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // A lower limit only means that fewer sockets are open at once.
    let _raised = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current
}
