//! CPU and memory of both ends over a cell's window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the processes of client and server used over time, without kernel threads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timeline {
    /// One about every 100 ms of the window's first ten minutes, and one at its end if it was shorter.
    pub samples: Vec<Sample>,
    /// CPU that taking all samples cost, on another core than the link's; part of neither end's.
    pub sampler_cpu_ns: u64,
}

/// What the processes of client and server used since the sample before, or since the window began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// When it was taken, ns after the first step.
    pub at_ns: u64,
    /// CPU of the client's processes.
    pub client_cpu_ns: u64,
    /// CPU of the server's processes.
    pub server_cpu_ns: u64,
    /// Resident memory of the client's processes now, as the kernel estimates it: up to some 100 kB
    /// per process off.
    pub client_rss_bytes: u64,
    /// Resident memory of the server's processes now.
    pub server_rss_bytes: u64,
}
