//! The init process of a bench: process 1 of its PID namespace.
//!
//! It starts as a child of the owner, moves into namespaces ([`namespaces`]) and builds the
//! endpoints ([`endpoint`]). It then handles the owner's requests one by one ([`handler`]). It ends
//! when the control socket is closed, and the kernel ends everything else with it.

mod costs;
mod endpoint;
mod handler;
mod moves;
pub(crate) mod namespaces;
mod reaper;
mod sampler;
pub(crate) mod sandbox;
mod sockets;
mod window;

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crate::protocol::{self, CONTROL_FD, Hello, Reply, paths};
use crate::sys;

/// Runs the init process of a bench. Never returns.
pub fn init_main() -> ! {
    let Some(socket) = namespaces::control_socket() else {
        eprintln!("this is the init process of a bench, which starts it with {CONTROL_FD} set");
        std::process::exit(2);
    };
    match start(&socket) {
        Ok(handler) => handler::serve(handler, &socket),
        Err(message) => {
            // Fails if the owner has ended; nobody else is interested.
            let _sent = protocol::send(&socket, &Reply::Failed { message }, &[]);
        }
    }
    sys::exit_now(0)
}

/// Receives the hello, enters the namespaces and builds the network: everything up to the first
/// request.
fn start(socket: &UnixStream) -> Result<handler::RequestHandler, String> {
    let (hello, _) = protocol::receive::<Hello>(socket).map_err(|e| e.to_string())?;
    let rootless = namespaces::enter_namespaces()?;
    // Before the first thread, so that SIGCHLD is blocked in all of them, for the reaper.
    sys::block_child_signal();
    let watched = socket.try_clone().map_err(|e| e.to_string())?;
    std::thread::spawn(move || {
        sys::wait_hangup(watched.as_fd());
        sys::exit_now(0);
    });
    namespaces::mount_private_files(&hello.names)?;
    let surroundings = handler::Surroundings {
        visible: paths(hello.visible),
        hidden: paths(hello.hidden),
    };
    let handler = handler::RequestHandler::new(rootless, hello.spin_permille, surroundings)
        .map_err(|e| format!("cannot build the bench's network: {e}"))?;
    let ready = Reply::Ready(Box::new(handler.facts().clone()));
    protocol::send(socket, &ready, &[]).map_err(|e| e.to_string())?;
    Ok(handler)
}
