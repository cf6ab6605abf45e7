//! Calls the client's C and JNI interfaces in any sequence, from several threads at once, with ids that are live, stale,
//! foreign or made up. A server on loopback answers some of the requests.
//!
//! An operation is four bytes: which function, on what, and with what. The fuzzer `c_abi` takes them from its input, and
//! the program of this crate at random. `fuzz/sanitize` runs the program under AddressSanitizer and ThreadSanitizer.
//!
//! `c` links the C interface. `jvm` loads the JNI library, as a JVM does, and is a mock of the JVM.

pub mod c;
pub mod jvm;
mod server;
mod slots;
mod threads;

/// An error that is made on purpose, to prove that a sanitizer reports such errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// The library reads memory that its caller has freed.
    UseAfterFree,
    /// The library and its caller use the same memory at the same time.
    DataRace,
    /// The caller forgets memory.
    Leak,
}
