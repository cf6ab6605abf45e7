//! The protocol between the owner of a bench, which sends requests, and the init process inside the
//! namespaces, which replies. A message is a length and JSON, with file descriptors beside it.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

use link::window::Window;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::confinement::{Confinement, Sandbox, SandboxId};
use crate::facts::{Facts, Families, Side};

/// Environment variable with the number of init's control socket.
pub(crate) const CONTROL_FD: &str = "COMMUTE_BENCH_FD";
/// A long rate trace is a few MB.
const MESSAGE_MAX: usize = 64 << 20;
/// Below the kernel's 253 (SCM_MAX_FD).
const FDS_MAX: usize = 64;

/// First message, owner to init.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    /// Host names of the server.
    pub(crate) names: Vec<String>,
    /// Folders that confined programs need, see [`crate::BenchOptions`].
    pub(crate) visible: Vec<Bytes>,
    /// Folders that they must not see.
    pub(crate) hidden: Vec<Bytes>,
    /// Share of a core that each direction may spend spinning, in thousandths.
    pub(crate) spin_permille: u64,
}

/// A request of the owner.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    SetNetwork {
        network: Box<link::Network>,
        seed: u64,
    },
    SetCongestion {
        name: String,
    },
    /// Counts the packets that the client has sent since the window began.
    SentByClient,
    /// The client takes the next addresses.
    MoveClient {
        families: Families,
    },
    /// The client gives up all addresses but the last.
    LeaveAddresses {
        abort_tcp: bool,
    },
    EnableSegmentationOffload,
    NumberEveryFlow,
    SetCapture {
        bytes: usize,
    },
    MakeSandbox {
        sandbox: SandboxWire,
    },
    /// Where `in_cgroup`, the last descriptor is that of the cgroup to join.
    Spawn {
        side: Side,
        command: SpawnWire,
    },
    Kill {
        pid: i32,
        signal: i32,
        whole_tree: bool,
    },
    /// Continues a stopped process, with the terminal or without.
    Resume {
        pid: i32,
        foreground: bool,
    },
    BeginWindow {
        /// Only connections that open in the window count.
        cell: bool,
    },
    Settle {
        limit_ns: u64,
    },
    EndWindow,
    ClearEndpoints,
    /// Counts the ports that are open at one end.
    OpenPorts {
        side: Side,
    },
    Tap,
    Capture {
        side: Side,
    },
    Connect {
        side: Side,
        address: SocketAddr,
    },
    Bind {
        side: Side,
        udp: bool,
        address: SocketAddr,
    },
}

/// A reply of init.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// First message, init to owner.
    Ready(Box<Facts>),
    Done,
    Settled(bool),
    OpenPorts(usize),
    SentByClient(u64),
    Sandbox(SandboxId),
    /// With the descriptor that its [`ProcessEvent`]s are written to.
    Spawned {
        pid: i32,
    },
    Window(Box<Window>),
    /// Names of the processes that had to be killed.
    Cleared(Vec<String>),
    /// With a descriptor: the tap, a capture or a socket.
    File {
        /// Packets that a tap or capture had no room for.
        missed: u64,
    },
    /// The program does not exist or cannot be executed.
    CannotRun {
        message: String,
        not_found: bool,
    },
    Failed {
        message: String,
    },
}

/// [`crate::Spawn`] without its descriptors, which are sent beside it in the order of `targets`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SpawnWire {
    pub(crate) program: Bytes,
    pub(crate) args: Vec<Bytes>,
    pub(crate) env: Vec<(Bytes, Bytes)>,
    pub(crate) cwd: Option<Bytes>,
    pub(crate) targets: Vec<i32>,
    pub(crate) foreground: bool,
    pub(crate) confinement: Option<Confinement>,
    pub(crate) sandbox: Option<SandboxId>,
    pub(crate) in_cgroup: bool,
    pub(crate) raw_sockets: bool,
}

/// [`Sandbox`] without the limits that a cgroup has.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SandboxWire {
    user: Option<u32>,
    home: Option<Bytes>,
    readable: Vec<Bytes>,
    writable: Vec<Bytes>,
    max_file_bytes: u64,
}

impl From<&Sandbox> for SandboxWire {
    fn from(sandbox: &Sandbox) -> SandboxWire {
        SandboxWire {
            user: sandbox.user,
            home: sandbox.home.as_ref().map(|home| home.as_os_str().into()),
            readable: bytes(&sandbox.readable),
            writable: bytes(&sandbox.writable),
            max_file_bytes: sandbox.max_file_bytes,
        }
    }
}

impl From<SandboxWire> for Sandbox {
    fn from(wire: SandboxWire) -> Sandbox {
        Sandbox {
            user: wire.user,
            home: wire.home.map(|home| OsString::from(home).into()),
            readable: paths(wire.readable),
            writable: paths(wire.writable),
            max_file_bytes: wire.max_file_bytes,
            ..Sandbox::default()
        }
    }
}

/// Returns paths as they are sent.
pub(crate) fn bytes(paths: &[PathBuf]) -> Vec<Bytes> {
    paths.iter().map(|path| path.as_os_str().into()).collect()
}

/// Returns paths that were sent.
pub(crate) fn paths(bytes: Vec<Bytes>) -> Vec<PathBuf> {
    let paths = bytes.into_iter();
    paths.map(|bytes| OsString::from(bytes).into()).collect()
}

/// An `OsString`, which need not be UTF-8.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Bytes(Vec<u8>);

impl From<&std::ffi::OsStr> for Bytes {
    fn from(s: &std::ffi::OsStr) -> Bytes {
        Bytes(s.as_bytes().to_vec())
    }
}

impl From<Bytes> for OsString {
    fn from(b: Bytes) -> OsString {
        OsString::from_vec(b.0)
    }
}

/// A state change of a process, written to its spawner as one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ProcessEvent {
    /// The process was stopped, e.g. by Ctrl-Z.
    Stopped,
    /// The process has exited; nothing follows.
    Exited(ExitWire),
}

/// How a process ended.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExitWire {
    /// In the encoding of `waitpid`.
    pub(crate) status: i32,
    pub(crate) cpu_ns: u64,
}

/// Sends one message with descriptors.
pub(crate) fn send<T: Serialize>(
    socket: &UnixStream,
    message: &T,
    fds: &[std::os::fd::BorrowedFd<'_>],
) -> io::Result<()> {
    let body = serde_json::to_vec(message)?;
    if body.len() > MESSAGE_MAX || fds.len() > FDS_MAX {
        return Err(io::Error::other("a message to the bench is too large"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::Error::other("too many descriptors"));
    }
    let length = (body.len() as u32).to_le_bytes();
    // The descriptors are attached to the length, which is too short to be split.
    let sent = sendmsg(
        socket.as_fd(),
        &[IoSlice::new(&length)],
        &mut beside,
        SendFlags::NOSIGNAL,
    )?;
    if sent != length.len() {
        return Err(io::ErrorKind::WriteZero.into());
    }
    let mut rest = &body[..];
    while !rest.is_empty() {
        let sent = rustix::net::send(socket.as_fd(), rest, SendFlags::NOSIGNAL)?;
        rest = &rest[sent..];
    }
    Ok(())
}

/// Receives one message with its descriptors.
pub(crate) fn receive<T: DeserializeOwned>(socket: &UnixStream) -> io::Result<(T, Vec<OwnedFd>)> {
    let mut length = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FDS_MAX))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let into = &mut [IoSliceMut::new(&mut length)];
        match recvmsg(socket.as_fd(), into, &mut beside, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            other => break other?,
        }
    };
    if received.bytes != length.len() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut fds = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MESSAGE_MAX {
        return Err(io::Error::other("a message from the bench is too large"));
    }
    let mut body = vec![0; length];
    io::Read::read_exact(&mut &*socket, &mut body)?;
    Ok((serde_json::from_slice(&body)?, fds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_arrives_with_its_descriptors() {
        let (a, b) = UnixStream::pair().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let kill = Request::Kill {
            pid: 3,
            signal: 9,
            whole_tree: true,
        };
        send(&a, &kill, &[writer.as_fd()]).unwrap();
        drop(writer);
        let (received, fds) = receive::<Request>(&b).unwrap();
        assert!(matches!(
            received,
            Request::Kill {
                pid: 3,
                signal: 9,
                whole_tree: true
            }
        ));
        let mut writer = std::fs::File::from(fds.into_iter().next().unwrap());
        io::Write::write_all(&mut writer, b"x").unwrap();
        drop(writer);
        assert_eq!(io::read_to_string(reader).unwrap(), "x");
    }

    #[test]
    fn closed_socket_is_an_error() {
        let (a, b) = UnixStream::pair().unwrap();
        drop(a);
        assert_eq!(
            receive::<Request>(&b).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
    }

    #[test]
    fn oversize_message_is_refused() {
        let (a, b) = UnixStream::pair().unwrap();
        io::Write::write_all(&mut &a, &u32::MAX.to_le_bytes()).unwrap();
        assert!(
            receive::<Request>(&b)
                .unwrap_err()
                .to_string()
                .contains("too large")
        );
    }
}
