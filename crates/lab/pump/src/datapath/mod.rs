//! The data path: a thread per direction takes frames from one interface through the model and
//! sends them out of the other.

pub(crate) mod admission;
pub(crate) mod clock;
pub(crate) mod control;
pub(crate) mod flows;
pub(crate) mod frame;
pub(crate) mod histogram;
pub(crate) mod ledger;
pub(crate) mod left_addresses;
mod load;
pub(crate) mod nat;
pub(crate) mod rewrite;
pub(crate) mod ring;
pub(crate) mod slab;
pub(crate) mod socket;
pub(crate) mod threads;
pub(crate) mod totals;
pub(crate) mod wait;
pub(crate) mod worker;
