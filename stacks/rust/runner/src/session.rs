//! The conversation with the bench.

use std::any::Any;
use std::collections::HashMap;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::Instant;

use wire::{Kind, Message, SIZE_LIMIT_BYTES, from_value, to_value};

use crate::codec::{Codec, OFFERS, Offer, Refused, Step};
use crate::protocol::{Decode, Encode, Hello, Offered, Reply, Request, Task, Time};
use crate::{files, heap};

/// Answers line after line until the bench closes or hangs up.
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
            return Err(io::Error::other("the bench's line has no end"));
        }
        let Some(reply) = session.answer(&line) else {
            return Ok(());
        };
        let mut text = serde_json::to_vec(&reply)?;
        text.push(b'\n');
        replies.write_all(&text)?;
    }
}

/// What is kept between lines: values that were read, libraries that were taken up.
#[derive(Default)]
pub(crate) struct Session {
    values: VecDeque<Value>,
    codecs: Codecs,
}

/// By codec, library and kind.
type Codecs = HashMap<(&'static str, &'static str, Kind), Box<dyn Codec>>;

struct Value {
    path: PathBuf,
    message: Message,
}

/// Where a task leads.
#[derive(Clone, Copy)]
struct Found {
    offer: &'static Offer,
    kind: Kind,
}

impl Session {
    /// The reply to a line; none to `close`.
    pub(crate) fn answer(&mut self, line: &[u8]) -> Option<Reply> {
        let replied = match Request::parse(line) {
            Ok(Request::Hello) => Ok(Reply::Hello(hello())),
            Ok(Request::Setup) => Ok(Reply::Ready),
            Ok(Request::Encode(request)) => self.encode(&request),
            Ok(Request::Decode(request)) => self.decode(&request),
            Ok(Request::Time(request)) => self.time(&request),
            Ok(Request::Close) => return None,
            Ok(Request::Unknown(kind)) => Err(Reply::unsupported(
                &format!("request {kind}"),
                &"this runner does not know it",
            )),
            Err(error) => Err(Reply::failed(&format!("not a request: {error}"))),
        };
        Some(replied.unwrap_or_else(|reply| reply))
    }

    fn encode(&mut self, request: &Encode) -> Result<Reply, Reply> {
        let found = find(&request.task)?;
        let at = self.read_value(found.kind, &request.value_file)?;
        let codec = take_up(&mut self.codecs, found);
        let bytes = guarded(|| codec.encode(&self.values[at].message));
        let bytes = bytes.map_err(|refused| self.put_down(found, &refused))?;
        files::write(&request.encoded_file, &bytes).map_err(|e| Reply::failed(&e))?;
        let bytes = bytes.len();
        Ok(Reply::Encoded { bytes })
    }

    fn decode(&mut self, request: &Decode) -> Result<Reply, Reply> {
        let found = find(&request.task)?;
        let bytes = read_encoded(&request.encoded_file)?;
        let codec = take_up(&mut self.codecs, found);
        let message = guarded(|| codec.decode(&bytes));
        let message = message.map_err(|refused| self.put_down(found, &refused))?;
        let text = to_value(&message);
        files::write(&request.value_file, text.as_bytes()).map_err(|e| Reply::failed(&e))?;
        Ok(Reply::Decoded)
    }

    fn time(&mut self, request: &Time) -> Result<Reply, Reply> {
        let found = find(&request.task)?;
        let mut parts = found.offer.parts.iter().copied();
        let part = parts.find(|part| part.name() == request.part);
        let part = part.ok_or_else(|| {
            let parts: Vec<_> = found.offer.parts.iter().map(|part| part.name()).collect();
            let reason = format!("{} has {}", found.offer.library, parts.join(", "));
            Reply::unsupported(&format!("part {}", request.part), &reason)
        })?;
        if request.iterations == 0 {
            return Err(Reply::failed(&"no iterations cannot be timed"));
        }
        let bytes = request.encoded_file.as_deref().map(read_encoded);
        let bytes = bytes.transpose()?;
        let at = self.value(found.kind, &request.value_file)?;
        let codec = take_up(&mut self.codecs, found);
        let timed = guarded(|| {
            let step = codec.step(part, &self.values[at].message, bytes)?;
            measure(step, request.iterations)
        });
        timed.map_err(|refused| self.put_down(found, &refused))
    }

    /// Where the value is among those kept; it is read if it is not there.
    fn value(&mut self, kind: Kind, path: &Path) -> Result<usize, Reply> {
        let kept = |value: &Value| value.path == path && value.message.kind() == kind;
        match self.values.iter().position(kept) {
            Some(at) => Ok(at),
            None => self.read_value(kind, path),
        }
    }

    /// Reads the value and keeps it.
    fn read_value(&mut self, kind: Kind, path: &Path) -> Result<usize, Reply> {
        let text = files::read(path, VALUE_LIMIT_BYTES).map_err(|e| Reply::failed(&e))?;
        let text = String::from_utf8(text).map_err(|e| Reply::failed(&e))?;
        let message = from_value(kind, &text)
            .map_err(|error| Reply::failed(&format!("{}: {error}", path.display())))?;
        self.values.retain(|value| value.path != path);
        if self.values.len() == VALUES_KEPT {
            self.values.pop_front();
        }
        let path = path.to_owned();
        self.values.push_back(Value { path, message });
        Ok(self.values.len() - 1)
    }

    /// The reply to what a library refuses. What state it was left in is nobody's guess: the
    /// next task takes it up anew.
    fn put_down(&mut self, Found { offer, kind }: Found, refused: &Refused) -> Reply {
        self.codecs.remove(&(offer.codec, offer.library, kind));
        Reply::refused(&refused.0)
    }
}

fn hello() -> Hello {
    let offered = |offer: &Offer| Offered {
        codec: offer.codec,
        library: offer.library,
        library_version: offer.version,
        parts: offer.parts,
        caveat: offer.caveat,
        rejects_valid: offer.rejects_valid,
    };
    Hello {
        version: 2,
        runtime: "rust",
        runtime_version: env!("RUSTC_VERSION"),
        codecs: OFFERS.iter().map(offered).collect(),
        heap: heap::MEANING,
    }
}

fn find(task: &Task) -> Result<Found, Reply> {
    let mut of_codec = OFFERS.iter().filter(|offer| offer.codec == task.codec);
    if of_codec.clone().next().is_none() {
        let what = format!("codec {}", task.codec);
        return Err(Reply::unsupported(&what, &"no library here has it"));
    }
    let offer = of_codec.find(|offer| offer.library == task.library);
    let offer = offer.ok_or_else(|| {
        let reason = format!("it is not offered for {}", task.codec);
        Reply::unsupported(&format!("library {}", task.library), &reason)
    })?;
    let kind = Kind::find(&task.message).ok_or_else(|| {
        let what = format!("message {}", task.message);
        Reply::unsupported(&what, &"the schema has no such kind")
    })?;
    Ok(Found { offer, kind })
}

fn take_up(codecs: &mut Codecs, Found { offer, kind }: Found) -> &mut dyn Codec {
    let key = (offer.codec, offer.library, kind);
    codecs
        .entry(key)
        .or_insert_with(|| (offer.open)(kind))
        .as_mut()
}

fn read_encoded(path: &Path) -> Result<Vec<u8>, Reply> {
    files::read(path, SIZE_LIMIT_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => Reply::refused(&error),
        _ => Reply::failed(&error),
    })
}

/// Nothing but the step is between the two readings of the clock.
fn measure(mut step: Step<'_>, iterations: u64) -> Result<Reply, Refused> {
    let mut sink = 0u64;
    let asked = heap::asked();
    let start = Instant::now();
    for _ in 0..iterations {
        sink = sink.wrapping_add(step()?);
    }
    let elapsed = start.elapsed();
    let heap_bytes = heap::asked() - asked;
    let elapsed_ns = elapsed.as_nanos() as u64;
    Ok(Reply::Timed {
        elapsed_ns,
        heap_bytes,
        sink,
    })
}

/// A library that panics on what it is given refuses it.
fn guarded<T>(work: impl FnOnce() -> Result<T, Refused>) -> Result<T, Refused> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = told(panic.as_ref());
        Err(Refused(format!("the library panicked: {message}")))
    })
}

fn told(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a word")
}

/// By `docs/codec-runner.md`.
const VALUES_KEPT: usize = 32;
/// A value file writes a byte in two digits, a number in up to twenty.
const VALUE_LIMIT_BYTES: usize = 4 * SIZE_LIMIT_BYTES;
/// A request is a few names; a mistake of the bench should not fill memory.
const REQUEST_LIMIT_BYTES: u64 = 1 << 20;
