//! Codec libraries behind one interface, and the table of all of them.
//!
//! A [`Library`] is generic over the message type. [`TypedCodec`] fixes the type and implements the
//! object-safe [`Codec`], so that a session can hold any of them. The timed unit is a *step*: one
//! indirect call that runs one part once, the same for every library and for `empty`.

mod cbor;
mod compressed;
mod empty;
mod flat;
mod json;
mod msgpack;
mod offers;
mod protobuf;
mod zeromp;

use std::any::Any;
use std::fmt::Display;
use std::hint::black_box;
use std::marker::PhantomData;

use driver::codec_runner::Part;
use messages::{Message, with_message};

pub(crate) use offers::{OFFERS, Offer};

/// A library's error: why it refuses its input.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) String);

impl<E: Display> From<E> for Refused {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// A library for messages of the plain type `T`, called as its authors advise.
pub(crate) trait Library<T> {
    /// The type it works on: `T` itself, or one of its own.
    type Own: Own<T>;

    /// Encodes into a fresh buffer.
    fn encode(&mut self, own: &Self::Own) -> Result<Vec<u8>, Refused>;

    /// Decodes untrusted bytes that [`Library::vet`] has accepted.
    fn decode(&mut self, bytes: &[u8]) -> Result<Self::Own, Refused>;

    /// Refuses bytes that would crash the process, for libraries that do not do so themselves. Not
    /// timed.
    fn vet(&self, _: &[u8]) -> Result<(), Refused> {
        Ok(())
    }
}

/// A library's own type for the plain type `T`.
pub(crate) trait Own<T> {
    fn populate(plain: &T) -> Self;
    fn convert(&self) -> T;
}

/// For libraries that work on plain types. Not timed.
impl<T: Clone> Own<T> for T {
    fn populate(plain: &T) -> Self {
        plain.clone()
    }

    fn convert(&self) -> T {
        self.clone()
    }
}

/// A library for one kind of message.
pub(crate) trait Codec {
    /// Populates and encodes.
    fn encode(&mut self, plain: &Message) -> Result<Vec<u8>, Refused>;

    /// Decodes and converts.
    fn decode(&mut self, bytes: &[u8]) -> Result<Message, Refused>;

    /// Prepares a part's input and returns the step. Without `bytes`, decoding reads what this
    /// library encodes.
    fn step<'c>(
        &'c mut self,
        part: Part,
        plain: &'c Message,
        bytes: Option<Vec<u8>>,
    ) -> Result<Step<'c>, Refused>;
}

/// Runs a part once and frees its result, as an app does eventually. Returns a number that depends
/// on the result, so that the compiler cannot remove the work.
pub(crate) type Step<'c> = Box<dyn FnMut() -> Result<u64, Refused> + 'c>;

/// A [`Library`] for messages of the type `T`.
pub(crate) struct TypedCodec<L, T> {
    library: L,
    plain: PhantomData<T>,
}

impl<L, T> TypedCodec<L, T> {
    pub(crate) fn new(library: L) -> Self {
        let plain = PhantomData;
        Self { library, plain }
    }
}

impl<L: Library<T>, T: Into<Message> + 'static> Codec for TypedCodec<L, T> {
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
        .expect("codecs are looked up by the kind they were opened for")
}
