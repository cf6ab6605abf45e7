//! A TCP stream that logs the kernel's figures of its connection just before it closes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::connection::ConnectionContext;
use crate::tcp_info::TcpInfo;

/// A TCP stream that logs the end of its connection when dropped.
pub(crate) struct WatchedStream {
    tcp: TcpStream,
    initial_window_bytes: Option<u64>,
    connection: Option<ConnectionContext>,
}

impl WatchedStream {
    /// Wraps a stream on which nothing has been sent.
    pub(crate) fn new(tcp: TcpStream) -> Self {
        let info = TcpInfo::read(&tcp).ok();
        Self {
            tcp,
            initial_window_bytes: info.and_then(|info| info.window_bytes()),
            connection: None,
        }
    }

    pub(crate) fn get_ref(&self) -> &TcpStream {
        &self.tcp
    }

    /// Sets the connection whose end to log, once its handshake was logged.
    pub(crate) fn log_end_of(&mut self, connection: ConnectionContext) {
        self.connection = Some(connection);
    }
}

impl Drop for WatchedStream {
    fn drop(&mut self) {
        if let Some(connection) = &self.connection
            && let Ok(info) = TcpInfo::read(&self.tcp)
        {
            let sender = server_log::Sender {
                initial_window_bytes: self.initial_window_bytes,
                ..info.sender()
            };
            connection.log_closed(sender, Vec::new());
        }
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buf)
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.tcp).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
