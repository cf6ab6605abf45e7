//! HTTP/3 (RFC 9114).

use std::sync::Arc;

use quinn::{Connection, RecvStream, SendStream, VarInt};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::fields::{decode_qpack, qpack};
use crate::script::{Close, Script, Split, Step};
use crate::shared::{Request, Shared};

/// Frame types (RFC 9114 section 7.2).
const DATA: u64 = 0;
const HEADERS: u64 = 1;
const SETTINGS: u64 = 4;
const GOAWAY: u64 = 7;
/// The type of the control stream (RFC 9114 section 6.2.1).
const CONTROL: u64 = 0;
/// Error codes (RFC 9114 section 8.1).
const H3_NO_ERROR: VarInt = VarInt::from_u32(0x100);
const H3_INTERNAL_ERROR: VarInt = VarInt::from_u32(0x102);

/// Answers the requests of a connection.
pub(crate) async fn serve(connection: Connection, shared: &Arc<Shared>) {
    let number = shared.connection();
    let Ok(mut control) = connection.open_uni().await else {
        return;
    };
    let mut settings = Vec::new();
    variable_length(&mut settings, CONTROL);
    settings.extend(frame(SETTINGS, &[]));
    if control.write_all(&settings).await.is_err() {
        return;
    }
    let control = Arc::new(Mutex::new(control));
    // Aborted with this connection.
    let mut streams = JoinSet::new();
    loop {
        tokio::select! {
            uni = connection.accept_uni() => {
                let Ok(mut uni) = uni else { return };
                streams.spawn(async move {
                    while let Ok(Some(_)) = uni.read_chunk(usize::MAX, false).await {}
                });
            }
            bidi = connection.accept_bi() => {
                let Ok((send, receive)) = bidi else { return };
                let (connection, control) = (connection.clone(), Arc::clone(&control));
                let shared = Arc::clone(shared);
                streams.spawn(async move {
                    let Some(mut request) = request(receive).await else {
                        return;
                    };
                    request.connection = number;
                    let script = shared.script(&request);
                    let player = Player { connection, control, send };
                    player.play(script).await;
                });
            }
        }
    }
}

/// Reads a request; nothing if the client cancels it.
async fn request(mut stream: RecvStream) -> Option<Request> {
    const MAX_REQUEST: usize = 1 << 24;
    let bytes = stream.read_to_end(MAX_REQUEST).await.ok()?;
    let (mut rest, mut request) = (&bytes[..], Request::default());
    while !rest.is_empty() {
        let (kind, length) = (take(&mut rest)?, take(&mut rest)?);
        let (payload, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        rest = after;
        match kind {
            HEADERS if request.fields.is_empty() => {
                request.fields = decode_qpack(payload)?;
                let value = |wanted: &str| {
                    let field = request.fields.iter().find(|(name, _)| name == wanted);
                    field.map(|(_, value)| value.clone())
                };
                (request.method, request.path) = (value(":method")?, value(":path")?);
            }
            DATA => request.body.extend(payload),
            _ => {}
        }
    }
    Some(request)
}

struct Player {
    connection: Connection,
    control: Arc<Mutex<SendStream>>,
    send: SendStream,
}

impl Player {
    async fn play(mut self, script: Script) {
        let mut out = Vec::new();
        for step in script.steps {
            let ends = match &step {
                Step::Head(head) | Step::Block(head) => head.ends,
                Step::Data(data) => data.ends,
                Step::Trailers(_) | Step::End => true,
                _ => false,
            };
            if let Some(bytes) = encode(&step) {
                out.extend(bytes);
                if !script.split.each_step() && !ends {
                    continue;
                }
            }
            self.write(std::mem::take(&mut out), script.split).await;
            if ends {
                // The client may have stopped it.
                self.send.finish().ok();
            }
            match step {
                Step::Pause(time) => tokio::time::sleep(time).await,
                Step::Reset(code) => {
                    let code = VarInt::from_u64(code).unwrap_or(VarInt::MAX);
                    self.send.reset(code).ok();
                }
                Step::GoAway { refuses, .. } => {
                    let mut id = VarInt::from(self.send.id()).into_inner();
                    if !refuses {
                        id += 4;
                    }
                    let mut payload = Vec::new();
                    variable_length(&mut payload, id);
                    self.control(&frame(GOAWAY, &payload)).await;
                }
                Step::Frame {
                    kind,
                    on_stream: false,
                    payload,
                    ..
                } => self.control(&frame(kind, &payload)).await,
                Step::Close(how) => return self.close(how).await,
                _ => {}
            }
        }
        self.write(out, script.split).await;
        // Dropping the stream would end it.
        self.send.stopped().await.ok();
    }

    async fn control(&self, bytes: &[u8]) {
        // An error means that the connection has ended.
        self.control.lock().await.write_all(bytes).await.ok();
    }

    async fn write(&mut self, bytes: Vec<u8>, split: Split) {
        for piece in split.pieces(&bytes) {
            if self.send.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn close(&mut self, how: Close) {
        match how {
            Close::Notify => {
                // What was finished arrives first.
                let acknowledged = self.send.stopped();
                let limit = std::time::Duration::from_millis(50);
                tokio::time::timeout(limit, acknowledged).await.ok();
                self.connection.close(H3_NO_ERROR, b"");
            }
            Close::Abrupt | Close::Reset => self.connection.close(H3_INTERNAL_ERROR, b""),
        }
    }
}

/// Encodes a step; nothing for one that is not bytes of the stream.
fn encode(step: &Step) -> Option<Vec<u8>> {
    Some(match step {
        Step::Head(head) => {
            let mut fields = vec![(":status".to_owned(), head.status.to_string())];
            fields.extend(head.fields.iter().cloned());
            frame(HEADERS, &qpack(&fields))
        }
        Step::Block(head) => frame(HEADERS, &qpack(&head.fields)),
        Step::Data(data) => frame(DATA, &data.bytes),
        Step::Trailers(fields) => frame(HEADERS, &qpack(fields)),
        Step::End => Vec::new(),
        Step::Raw(bytes) => bytes.clone(),
        Step::Frame {
            kind,
            on_stream: true,
            payload,
            ..
        } => frame(*kind, payload),
        _ => return None,
    })
}

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    variable_length(&mut bytes, kind);
    variable_length(&mut bytes, payload.len() as u64);
    bytes.extend(payload);
    bytes
}

/// Writes an integer (RFC 9000 section 16).
fn variable_length(into: &mut Vec<u8>, value: u64) {
    match value {
        0..0x40 => into.push(value as u8),
        0x40..0x4000 => into.extend((value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => into.extend((value as u32 | 0x8000_0000).to_be_bytes()),
        _ => into.extend((value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Takes an integer.
fn take(bytes: &mut &[u8]) -> Option<u64> {
    let first = *bytes.first()?;
    let (integer, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    *bytes = rest;
    let tail = integer[1..].iter();
    Some(tail.fold(u64::from(first & 0x3f), |value, byte| {
        value << 8 | u64::from(*byte)
    }))
}
