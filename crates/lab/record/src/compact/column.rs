//! The columns of a table of calls.

pub(super) const KIND: usize = 0;
pub(super) const ID: usize = 1;
pub(super) const CONNECTION: usize = 2;
pub(super) const START: usize = 3;
pub(super) const END: usize = 4;
pub(super) const DNS: usize = 5;
pub(super) const CONNECT: usize = 6;
pub(super) const TLS: usize = 7;
pub(super) const SENT: usize = 8;
pub(super) const FIRST_BYTE: usize = 9;
pub(super) const REQUEST_BYTES: usize = 10;
pub(super) const RESPONSE_BYTES: usize = 11;
pub(super) const SERVER: usize = 12;
pub(super) const SIGNED: usize = 13;
pub(super) const VERIFY: usize = 14;
pub(super) const ALLOCATED_BYTES: usize = 15;
pub(super) const ALLOCATIONS: usize = 16;
pub(super) const CREATED: usize = 17;
pub(super) const ENCODED: usize = 18;
pub(super) const RECEIVED: usize = 19;
pub(super) const SERVER_DECODE: usize = 20;
pub(super) const SERVER_ENCODE: usize = 21;
/// Columns before those of the parts.
pub(super) const COLUMNS: usize = 22;
