use driver::protocol::{Clock, Row};
use link::tap::TapRecord;
use link::window::Window;
use record::server_log::ServerEvent;
use record::{Call, ConnectionSettings, Load, Stack};

/// A measured cell whose calls are proven, before the audit.
pub(crate) struct Measured {
    pub(crate) calls: Vec<Call>,
    /// The groups that are bound by time, whose calls are not among `calls`.
    pub(crate) loads: Vec<Load>,
    /// The driver's rows, which the calls were made from.
    pub(crate) rows: Vec<Row>,
    /// The server's log, which they were checked against.
    pub(crate) log: Vec<ServerEvent>,
    /// The way to the user's own server, where there is no log.
    pub(crate) relay: Option<record::Relay>,
    /// The driver's clock.
    pub(crate) clock: Clock,
    /// The moves of the phone to other addresses.
    pub(crate) moves: Vec<record::Move>,
    /// The states of the network's radio.
    pub(crate) radio: Vec<record::RadioChange>,
    pub(crate) connections: Vec<ConnectionSettings>,
    pub(crate) stack: Stack,
    pub(crate) window: Window,
    pub(crate) tap: Vec<TapRecord>,
    pub(crate) handshakes: Vec<Handshake>,
    /// CLOCK_MONOTONIC when the driver was sent its steps.
    pub(crate) started_ns: u64,
    /// From then to the last row.
    pub(crate) took_ns: u64,
    /// From spawning the driver to its `ready`.
    pub(crate) startup_ns: u64,
    /// CPU time of the driver outside the window.
    pub(crate) startup_cpu_ns: u64,
    /// The client's peak resident memory.
    pub(crate) peak_bytes: u64,
}

/// The handshake of one connection, as its client reported it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Handshake {
    /// The client's port.
    pub(crate) port: u16,
    /// CLOCK_MONOTONIC when the handshake was done.
    pub(crate) until_ns: u64,
}
