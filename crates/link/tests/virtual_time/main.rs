//! The link from outside, in virtual time: no test here reads a clock or can be late.

// A helper that cannot go on fails its test.
#![allow(clippy::unwrap_used)]

mod common;
mod common_random_numbers;
mod golden;
mod networks;
mod properties;
mod refusals;
