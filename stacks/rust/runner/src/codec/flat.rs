//! FlatBuffers by planus.

use planus::Builder;

use super::{Library, Own, Refused};

/// planus with owned tables, both for writing and for reading. The builder is reused, which is
/// what its `clear` is for.
#[derive(Default)]
pub(crate) struct Planus(Builder);

/// A plain type that has a table.
pub(crate) trait Tabled: Sized {
    type Table: Own<Self> + Table;
}

/// An owned table. planus generates methods for each of its types, but no trait for both
/// directions.
pub(crate) trait Table: Sized {
    fn write(&self, builder: &mut Builder) -> Vec<u8>;
    fn read(bytes: &[u8]) -> planus::Result<Self>;
}

impl<T: Tabled> Library<T> for Planus {
    type Own = T::Table;

    fn encode(&mut self, own: &T::Table) -> Result<Vec<u8>, Refused> {
        self.0.clear();
        Ok(own.write(&mut self.0))
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<T::Table, Refused> {
        Ok(T::Table::read(bytes)?)
    }
}

/// The output of `planus rust` for `bench.fbs`.
#[allow(
    dead_code,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::undocumented_unsafe_blocks
)]
mod generated {
    include!(concat!(env!("OUT_DIR"), "/flat.rs"));
}

/// The conversions between plain types and tables.
mod mirror {
    use planus::ReadAsRoot;

    use super::generated::commute::bench::*;
    use super::{Own, Table, Tabled};

    include!(concat!(env!("OUT_DIR"), "/flat_mirror.rs"));
}
