//! HTTP/2 (RFC 9113).

use std::collections::HashMap;
use std::sync::Arc;

use socket2::Socket;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;

use crate::fields::{Hpack, hpack};
use crate::h1::{LINGER, close_beneath};
use crate::script::{Close, Data, Head, Script, Split, Step};
use crate::shared::{Request, Shared};

/// Frame types (RFC 9113 section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// Flags.
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const REFUSED_STREAM: u32 = 7;
/// MAX_CONCURRENT_STREAMS and INITIAL_WINDOW_SIZE (RFC 9113 section 6.5.2).
const MAX_STREAMS: u16 = 3;
const INITIAL_WINDOW: u16 = 4;
/// More than any request of a test.
const WINDOW: u32 = 1 << 28;

/// Answers the requests of a connection.
pub(crate) async fn serve(stream: TlsStream<TcpStream>, beneath: Socket, shared: &Arc<Shared>) {
    let connection = shared.connection();
    let (read, write) = tokio::io::split(stream);
    let player = Player {
        write: Arc::new(Mutex::new(write)),
        beneath: Arc::new(beneath),
        closed: Arc::new(Notify::new()),
    };
    let mut reader = Reader {
        read,
        hpack: Hpack::default(),
        open: HashMap::new(),
        is_acknowledged: false,
        ignores_pings: shared.options.ignores_pings,
    };
    // Aborted with this connection.
    let mut scripts = JoinSet::new();
    let requests = async {
        let mut preface = [0; 24];
        if reader.read.read_exact(&mut preface).await.is_err() {
            return;
        }
        player.write(settings(shared), Split::Whole).await;
        while let Some((stream, mut request)) = reader.request(&player).await {
            while scripts.try_join_next().is_some() {}
            let limit = shared.options.max_streams.unwrap_or(u32::MAX);
            // What is sent before the settings come may exceed the limit.
            if !reader.is_acknowledged && scripts.len() >= limit as usize {
                let refusal = frame(RST_STREAM, 0, stream, &REFUSED_STREAM.to_be_bytes());
                player.write(refusal, Split::Whole).await;
                continue;
            }
            request.connection = connection;
            let (player, script) = (player.clone(), shared.script(&request));
            scripts.spawn(async move { player.play(stream, script).await });
        }
    };
    tokio::select! {
        () = requests => {}
        () = player.closed.notified() => {}
    }
}

fn settings(shared: &Shared) -> Vec<u8> {
    let limit = shared.options.max_streams.map(|limit| (MAX_STREAMS, limit));
    let of = [Some((INITIAL_WINDOW, WINDOW)), limit];
    let entry = |(id, value): (u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    let payload: Vec<u8> = of.into_iter().flatten().flat_map(entry).collect();
    let mut bytes = frame(SETTINGS, 0, 0, &payload);
    bytes.extend(frame(WINDOW_UPDATE, 0, 0, &WINDOW.to_be_bytes()));
    bytes
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The requests of a connection as far as they have come.
struct Reader {
    read: ReadHalf<TlsStream<TcpStream>>,
    hpack: Hpack,
    open: HashMap<u32, Request>,
    /// Whether the client has taken the settings.
    is_acknowledged: bool,
    ignores_pings: bool,
}

impl Reader {
    /// Returns the next request that is whole; nothing at the end.
    async fn request(&mut self, player: &Player) -> Option<(u32, Request)> {
        loop {
            let mut head = [0; 9];
            self.read.read_exact(&mut head).await.ok()?;
            let [a, b, c, kind, flags, id @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            self.read.read_exact(&mut payload).await.ok()?;
            let stream = u32::from_be_bytes(id);
            match kind {
                SETTINGS if flags & ACK == 0 => {
                    player
                        .write(frame(SETTINGS, ACK, 0, &[]), Split::Whole)
                        .await;
                }
                SETTINGS => self.is_acknowledged = true,
                PING if flags & ACK == 0 && !self.ignores_pings => {
                    let answer = frame(PING, ACK, 0, &payload);
                    player.write(answer, Split::Whole).await;
                }
                // The client's heads are short and have no padding.
                HEADERS => {
                    let fields = self.hpack.decode(&payload)?;
                    let value = |wanted: &str| {
                        let field = fields.iter().find(|(name, _)| name == wanted);
                        field.map(|(_, value)| value.clone())
                    };
                    let request = Request {
                        method: value(":method")?,
                        path: value(":path")?,
                        fields,
                        ..Request::default()
                    };
                    self.open.insert(stream, request);
                }
                DATA => {
                    if let Some(request) = self.open.get_mut(&stream) {
                        request.body.extend(payload);
                    }
                }
                RST_STREAM => {
                    self.open.remove(&stream);
                }
                _ => {}
            }
            if (kind == HEADERS || kind == DATA)
                && flags & END_STREAM != 0
                && let Some(request) = self.open.remove(&stream)
            {
                return Some((stream, request));
            }
        }
    }
}

#[derive(Clone)]
struct Player {
    write: Arc<Mutex<WriteHalf<TlsStream<TcpStream>>>>,
    beneath: Arc<Socket>,
    closed: Arc<Notify>,
}

impl Player {
    async fn play(&self, stream: u32, script: Script) {
        let mut out = Vec::new();
        for step in script.steps {
            if let Some(bytes) = encode(&step, stream) {
                out.extend(bytes);
                if !script.split.each_step() {
                    continue;
                }
            }
            self.write(std::mem::take(&mut out), script.split).await;
            match step {
                Step::Pause(time) => tokio::time::sleep(time).await,
                Step::Close(how) => return self.close(how).await,
                _ => {}
            }
        }
        self.write(out, script.split).await;
    }

    /// Writes bytes; whether that fails, the reader notices.
    async fn write(&self, bytes: Vec<u8>, split: Split) {
        // Frames of other streams come between these, not within one.
        let mut write = self.write.lock().await;
        for piece in split.pieces(&bytes) {
            if write.write_all(piece).await.is_err() || write.flush().await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn close(&self, how: Close) {
        if how == Close::Notify {
            // It fails if the client was faster.
            self.write.lock().await.shutdown().await.ok();
        }
        close_beneath(&self.beneath, how);
        if how != Close::Reset {
            tokio::time::sleep(LINGER).await;
        }
        self.closed.notify_one();
    }
}

/// Encodes a step; nothing for one that is not bytes.
fn encode(step: &Step, stream: u32) -> Option<Vec<u8>> {
    Some(match step {
        Step::Head(head) => {
            let mut fields = vec![(":status".to_owned(), head.status.to_string())];
            fields.extend(head.fields.iter().cloned());
            headers(stream, &hpack(&fields), head)
        }
        Step::Block(head) => headers(stream, &hpack(&head.fields), head),
        Step::Data(data) => self::data(stream, data),
        Step::Trailers(fields) => {
            let flags = END_HEADERS | END_STREAM;
            frame(HEADERS, flags, stream, &hpack(fields))
        }
        Step::End => frame(DATA, END_STREAM, stream, &[]),
        Step::Raw(bytes) => bytes.clone(),
        Step::Frame {
            kind,
            flags,
            on_stream,
            payload,
        } => {
            let stream = if *on_stream { stream } else { 0 };
            frame(*kind as u8, *flags, stream, payload)
        }
        Step::Reset(code) => frame(RST_STREAM, 0, stream, &(*code as u32).to_be_bytes()),
        Step::GoAway { refuses, code } => {
            let last = if *refuses {
                stream.saturating_sub(2)
            } else {
                stream
            };
            let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
            frame(GOAWAY, 0, 0, &payload)
        }
        Step::Close(_) | Step::Pause(_) => return None,
    })
}

fn headers(stream: u32, block: &[u8], head: &Head) -> Vec<u8> {
    let frames = head.frames.max(1);
    let mut parts = block.chunks(block.len().div_ceil(frames).max(1)).peekable();
    let mut flags = if head.ends { END_STREAM } else { 0 };
    let mut first = parts.next().unwrap_or_default().to_vec();
    if let Some(padding) = head.padding {
        flags |= PADDED;
        first.insert(0, padding);
        first.extend(std::iter::repeat_n(0, padding.into()));
    }
    if parts.peek().is_none() {
        flags |= END_HEADERS;
    }
    let mut bytes = frame(HEADERS, flags, stream, &first);
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() {
            END_HEADERS
        } else {
            0
        };
        bytes.extend(frame(CONTINUATION, flags, stream, part));
    }
    bytes
}

fn data(stream: u32, data: &Data) -> Vec<u8> {
    /// The longest payload that any client accepts.
    const MAX_PAYLOAD: usize = 16_000;
    let mut bytes = Vec::new();
    let mut parts = data.bytes.chunks(MAX_PAYLOAD).peekable();
    loop {
        let part = parts.next().unwrap_or_default();
        let is_last = parts.peek().is_none();
        let mut flags = if data.ends && is_last { END_STREAM } else { 0 };
        let mut payload = part.to_vec();
        if let Some(padding) = data.padding {
            flags |= PADDED;
            payload.insert(0, padding);
            payload.extend(std::iter::repeat_n(0, padding.into()));
        }
        bytes.extend(frame(DATA, flags, stream, &payload));
        if is_last {
            return bytes;
        }
    }
}
