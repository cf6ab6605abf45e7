//! `[handover]` in a network file.

use std::ops::RangeInclusive;

use config::{ConfigError, Ms};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Handovers, StationSpec};
use crate::{
    closings::OnClose,
    table::{LENGTH_MS, MOMENT_MS, Table, ns},
};

/// Up to a minute of delay.
const EXTRA_DELAY_MS: RangeInclusive<f64> = 0.0..=60_000.0;

/// `[handover]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keys {
    /// Period with which the handovers repeat, in ms or as text.
    every_ms: Option<Ms>,
    /// The base stations to which the phone is handed over, in order of time. Required.
    station: Option<Vec<StationKeys>>,
}

/// `[[handover.station]]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StationKeys {
    /// When the handover to it begins, in ms or as text. Required.
    at_ms: Option<Ms>,
    /// How long nothing passes in either direction, in ms or as text. Required.
    interruption_ms: Option<Ms>,
    /// How much longer the delay of each direction is afterwards, on top of `delay_ms`; 0 by default.
    extra_delay_ms: Option<Ms>,
    /// What happens to the queue during the interruption. Required.
    queue: Option<OnClose>,
}

impl Keys {
    pub(crate) fn read(self, table: &Table<'_>) -> Result<Handovers, ConfigError> {
        let every_ms = table.within("every_ms", self.every_ms, &LENGTH_MS)?;
        let example = "[[handover.station]] with at_ms = 5000, and one for each handover";
        let keys = table.required("station", self.station, example)?;
        let station = |number: usize| table.inner(&format!("station.{number}"));
        let stations = keys.into_iter().enumerate();
        let stations = stations.map(|(number, keys)| keys.read(&station(number)));
        let stations = stations.collect::<Result<Vec<_>, _>>()?;
        Handovers::new(stations, every_ms.map(ns))
            .map_err(|e| station(e.station).table_error(e.key, format!("{}: {}", e.key, e.message)))
    }
}

impl StationKeys {
    fn read(self, table: &Table<'_>) -> Result<StationSpec, ConfigError> {
        let at = table.required_within("at_ms", self.at_ms, &MOMENT_MS, "at_ms = 5000")?;
        let example = "interruption_ms = 50";
        let interruption =
            table.required_within("interruption_ms", self.interruption_ms, &LENGTH_MS, example)?;
        let extra = table.within("extra_delay_ms", self.extra_delay_ms, &EXTRA_DELAY_MS)?;
        let example = "queue = \"keep\" or queue = \"flush\"";
        Ok(StationSpec {
            at_ns: ns(at),
            interruption_ns: ns(interruption),
            extra_delay_ns: extra.map_or(0, ns),
            queue: table.required("queue", self.queue, example)?,
        })
    }
}
