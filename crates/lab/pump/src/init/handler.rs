//! Handles the owner's requests, one after another.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use link::{FlowRule, Network, PathSpec};

use super::endpoint::Endpoint;
use super::moves::Moves;
use super::reaper::{Place, Reaper};
use super::sandbox::Namespaces;
use super::window::WindowRecorder;
use crate::confinement::{Sandbox, SandboxId};
use crate::datapath::threads::{LinkThreads, Setup};
use crate::facts::{Facts, INTERFACE, Side};
use crate::net::netlink::Netlink;
use crate::net::{counters, sysctl};
use crate::protocol::{self, Reply, Request};

/// Linux's own default. Set explicitly on each route, since the default of a namespace is that of
/// the machine.
const DEFAULT_CONGESTION: &str = "cubic";
/// Five SYNs (RFC 6298: after 1, 2, 4 and 8 s).
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// Largest capture per direction.
const CAPTURE_MAX: usize = 1 << 30;

/// The state of a bench.
pub(super) struct RequestHandler {
    facts: Facts,
    endpoints: [Endpoint; 2],
    link: LinkThreads,
    reaper: Reaper,
    windows: WindowRecorder,
    moves: Moves,
    network: Network,
    seed: u64,
    congestion: String,
    spin_permille: u64,
    capture_bytes: usize,
    /// Cells number every flow, also those from before their window.
    number_every_flow: bool,
    surroundings: Surroundings,
    /// The sandboxes since the endpoints were last cleared.
    sandboxes: HashMap<SandboxId, Namespaces>,
    /// Sandboxes made so far.
    sandbox_count: u32,
}

/// What the sandboxes of a bench have in common, see [`crate::BenchOptions`].
pub(super) struct Surroundings {
    pub(super) visible: Vec<PathBuf>,
    pub(super) hidden: Vec<PathBuf>,
}

/// A reply and perhaps a descriptor.
type Handled = io::Result<(Reply, Option<OwnedFd>)>;

/// Handles requests until the owner closes the connection.
pub(super) fn serve(mut handler: RequestHandler, socket: &UnixStream) {
    while let Ok((request, fds)) = protocol::receive::<Request>(socket) {
        let (reply, fd) = match handler.handle(request, fds) {
            Ok(handled) => handled,
            Err(e) => (
                Reply::Failed {
                    message: e.to_string(),
                },
                None,
            ),
        };
        let fds: Vec<_> = fd.iter().map(AsFd::as_fd).collect();
        if protocol::send(socket, &reply, &fds).is_err() {
            return;
        }
    }
}

impl RequestHandler {
    /// Builds the endpoints and an unimpaired link between them.
    pub(super) fn new(
        rootless: bool,
        spin_permille: u64,
        surroundings: Surroundings,
    ) -> io::Result<RequestHandler> {
        sysctl::write(sysctl::LINK)?;
        let netlink = Netlink::open()?;
        let endpoints = [
            Endpoint::new(Side::Client, &netlink)?,
            Endpoint::new(Side::Server, &netlink)?,
        ];
        let network = open_network();
        let congestion = DEFAULT_CONGESTION.to_owned();
        for endpoint in &endpoints {
            endpoint.configure(network.mtu, &congestion)?;
        }
        let [client, server] = &endpoints;
        let link = LinkThreads::start(&Setup {
            network: &network,
            seed: 0,
            interfaces: [client.link_index, server.link_index],
            spin_permille,
            frame_bytes: 0,
        })?;
        let facts = Facts {
            rootless,
            realtime: link.realtime,
            memory_locked: link.memory_locked,
            client: Side::Client.addresses(),
            server: Side::Server.addresses(),
            interface: INTERFACE.to_owned(),
            ring_bytes: link.ring_bytes,
            kernel_threads: [client.kernel_threads.clone(), server.kernel_threads.clone()],
            // Set by the owner, which can see these threads.
            kernel_threads_realtime: false,
            congestion_controls: sysctl::congestion_controls()?,
            sysctls: sysctl::ENDPOINT
                .iter()
                .map(|(name, value)| format!("net.{} = {value}", name.replace('/', ".")))
                .collect(),
        };
        Ok(RequestHandler {
            facts,
            endpoints,
            link,
            reaper: Reaper::start(),
            windows: WindowRecorder::default(),
            moves: Moves::default(),
            network,
            seed: 0,
            congestion,
            spin_permille,
            capture_bytes: 0,
            number_every_flow: false,
            surroundings,
            sandboxes: HashMap::new(),
            sandbox_count: 0,
        })
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    fn handle(&mut self, request: Request, fds: Vec<OwnedFd>) -> Handled {
        let done = Ok((Reply::Done, None));
        match request {
            Request::SetNetwork { network, seed } => {
                (self.network, self.seed) = (*network, seed);
                self.moves.undo(&self.endpoints[0])?;
                self.configure_endpoints()?;
                self.restart_link()?;
                done
            }
            Request::SentByClient => {
                let packets = self.windows.sent_by(&self.endpoints[0])?;
                Ok((Reply::SentByClient(packets), None))
            }
            Request::MoveClient { families } => {
                let (mtu, left) = (self.network.mtu, self.link.left_addresses());
                let congestion = &self.congestion;
                (self.moves).move_client(families, &self.endpoints, mtu, congestion, left)?;
                done
            }
            Request::LeaveAddresses { abort_tcp } => {
                let left = self.link.left_addresses();
                (self.moves).leave_addresses(&self.endpoints[0], abort_tcp, left)?;
                done
            }
            Request::SetCongestion { name } => {
                self.set_congestion(name)?;
                done
            }
            Request::EnableSegmentationOffload => {
                self.endpoints
                    .iter()
                    .try_for_each(Endpoint::enable_segmentation_offload)?;
                done
            }
            Request::NumberEveryFlow => {
                self.number_every_flow = true;
                done
            }
            Request::SetCapture { bytes } => {
                self.capture_bytes = bytes.min(CAPTURE_MAX);
                self.restart_link()?;
                done
            }
            Request::Spawn { side, command } => {
                let place = Place {
                    endpoint: &self.endpoints[side as usize],
                    namespaces: self.namespaces(command.sandbox)?,
                };
                match self.reaper.spawn(&place, command, fds) {
                    Ok((pid, events)) => Ok((Reply::Spawned { pid }, Some(events.into()))),
                    Err(e) => Ok((
                        Reply::CannotRun {
                            not_found: e.kind() == io::ErrorKind::NotFound,
                            message: e.to_string(),
                        },
                        None,
                    )),
                }
            }
            Request::Kill {
                pid,
                signal,
                whole_tree,
            } => {
                self.reaper.kill(pid, signal, whole_tree)?;
                done
            }
            Request::Resume { pid, foreground } => {
                self.reaper.resume(pid, foreground)?;
                done
            }
            Request::BeginWindow { cell } => {
                let rule = if cell && !self.number_every_flow {
                    FlowRule::Opening
                } else {
                    FlowRule::AnyPacket
                };
                self.windows
                    .begin(&mut self.link, &self.endpoints, &self.reaper, cell, rule)?;
                done
            }
            Request::ClearEndpoints => {
                let killed = self.reaper.end_all()?.into_iter().collect();
                self.endpoints
                    .iter()
                    .try_for_each(Endpoint::close_tcp_sockets)?;
                self.sandboxes.clear();
                Ok((Reply::Cleared(killed), None))
            }
            Request::MakeSandbox { sandbox } => {
                let id = self.make_sandbox(&sandbox.into())?;
                Ok((Reply::Sandbox(id), None))
            }
            Request::Settle { limit_ns } => {
                let empty = self.link.settle(Duration::from_nanos(limit_ns));
                Ok((Reply::Settled(empty), None))
            }
            Request::EndWindow => {
                let window = self
                    .windows
                    .end(&mut self.link, &self.endpoints, &self.reaper)?;
                Ok((Reply::Window(Box::new(window)), None))
            }
            Request::OpenPorts { side } => {
                let ports = self.endpoints[side as usize]
                    .netns
                    .run(counters::open_ports)?;
                Ok((Reply::OpenPorts(ports), None))
            }
            Request::Tap => {
                let (file, missed) = self.windows.tap()?;
                Ok((Reply::File { missed }, Some(file)))
            }
            Request::Capture { side } => {
                let (file, missed) = self.windows.capture(side)?;
                Ok((Reply::File { missed }, Some(file)))
            }
            Request::Connect { side, address } => {
                let netns = &self.endpoints[side as usize].netns;
                let socket = netns.run(|| TcpStream::connect_timeout(&address, CONNECT_LIMIT))?;
                Ok((Reply::File { missed: 0 }, Some(socket.into())))
            }
            Request::Bind { side, udp, address } => {
                let socket = self.endpoints[side as usize]
                    .netns
                    .run(|| bind(udp, address))?;
                Ok((Reply::File { missed: 0 }, Some(socket)))
            }
        }
    }

    fn make_sandbox(&mut self, sandbox: &Sandbox) -> io::Result<SandboxId> {
        let Surroundings { visible, hidden } = &self.surroundings;
        let namespaces = Namespaces::new(sandbox, visible, hidden)
            .map_err(|e| io::Error::other(format!("cannot make a sandbox: {e}")))?;
        self.sandbox_count += 1;
        let id = SandboxId(self.sandbox_count);
        self.sandboxes.insert(id, namespaces);
        Ok(id)
    }

    fn namespaces(&self, sandbox: Option<SandboxId>) -> io::Result<Option<Namespaces>> {
        let Some(id) = sandbox else {
            return Ok(None);
        };
        let namespaces = self.sandboxes.get(&id);
        let namespaces = namespaces.ok_or_else(|| io::Error::other("the sandbox is gone"))?;
        namespaces.try_clone().map(Some)
    }

    fn configure_endpoints(&self) -> io::Result<()> {
        self.endpoints
            .iter()
            .try_for_each(|e| e.configure(self.network.mtu, &self.congestion))
    }

    fn set_congestion(&mut self, name: String) -> io::Result<()> {
        if !self.facts.congestion_controls.contains(&name) {
            return Err(io::Error::other(format!(
                "this kernel has no congestion control {name:?}; available: {}",
                self.facts.congestion_controls.join(", ")
            )));
        }
        self.congestion = name;
        self.configure_endpoints()
    }

    /// Replaces the running link by a new one with the present settings.
    fn restart_link(&mut self) -> io::Result<()> {
        let [client, server] = &self.endpoints;
        self.windows.reset();
        // Stopped first: two rings on one interface would both receive.
        self.link.stop();
        self.link = LinkThreads::start(&Setup {
            network: &self.network,
            seed: self.seed,
            interfaces: [client.link_index, server.link_index],
            spin_permille: self.spin_permille,
            frame_bytes: self.capture_bytes,
        })?;
        Ok(())
    }
}

fn bind(udp: bool, address: SocketAddr) -> io::Result<OwnedFd> {
    if udp {
        UdpSocket::bind(address).map(OwnedFd::from)
    } else {
        TcpListener::bind(address).map(OwnedFd::from)
    }
}

/// Returns a network without impairment.
fn open_network() -> Network {
    Network {
        name: "open".to_owned(),
        about: "no impairment".to_owned(),
        source: String::new(),
        basis: None,
        mtu: 1500,
        up: PathSpec::default(),
        down: PathSpec::default(),
        nat: None,
    }
}
