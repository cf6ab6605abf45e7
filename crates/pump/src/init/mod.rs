//! The inside of a bench: process 1 of its own PID namespace.
//!
//! It begins as a child of the owner, moves into namespaces ([`namespaces`]), builds the endpoints
//! ([`endpoint`]) and then answers the owner's questions one by one ([`handler`]). It ends when
//! the control socket does, and the kernel takes everything else with it.

mod costs;
mod endpoint;
mod handler;
mod namespaces;
mod reaper;
mod sockets;
mod window;

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use crate::protocol::{self, CONTROL_FD, Hello, Reply};
use crate::sys;

/// Body of the program that a bench starts as its inside. Never returns.
pub fn init_main() -> ! {
    let Some(socket) = namespaces::control_socket() else {
        eprintln!("this is the inside of a bench: it is started by one, with {CONTROL_FD} set");
        std::process::exit(2);
    };
    match settle(&socket) {
        Ok(bench) => handler::serve(bench, &socket),
        Err(message) => {
            // The owner may be gone already; there is nobody else to tell.
            let _told = protocol::send(&socket, &Reply::Failed { message }, &[]);
        }
    }
    sys::exit_now(0)
}

/// Everything before the first question.
fn settle(socket: &UnixStream) -> Result<handler::RequestHandler, String> {
    let (hello, _) = protocol::receive::<Hello>(socket).map_err(|e| e.to_string())?;
    let rootless = namespaces::enter_namespaces()?;
    // Before the first thread: SIGCHLD is the reaper's in all of them.
    sys::block_child_signal();
    let watched = socket.try_clone().map_err(|e| e.to_string())?;
    std::thread::spawn(move || {
        sys::wait_hangup(watched.as_fd());
        sys::exit_now(0);
    });
    namespaces::mount_private_files(&hello.names)?;
    let inside = handler::RequestHandler::new(rootless, hello.spin_permille)
        .map_err(|e| format!("cannot build the bench's network: {e}"))?;
    let facts = Reply::Ready(Box::new(inside.facts().clone()));
    protocol::send(socket, &facts, &[]).map_err(|e| e.to_string())?;
    Ok(inside)
}
