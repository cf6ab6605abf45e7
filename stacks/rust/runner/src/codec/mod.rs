//! Libraries behind one interface, and the table of those there are.
//!
//! A [`Library`] is written for every type of message at once. [`At`] fixes the type and wipes
//! it off, so that a session holds any of them as a [`Codec`]. What is timed is a *step*: one
//! indirect call that does one part once, the same for every library and for `empty`.

mod cbor;
mod empty;
mod flat;
mod json;
mod msgpack;
mod offers;
mod packed;
mod protobuf;
mod zeromp;

use std::any::Any;
use std::fmt::Display;
use std::hint::black_box;
use std::marker::PhantomData;

use serde::Serialize;
use wire::{Message, with_message};

pub(crate) use offers::{OFFERS, Offer};

/// What of a codec's work is timed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub(crate) enum Part {
    Populate,
    Encode,
    Decode,
    Convert,
}

impl Part {
    /// Its name in the protocol.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Populate => "populate",
            Self::Encode => "encode",
            Self::Decode => "decode",
            Self::Convert => "convert",
        }
    }
}

impl From<Part> for &'static str {
    fn from(part: Part) -> Self {
        part.name()
    }
}

/// Why a library does not take something, in its words.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl<E: Display> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A library at work on messages of the plain type `T`, called as its authors advise an app.
pub(crate) trait Library<T> {
    /// What it works on: the plain type itself, or one of its own.
    type Own: Own<T>;

    /// Encodes into a fresh buffer.
    fn encode(&mut self, own: &Self::Own) -> Result<Vec<u8>, Refused>;

    /// Decodes bytes that nobody vouches for, but for what [`Library::vet`] looks for.
    fn decode(&mut self, bytes: &[u8]) -> Result<Self::Own, Refused>;

    /// Refuses bytes that would end the process, where a library does not. Never timed.
    fn vet(&self, _: &[u8]) -> Result<(), Refused> {
        Ok(())
    }
}

/// A library's type for the plain type `T`.
pub(crate) trait Own<T> {
    fn populate(plain: &T) -> Self;
    fn convert(&self) -> T;
}

/// Plain types are their own; nothing of this is timed.
impl<T: Clone> Own<T> for T {
    fn populate(plain: &T) -> Self {
        plain.clone()
    }

    fn convert(&self) -> T {
        self.clone()
    }
}

/// A library at work on one kind of message.
pub(crate) trait Codec {
    /// Populates and encodes.
    fn encode(&mut self, plain: &Message) -> Result<Vec<u8>, Refused>;

    /// Decodes and converts.
    fn decode(&mut self, bytes: &[u8]) -> Result<Message, Refused>;

    /// Makes what a part needs as input. Bytes that are not given are of this library.
    fn step<'c>(
        &'c mut self,
        part: Part,
        plain: &'c Message,
        bytes: Option<Vec<u8>>,
    ) -> Result<Step<'c>, Refused>;
}

/// Does a part once; says something of the result, so that no compiler can leave it out. The
/// result is freed within, as an app frees it sooner or later.
pub(crate) type Step<'c> = Box<dyn FnMut() -> Result<u64, Refused> + 'c>;

/// A [`Library`] for messages of the type `T`.
pub(crate) struct At<L, T> {
    library: L,
    plain: PhantomData<T>,
}

impl<L, T> At<L, T> {
    pub(crate) fn new(library: L) -> Self {
        let plain = PhantomData;
        Self { library, plain }
    }
}

impl<L: Library<T>, T: Into<Message> + 'static> Codec for At<L, T> {
    fn encode(&mut self, plain: &Message) -> Result<Vec<u8>, Refused> {
        self.library.encode(&L::Own::populate(inner(plain)))
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<Message, Refused> {
        self.library.vet(bytes)?;
        Ok(self.library.decode(bytes)?.convert().into())
    }

    fn step<'c>(
        &'c mut self,
        part: Part,
        plain: &'c Message,
        bytes: Option<Vec<u8>>,
    ) -> Result<Step<'c>, Refused> {
        let plain: &T = inner(plain);
        let library = &mut self.library;
        if part == Part::Populate {
            return Ok(Box::new(move || {
                black_box(&L::Own::populate(black_box(plain)));
                Ok(1)
            }));
        }
        if part == Part::Encode {
            let own = L::Own::populate(plain);
            return Ok(Box::new(move || {
                let bytes = library.encode(black_box(&own))?;
                Ok(black_box(&bytes).len() as u64)
            }));
        }
        let bytes = match bytes {
            Some(bytes) => bytes,
            None => library.encode(&L::Own::populate(plain))?,
        };
        library.vet(&bytes)?;
        if part == Part::Decode {
            return Ok(Box::new(move || {
                black_box(&library.decode(black_box(&bytes))?);
                Ok(1)
            }));
        }
        let own = library.decode(&bytes)?;
        Ok(Box::new(move || {
            black_box(&black_box(&own).convert());
            Ok(1)
        }))
    }
}

fn inner<T: 'static>(message: &Message) -> &T {
    let inner: &dyn Any = with_message!(message, inner => inner);
    inner
        .downcast_ref()
        .expect("a codec is kept by the kind it was opened for")
}
