//! Carries real packets through a [`link`] model, between two endpoints that any program can
//! run at.
//!
//! # The life of a bench
//!
//! [`Bench::start`] starts a second process, which runs [`init_main`]. Without the capabilities to
//! build a network it enters a user namespace that maps the caller to itself and grants them; from
//! then on root and other users take the same path. It creates a mount, a PID and a network
//! namespace and becomes process 1 of them. It mounts a private `/proc` and private hosts, nsswitch
//! and resolver files. It then creates two more network namespaces, *client* and *server*, each
//! connected to its own by a veth pair:
//!
//! ```text
//!   client            link (init)                     server
//!   eth0 ---------- client | up ->   | server ---------- eth0
//!                          | <- down |
//! ```
//!
//! Nothing routes between them. Two threads, one per direction, carry whole Ethernet frames. The
//! kernel puts a frame into a mapped receive ring and stamps it with its arrival time. The thread
//! passes it through a [`link::Path`] and sends it out of the other interface at the time that the
//! model gives. All time in the model is virtual and computed from arrival stamps: a thread that
//! wakes up late delays one packet and never the average. With ordinary threads they share only a
//! control channel with room for one message. With each other they share the numbers of flows and,
//! on networks with a NAT, its mappings. The up direction assigns both.
//!
//! The endpoints' interfaces send wire-size frames only (segmentation happens before them) and
//! leave checksums to the link, which completes them. Neighbour entries are static and nothing is
//! announced, so the only packets on the link are those of the programs under test.
//!
//! [`Bench::spawn`] runs a program at one end, with the caller's user and without capabilities. Programs that are not
//! trusted get another user, limits ([`Confinement`]) and file systems of their own ([`Bench::make_sandbox`]).
//! [`Bench::begin_window`], or [`Bench::begin_cell`], and [`Bench::end_window`] enclose a
//! [`Window`](link::window::Window): packets sent, delivered and dropped, how late packets left, the resources used by
//! each side, and all interference that can be detected. [`Bench::tap`] returns every packet of the window.
//!
//! [`Bench::move_client`] gives the client other addresses while its programs run, and [`Bench::leave_addresses`] takes
//! the former ones away. The interface and the link stay the same.
//!
//! The init process ends when its control socket is closed: dropping the bench, or killing its
//! owner, leaves no process, interface or namespace behind.
//!
//! A [`Bridge`] uses the same data path between two interfaces of the host.

mod bench;
mod bridge;
mod capabilities;
mod cgroup;
mod confined;
mod confinement;
mod connection;
mod datapath;
mod error;
mod facts;
mod idle;
mod init;
mod kernel_thread;
mod mounts;
mod net;
mod other_cpu;
mod pcapng;
mod process;
mod protocol;
mod seccomp;
mod sys;
mod teardown;

pub use bench::{Bench, BenchOptions, Init, SocketKind};
pub use bridge::{Bridge, BridgeError};
pub use confined::Confined;
pub use confinement::{Confinement, Sandbox, SandboxId};
pub use error::BenchError;
pub use facts::{Addresses, Facts, Families, MAX_MOVES, Side};
pub use init::init_main;
pub use init::namespaces::can_administer;
pub use process::{Exit, Process, Spawn};
