//! Figures of arms, from records: what each cell measured, and what all blocks say.

pub(crate) mod cells;
pub(crate) mod coding;
pub(crate) mod configuration;
pub(crate) mod cost;
pub(crate) mod energy;
pub(crate) mod estimate;
pub(crate) mod external;
pub(crate) mod hdr;
pub(crate) mod histogram;
pub(crate) mod load;
pub(crate) mod measure;
pub(crate) mod moves;
pub(crate) mod parts;
pub(crate) mod percentiles;
pub(crate) mod phases;
pub(crate) mod phones;
pub(crate) mod population;
pub(crate) mod position;
pub(crate) mod regret;
pub(crate) mod repeated_packets;
pub(crate) mod sending;
pub(crate) mod setup;
pub(crate) mod steps;
