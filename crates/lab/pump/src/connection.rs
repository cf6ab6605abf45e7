//! The owner's connection to the init process of a bench.

use std::net::Shutdown;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::error::BenchError;
use crate::facts::Facts;
use crate::protocol::{self, Hello, Reply, Request};

/// Carries one request and its reply at a time.
#[derive(Debug)]
pub(crate) struct Connection {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    socket: UnixStream,
    child: Child,
}

impl Connection {
    pub(crate) fn new(socket: UnixStream, child: Child) -> Connection {
        Connection {
            inner: Mutex::new(Inner { socket, child }),
        }
    }

    /// Sends the first message and returns what the bench found once it is ready.
    pub(crate) fn hello(&self, hello: &Hello) -> Result<Facts, BenchError> {
        match self.exchange(hello, &[])? {
            (Reply::Ready(facts), _) => Ok(*facts),
            (Reply::Failed { message }, _) => Err(BenchError::Refused(message)),
            _ => Err(BenchError::unexpected_reply()),
        }
    }

    /// Sends a request and returns the reply and its descriptors. A failure reported by init
    /// becomes an error.
    pub(crate) fn request(
        &self,
        request: &Request,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(Reply, Vec<OwnedFd>), BenchError> {
        match self.exchange(request, fds)? {
            (Reply::Failed { message }, _) => Err(BenchError::Refused(message)),
            (Reply::CannotRun { message, not_found }, _) => {
                Err(BenchError::CannotRun { message, not_found })
            }
            reply => Ok(reply),
        }
    }

    /// Ends init, and with it every process, interface and namespace of the bench.
    pub(crate) fn close(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let _closed = inner.socket.shutdown(Shutdown::Both);
        let _ended = inner.child.wait();
    }

    fn exchange<T: Serialize>(
        &self,
        message: &T,
        fds: &[BorrowedFd<'_>],
    ) -> Result<(Reply, Vec<OwnedFd>), BenchError> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        protocol::send(&inner.socket, message, fds).map_err(BenchError::Gone)?;
        protocol::receive(&inner.socket).map_err(BenchError::Gone)
    }
}
