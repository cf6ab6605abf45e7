//! Tests of the public API in virtual time: none reads a clock, so none depends on timing.

// A helper that panics fails its test.
#![allow(clippy::unwrap_used)]

mod aqm;
mod common;
mod common_random_numbers;
mod golden;
mod handovers;
mod mobile_refusals;
mod nat;
mod networks;
mod pinger;
mod pings;
mod properties;
mod radio;
mod radio_log;
mod random_text;
mod records;
mod refusals;
