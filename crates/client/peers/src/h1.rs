//! HTTP/1.1 (RFC 9112).

use std::sync::Arc;
use std::time::Duration;

use socket2::Socket;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::script::{Close, Head, Script, Split, Step};
use crate::shared::{Request, Shared};

/// How long a closed connection is read on, so that the client's last bytes do not make the kernel reset it.
pub(crate) const LINGER: Duration = Duration::from_secs(1);

/// Answers the requests of a connection.
pub(crate) async fn serve(stream: TlsStream<TcpStream>, beneath: Socket, shared: &Arc<Shared>) {
    let connection = shared.connection();
    let mut player = Player {
        stream,
        beneath,
        buffer: Vec::new(),
    };
    while let Some(request) = player.request(connection).await {
        if !player.play(shared.script(&request)).await {
            return;
        }
    }
}

/// Ends TCP beneath TLS.
pub(crate) fn close_beneath(beneath: &Socket, how: Close) {
    match how {
        Close::Notify | Close::Abrupt => beneath.shutdown(std::net::Shutdown::Write),
        // The connection is reset when its last descriptor is closed.
        Close::Reset => beneath.set_linger(Some(Duration::ZERO)),
    }
    // The client may have ended it already.
    .ok();
}

/// Encodes a step; `chunked` is kept from the last head. Nothing for a step that is not bytes.
pub(crate) fn encode(step: &Step, chunked: &mut bool) -> Option<Vec<u8>> {
    let lines = |of: &[crate::Field]| -> String {
        of.iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect()
    };
    Some(match step {
        Step::Head(Head { status, fields, .. }) => {
            *chunked = fields.iter().any(|(_, value)| value == "chunked");
            format!("HTTP/1.1 {status} Some Reason\r\n{}\r\n", lines(fields)).into_bytes()
        }
        Step::Data(data) if *chunked => {
            // An empty chunk would be the last one.
            if data.bytes.is_empty() {
                return Some(Vec::new());
            }
            let mut chunk = format!("{:x}", data.bytes.len()).into_bytes();
            if data.padding.is_some() {
                chunk.extend(b";name=value");
            }
            chunk.extend(b"\r\n");
            chunk.extend(&data.bytes);
            chunk.extend(b"\r\n");
            chunk
        }
        Step::Data(data) => data.bytes.clone(),
        Step::Trailers(fields) => format!("0\r\n{}\r\n", lines(fields)).into_bytes(),
        Step::End if *chunked => b"0\r\n\r\n".to_vec(),
        Step::End => Vec::new(),
        Step::Raw(bytes) => bytes.clone(),
        _ => return None,
    })
}

struct Player {
    stream: TlsStream<TcpStream>,
    beneath: Socket,
    /// What was read and not used.
    buffer: Vec<u8>,
}

impl Player {
    /// Reads a request with a body whose length is said; nothing at the end.
    async fn request(&mut self, connection: usize) -> Option<Request> {
        let end = loop {
            let end = self
                .buffer
                .windows(4)
                .position(|window| window == b"\r\n\r\n");
            if let Some(end) = end {
                break end + 4;
            }
            self.read().await?;
        };
        let head = self.buffer.drain(..end).collect();
        let head = String::from_utf8(head).ok()?;
        let mut lines = head.trim_end().split("\r\n");
        let mut first = lines.next()?.split(' ').map(ToOwned::to_owned);
        let (method, path) = (first.next()?, first.next()?);
        let field = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        let fields: Vec<_> = lines.filter_map(field).collect();
        let value = |wanted: &str| {
            let field = fields.iter().find(|(name, _)| name == wanted);
            field.map(|(_, value)| value.as_str())
        };
        let body = match (value("transfer-encoding"), value("content-length")) {
            (Some(_), _) => self.chunks().await?,
            (None, Some(length)) => self.take(length.parse().ok()?).await?,
            (None, None) => Vec::new(),
        };
        Some(Request {
            connection,
            method,
            path,
            fields,
            body,
        })
    }

    /// Reads a chunked body without trailers.
    async fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = self.buffer.windows(2).position(|window| window == b"\r\n");
            let Some(end) = end else {
                self.read().await?;
                continue;
            };
            let line = self.take(end + 2).await?;
            let length = std::str::from_utf8(&line).ok()?.trim_end();
            let length = usize::from_str_radix(length, 16).ok()?;
            body.extend(self.take(length).await?);
            self.take(2).await?;
            if length == 0 {
                return Some(body);
            }
        }
    }

    async fn take(&mut self, bytes: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < bytes {
            self.read().await?;
        }
        Some(self.buffer.drain(..bytes).collect())
    }

    async fn read(&mut self) -> Option<()> {
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(1..) => Some(()),
            Ok(0) | Err(_) => None,
        }
    }

    /// Plays a script; returns false once the connection has ended.
    async fn play(&mut self, script: Script) -> bool {
        let (mut out, mut chunked) = (Vec::new(), false);
        for step in script.steps {
            if let Some(bytes) = encode(&step, &mut chunked) {
                out.extend(bytes);
                if !script.split.each_step() {
                    continue;
                }
            }
            if !self.write(std::mem::take(&mut out), script.split).await {
                return false;
            }
            match step {
                Step::Pause(time) => tokio::time::sleep(time).await,
                Step::Close(how) => return self.close(how).await,
                Step::Reset(_) => return self.close(Close::Reset).await,
                _ => {}
            }
        }
        self.write(out, script.split).await
    }

    async fn write(&mut self, bytes: Vec<u8>, split: Split) -> bool {
        for piece in split.pieces(&bytes) {
            let written = self.stream.write_all(piece).await;
            if written.is_err() || self.stream.flush().await.is_err() {
                return false;
            }
            tokio::task::yield_now().await;
        }
        true
    }

    /// Returns false.
    async fn close(&mut self, how: Close) -> bool {
        if how == Close::Notify {
            // It fails if the client was faster.
            self.stream.shutdown().await.ok();
        }
        close_beneath(&self.beneath, how);
        if how != Close::Reset {
            let rest = async { while self.read().await.is_some() {} };
            tokio::time::timeout(LINGER, rest).await.ok();
        }
        false
    }
}
