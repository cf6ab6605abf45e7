//! Carries real packets through a [`link`] model, between two endpoints that any program can
//! run in.
//!
//! # The life of a bench
//!
//! [`Bench::start`] starts a second process, whose body is [`init_main`]. Without the
//! capabilities to build a network it enters a user namespace that maps the caller to itself,
//! where it has them; from there on root and everyone else take the same way. It makes a mount,
//! a PID and a network namespace, becomes process 1 of them, gives itself a private `/proc`,
//! hosts, nsswitch and resolver files, and makes two more network namespaces, *client* and
//! *server*, each joined to its own by a veth pair:
//!
//! ```text
//!   client            link (init)                     server
//!   eth0 ---------- client | up ->   | server ---------- eth0
//!                          | <- down |
//! ```
//!
//! Nothing routes between them. Two threads carry whole Ethernet frames, one per direction:
//! out of a mapped receive ring that the kernel stamps with the time of arrival, through a
//! [`link::Path`], and out of the other interface at the time the model says. All time in the
//! model is virtual, computed from arrival stamps: a thread that wakes up late delays one
//! packet and never the average. The threads share nothing with ordinary ones but a mailbox
//! with room for one letter.
//!
//! The endpoints' interfaces send wire-size frames only (segmentation stays before them), with
//! checksums left to the link, which completes them. Neighbours are static and nothing is
//! announced, so the only packets on the link are those of the programs under test.
//!
//! [`Bench::spawn`] runs a program at an end, with the caller's user and without capabilities.
//! [`Bench::begin_window`] and [`Bench::end_window`] enclose a [`Window`]: what was sent, delivered and
//! dropped, how late packets left, what it cost each side, and everything that may have
//! noisy it. [`Bench::tap`] has every packet of the window.
//!
//! The inside ends when its control socket does: dropping the bench, or killing its owner,
//! leaves no process, interface or namespace behind.

mod bench;
mod bridge;
mod calibration;
mod connection;
mod datapath;
mod error;
mod facts;
mod init;
mod kernel_thread;
mod net;
mod other_cpu;
mod pcapng;
mod process;
mod protocol;
mod sys;
mod tap;
mod window;

pub use bench::{Bench, BenchOptions, Init, SocketKind};
pub use bridge::{Bridge, BridgeError};
pub use calibration::{Bias, Calibration};
pub use error::BenchError;
pub use facts::{Addresses, Facts, Side};
pub use init::init_main;
pub use process::{Exit, Process, Spawn};
pub use tap::{Fate, TapRecord};
pub use window::{
    ByTransport, Costs, Count, Drops, ForeignDrops, InterfaceCount, Interfaces, Lateness, Socket,
    Totals, Window,
};
