//! The environment that drivers and codec runners are started with.
//!
//! Two variables name the paths of the pipes to the lab; the program opens each once, input first.
//! On a bench they are inherited pipes, under `/proc/self/fd`. End of file shows either side that
//! the other has gone, wrappers and children included, provided that nobody else holds an end open.

use std::ffi::OsString;
use std::path::Path;

/// Names the path that requests are read from.
pub const ENV_IN: &str = "COMMUTE_IN";
/// Names the path that replies are written to.
pub const ENV_OUT: &str = "COMMUTE_OUT";
/// Gives `host:port` of a TCP connection to make instead, where paths cannot be passed.
pub const ENV_CONNECT: &str = "COMMUTE_CONNECT";

/// Where programs without a path are looked up.
pub const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns every variable that is set besides those of the channel. Nothing is inherited from
/// the lab's own environment.
pub fn base_env(home: &Path) -> Vec<(OsString, OsString)> {
    vec![
        ("HOME".into(), home.into()),
        ("TMPDIR".into(), home.into()),
        ("PATH".into(), SEARCH_PATH.into()),
        ("LANG".into(), "C.UTF-8".into()),
    ]
}
