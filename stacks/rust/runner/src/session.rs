//! The conversation with the bench.

use std::any::Any;
use std::collections::HashMap;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use driver::codec_runner::{
    CodecEntry, Decode, Encode, Hello, Reply, Request, RequestError, Task, Time, VERSION,
};
use messages::{Kind, Message, SIZE_LIMIT_BYTES, from_value, to_value};

use crate::codec::{Codec, OFFERS, Offer, Refused, Step};
use crate::{files, heap, reply};

/// As many values as `docs/codec-runner.md` asks a runner to keep.
const VALUES_KEPT: usize = 32;
/// A value file takes two digits per byte, and up to twenty per number.
const VALUE_LIMIT_BYTES: usize = 4 * SIZE_LIMIT_BYTES;
/// A request is a few names; this bounds the memory that a faulty bench can make us use.
const REQUEST_LIMIT_BYTES: u64 = 1 << 20;

/// Answers line after line until the bench sends `close` or closes its end.
pub(crate) fn serve(mut requests: impl BufRead, mut replies: impl Write) -> io::Result<()> {
    let mut session = Session::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let bounded = &mut requests.by_ref().take(REQUEST_LIMIT_BYTES);
        if bounded.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if !line.ends_with(b"\n") {
            return Err(io::Error::other(
                "the bench's line is incomplete or too long",
            ));
        }
        let Some(reply) = session.answer(&line) else {
            return Ok(());
        };
        let mut text = serde_json::to_vec(&reply)?;
        text.push(b'\n');
        replies.write_all(&text)?;
    }
}

/// The state kept between lines: values that were read, codecs that were opened.
#[derive(Default)]
pub(crate) struct Session {
    values: VecDeque<Value>,
    codecs: Codecs,
}

/// Open codecs, by codec name, library and kind.
type Codecs = HashMap<(&'static str, &'static str, Kind), Box<dyn Codec>>;

struct Value {
    path: PathBuf,
    message: Message,
}

/// The offer and the kind that a task names.
#[derive(Clone, Copy)]
struct Resolved {
    offer: &'static Offer,
    kind: Kind,
}

impl Session {
    /// Returns the reply to a line; none to `close`.
    pub(crate) fn answer(&mut self, line: &[u8]) -> Option<Reply> {
        let answer = match Request::parse(line) {
            Ok(Request::Hello { .. }) => Ok(Reply::Hello(hello())),
            // The messages are compiled in, so the schema is not read.
            Ok(Request::Setup { .. }) => Ok(Reply::Ready),
            Ok(Request::Encode(request)) => self.encode(&request),
            Ok(Request::Decode(request)) => self.decode(&request),
            Ok(Request::Time(request)) => self.time(&request),
            Ok(Request::Close) => return None,
            Err(RequestError::Unknown(kind)) => Err(reply::unsupported(
                &format!("request {kind}"),
                &"this runner does not know it",
            )),
            Err(error) => Err(reply::failed(&error)),
        };
        Some(answer.unwrap_or_else(|reply| reply))
    }

    fn encode(&mut self, request: &Encode) -> Result<Reply, Reply> {
        let resolved = resolve(&request.task)?;
        let at = self.read_value(resolved.kind, &request.value_file)?;
        let codec = open(&mut self.codecs, resolved);
        let bytes = guarded(|| codec.encode(&self.values[at].message));
        let bytes = bytes.map_err(|refused| self.discard(resolved, &refused))?;
        files::write(&request.encoded_file, &bytes).map_err(|e| reply::failed(&e))?;
        let bytes = bytes.len() as u64;
        Ok(Reply::Encoded { bytes })
    }

    fn decode(&mut self, request: &Decode) -> Result<Reply, Reply> {
        let resolved = resolve(&request.task)?;
        let bytes = read_encoded(&request.encoded_file)?;
        let codec = open(&mut self.codecs, resolved);
        let message = guarded(|| codec.decode(&bytes));
        let message = message.map_err(|refused| self.discard(resolved, &refused))?;
        let text = to_value(&message);
        files::write(&request.value_file, text.as_bytes()).map_err(|e| reply::failed(&e))?;
        Ok(Reply::Decoded)
    }

    fn time(&mut self, request: &Time) -> Result<Reply, Reply> {
        let resolved = resolve(&request.task)?;
        let mut parts = resolved.offer.parts.iter().copied();
        let part = parts.find(|part| part.name() == request.part);
        let part = part.ok_or_else(|| {
            let parts: Vec<_> = resolved.offer.parts.iter().map(|p| p.name()).collect();
            let reason = format!("{} has {}", resolved.offer.library, parts.join(", "));
            reply::unsupported(&format!("part {}", request.part), &reason)
        })?;
        if request.iterations == 0 {
            return Err(reply::failed(&"iterations must be at least 1"));
        }
        let bytes = request.encoded_file.as_deref().map(read_encoded);
        let bytes = bytes.transpose()?;
        let at = self.value(resolved.kind, &request.value_file)?;
        let codec = open(&mut self.codecs, resolved);
        let timed = guarded(|| {
            let step = codec.step(part, &self.values[at].message, bytes)?;
            measure(step, request.iterations)
        });
        timed.map_err(|refused| self.discard(resolved, &refused))
    }

    /// Returns the index of a value, which is read if it is not kept.
    fn value(&mut self, kind: Kind, path: &Path) -> Result<usize, Reply> {
        let kept = |value: &Value| value.path == path && value.message.kind() == kind;
        match self.values.iter().position(kept) {
            Some(at) => Ok(at),
            None => self.read_value(kind, path),
        }
    }

    /// Reads a value, keeps it and returns its index.
    fn read_value(&mut self, kind: Kind, path: &Path) -> Result<usize, Reply> {
        let text = files::read(path, VALUE_LIMIT_BYTES).map_err(|e| reply::failed(&e))?;
        let text = String::from_utf8(text).map_err(|e| reply::failed(&e))?;
        let message = from_value(kind, &text)
            .map_err(|error| reply::failed(&format!("{}: {error}", path.display())))?;
        self.values.retain(|value| value.path != path);
        if self.values.len() == VALUES_KEPT {
            self.values.pop_front();
        }
        let path = path.to_owned();
        self.values.push_back(Value { path, message });
        Ok(self.values.len() - 1)
    }

    /// Closes a codec after a refusal and returns the reply. The codec's state is undefined after
    /// an error, so the next task opens it again.
    fn discard(&mut self, Resolved { offer, kind }: Resolved, refused: &Refused) -> Reply {
        self.codecs.remove(&(offer.codec, offer.library, kind));
        reply::refused(&refused.0)
    }
}

fn hello() -> Hello {
    let entry = |offer: &Offer| CodecEntry {
        codec: offer.codec.into(),
        library: offer.library.into(),
        library_version: offer.version.into(),
        parts: offer.parts.into(),
        caveat: offer.caveat.map(str::to_owned),
        lossy: None,
        rejects_valid: offer.rejects_valid.map(str::to_owned),
    };
    Hello {
        version: VERSION,
        runtime: "rust".into(),
        runtime_version: env!("RUSTC_VERSION").into(),
        codecs: OFFERS.iter().map(entry).collect(),
        heap: Some(heap::MEANING.into()),
    }
}

fn resolve(task: &Task) -> Result<Resolved, Reply> {
    let mut of_codec = OFFERS.iter().filter(|offer| offer.codec == task.codec);
    if of_codec.clone().next().is_none() {
        let what = format!("codec {}", task.codec);
        return Err(reply::unsupported(&what, &"no library here has it"));
    }
    let offer = of_codec.find(|offer| offer.library == task.library);
    let offer = offer.ok_or_else(|| {
        let reason = format!("it is not offered for {}", task.codec);
        reply::unsupported(&format!("library {}", task.library), &reason)
    })?;
    let kind = Kind::find(&task.message).ok_or_else(|| {
        let what = format!("message {}", task.message);
        reply::unsupported(&what, &"the schema has no such message")
    })?;
    Ok(Resolved { offer, kind })
}

fn open(codecs: &mut Codecs, Resolved { offer, kind }: Resolved) -> &mut dyn Codec {
    let key = (offer.codec, offer.library, kind);
    codecs
        .entry(key)
        .or_insert_with(|| (offer.open)(kind))
        .as_mut()
}

fn read_encoded(path: &Path) -> Result<Vec<u8>, Reply> {
    files::read(path, SIZE_LIMIT_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => reply::refused(&error),
        _ => reply::failed(&error),
    })
}

/// Times a step. Nothing else runs between the two readings of the clock.
fn measure(mut step: Step<'_>, iterations: u64) -> Result<Reply, Refused> {
    let mut sink = 0u64;
    let requested = heap::requested();
    let start = Instant::now();
    for _ in 0..iterations {
        sink = sink.wrapping_add(step()?);
    }
    let elapsed = start.elapsed();
    let heap_bytes = heap::requested() - requested;
    let elapsed_ns = elapsed.as_nanos() as u64;
    Ok(Reply::Timed {
        elapsed_ns,
        heap_bytes: Some(heap_bytes),
        sink,
    })
}

/// Turns a library's panic into a refusal of its input.
fn guarded<T>(work: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic_message(panic.as_ref());
        Err(Refused(format!("the library panicked: {message}")))
    })
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}
