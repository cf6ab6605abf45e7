//! Answers the owner's questions, one after another.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use link::{Network, PathSpec};

use super::endpoint::Endpoint;
use super::reaper::Reaper;
use super::window::WindowRecorder;
use crate::datapath::threads::{LinkThreads, Setup};
use crate::facts::{Facts, INTERFACE, Side};
use crate::net::netlink::Netlink;
use crate::net::sysctl;
use crate::protocol::{self, Reply, Request};

/// All there is inside a bench.
pub(super) struct RequestHandler {
    facts: Facts,
    endpoints: [Endpoint; 2],
    link: LinkThreads,
    reaper: Reaper,
    windows: WindowRecorder,
    network: Network,
    seed: u64,
    congestion: String,
    bias_ns: [u64; 2],
    spin_permille: u64,
    capture_bytes: usize,
}

/// What goes back to the owner: words and perhaps a descriptor.
type Answer = io::Result<(Reply, Option<OwnedFd>)>;

/// Answers until the owner is gone.
pub(super) fn serve(mut inside: RequestHandler, socket: &UnixStream) {
    while let Ok((request, fds)) = protocol::receive::<Request>(socket) {
        let (reply, fd) = match inside.answer(request, fds) {
            Ok(answer) => answer,
            Err(e) => (
                Reply::Failed {
                    message: e.to_string(),
                },
                None,
            ),
        };
        let beside: Vec<_> = fd.iter().map(AsFd::as_fd).collect();
        if protocol::send(socket, &reply, &beside).is_err() {
            return;
        }
    }
}

impl RequestHandler {
    /// Builds the endpoints and an open link between them.
    pub(super) fn new(rootless: bool, spin_permille: u64) -> io::Result<RequestHandler> {
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
            bias_ns: [0; 2],
            interfaces: [client.link_index, server.link_index],
            spin_permille,
            frame_bytes: 0,
        })?;
        let facts = Facts {
            rootless,
            realtime: link.realtime,
            locked: link.locked,
            client: Side::Client.addresses(),
            server: Side::Server.addresses(),
            interface: INTERFACE.to_owned(),
            ring_bytes: link.ring_bytes,
            kernel_threads: [client.kernel_threads.clone(), server.kernel_threads.clone()],
            // The owner knows.
            kernel_realtime: false,
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
            network,
            seed: 0,
            congestion,
            bias_ns: [0; 2],
            spin_permille,
            capture_bytes: 0,
        })
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.facts
    }

    fn answer(&mut self, request: Request, fds: Vec<OwnedFd>) -> Answer {
        let done = Ok((Reply::Done, None));
        match request {
            Request::SetNetwork { network, seed } => {
                (self.network, self.seed) = (*network, seed);
                self.configure_endpoints()?;
                self.restart_link()?;
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
            Request::SetCapture { bytes } => {
                self.capture_bytes = bytes.min(CAPTURE_MAX);
                self.restart_link()?;
                done
            }
            Request::SetBias { bias_ns } => {
                self.bias_ns = bias_ns;
                self.restart_link()?;
                done
            }
            Request::Spawn { side, what } => {
                let endpoint = &self.endpoints[side as usize];
                match self.reaper.spawn(endpoint, what, fds) {
                    Ok((pid, exit)) => Ok((Reply::Spawned { pid }, Some(exit.into()))),
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
            Request::Begin => {
                self.windows
                    .begin(&mut self.link, &self.endpoints, &self.reaper)?;
                done
            }
            Request::Settle { limit_ns } => {
                let quiet = self.link.settle(Duration::from_nanos(limit_ns));
                Ok((Reply::Settled(quiet), None))
            }
            Request::End => {
                let window = self
                    .windows
                    .end(&mut self.link, &self.endpoints, &self.reaper)?;
                Ok((Reply::Window(Box::new(window)), None))
            }
            Request::Tap => {
                let (file, missed) = self.windows.tap()?;
                Ok((Reply::File { missed }, Some(file)))
            }
            Request::Capture => {
                let (file, missed) = self.windows.capture()?;
                Ok((Reply::File { missed }, Some(file)))
            }
            Request::Listen { side, udp, address } => {
                let socket = self.endpoints[side as usize]
                    .netns
                    .run(|| listen(udp, address))?;
                Ok((Reply::File { missed: 0 }, Some(socket)))
            }
        }
    }

    fn configure_endpoints(&self) -> io::Result<()> {
        self.endpoints
            .iter()
            .try_for_each(|e| e.configure(self.network.mtu, &self.congestion))
    }

    fn set_congestion(&mut self, name: String) -> io::Result<()> {
        if !self.facts.congestion_controls.contains(&name) {
            return Err(io::Error::other(format!(
                "no congestion control {name:?} in this kernel; there are {}",
                self.facts.congestion_controls.join(", ")
            )));
        }
        self.congestion = name;
        self.configure_endpoints()
    }

    /// Puts a fresh model in place of the running one, with what is set now.
    fn restart_link(&mut self) -> io::Result<()> {
        let [client, server] = &self.endpoints;
        self.windows.reset();
        // Stopped first: two rings on one interface would both receive.
        self.link.stop();
        self.link = LinkThreads::start(&Setup {
            network: &self.network,
            seed: self.seed,
            bias_ns: self.bias_ns,
            interfaces: [client.link_index, server.link_index],
            spin_permille: self.spin_permille,
            frame_bytes: self.capture_bytes,
        })?;
        Ok(())
    }
}

fn listen(udp: bool, address: SocketAddr) -> io::Result<OwnedFd> {
    if udp {
        UdpSocket::bind(address).map(OwnedFd::from)
    } else {
        TcpListener::bind(address).map(OwnedFd::from)
    }
}

/// A link that lets everything through at once.
fn open_network() -> Network {
    Network {
        name: "open".to_owned(),
        about: "no impairment".to_owned(),
        source: String::new(),
        mtu: 1500,
        up: PathSpec::default(),
        down: PathSpec::default(),
    }
}

/// Linux's own default; set on each route, as the namespace's setting is the machine's.
const DEFAULT_CONGESTION: &str = "cubic";
const CAPTURE_MAX: usize = 1 << 30;
