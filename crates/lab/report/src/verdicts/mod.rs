//! Verdicts: arms compared with the baseline, and whether the comparison can be trusted.

pub(crate) mod agreement;
pub(crate) mod apart;
pub(crate) mod by_block;
pub(crate) mod compare;
pub(crate) mod coverage;
pub(crate) mod machines;
pub(crate) mod noise;
pub(crate) mod overall;
pub(crate) mod pairing;
pub(crate) mod reason;
pub(crate) mod sweep;
pub(crate) mod threshold;
pub(crate) mod unusable;
pub(crate) mod values;
pub(crate) mod why;
