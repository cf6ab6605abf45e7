//! One direction of a bench: frames in from one interface, through the model, out of the other.

pub(crate) mod clock;
pub(crate) mod control;
pub(crate) mod frame;
pub(crate) mod histogram;
pub(crate) mod ledger;
pub(crate) mod ring;
pub(crate) mod slab;
pub(crate) mod socket;
pub(crate) mod threads;
pub(crate) mod totals;
pub(crate) mod wait;
pub(crate) mod worker;
