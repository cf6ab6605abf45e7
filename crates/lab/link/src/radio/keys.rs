//! `[radio]` in a network file.

use std::ops::RangeInclusive;

use config::{Bytes, ConfigError, Ms};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Begins, RadioSpec, RadioStateSpec, Technology};
use crate::table::{LENGTH_MS, Table, ns};

/// Time without a packet: more than a day helps nobody.
const AFTER_MS: RangeInclusive<f64> = 0.001..=86_400_000.0;
/// A promotion: up to a minute.
const PROMOTION_MS: RangeInclusive<f64> = 0.0..=60_000.0;

/// `[radio]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Keys {
    /// The state in which the first step begins: `idle`, the last state, or `connected`, the first. `idle` by default.
    begins: Option<Begins>,
    /// The kind of radio: `lte`, `umts` or `5g`. Reports need it for the energy of phones.
    technology: Option<Technology>,
    /// The states, two to eight, each after a longer time without a packet. Required.
    state: Option<Vec<StateKeys>>,
}

/// `[[radio.state]]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StateKeys {
    /// Its name in logs: lower-case letters, digits and `_`. Required.
    name: Option<String>,
    /// Time without a packet after which the state is entered, in ms or as text. Required but for the first state.
    after_ms: Option<Ms>,
    /// How often the phone listens: a packet to it waits for the next time.
    down_cycle_ms: Option<Ms>,
    /// How often the phone can ask for a grant: a packet from it waits for the next time.
    up_cycle_ms: Option<Ms>,
    /// How long the promotion to the first state takes, for packets in either direction.
    promotion_ms: Option<Ms>,
    /// How far that varies either way, uniform.
    promotion_jitter_ms: Option<Ms>,
    /// Packets from the phone up to this size need no promotion; less than the MTU.
    small_up_bytes: Option<Bytes>,
    /// Packets to the phone up to this size need no promotion; less than the MTU.
    small_down_bytes: Option<Bytes>,
}

impl Keys {
    /// Reads the radio of a network with an MTU of so many bytes.
    pub(crate) fn read(self, table: &Table<'_>, mtu: u32) -> Result<RadioSpec, ConfigError> {
        let example = "[[radio.state]] with name = \"connected\", and one for each state of sleep";
        let keys = table.required("state", self.state, example)?;
        let state = |number: usize| table.inner(&format!("state.{number}"));
        let states = keys.into_iter().enumerate();
        let states = states.map(|(number, keys)| keys.read(&state(number), number == 0, mtu));
        let states = states.collect::<Result<Vec<_>, _>>()?;
        let radio = RadioSpec::new(self.begins.unwrap_or_default(), states)
            .map_err(|e| state(e.state).table_error(e.key, format!("{}: {}", e.key, e.message)))?;
        Ok(radio.with_technology(self.technology))
    }
}

impl StateKeys {
    fn read(
        self,
        table: &Table<'_>,
        is_first: bool,
        mtu: u32,
    ) -> Result<RadioStateSpec, ConfigError> {
        // Full packets are never small.
        let small_bytes = 1..=u64::from(mtu) - 1;
        let after_ms = table.within("after_ms", self.after_ms, &AFTER_MS)?;
        if !is_first {
            table.required("after_ms", after_ms, "after_ms = 10000")?;
        }
        let cycle = |key, value| Ok(table.within(key, value, &LENGTH_MS)?.map_or(0, ns));
        let promotion = |key, value| Ok(table.within(key, value, &PROMOTION_MS)?.map_or(0, ns));
        let small = |key, value| {
            Ok(table
                .within(key, value, &small_bytes)?
                .map_or(0, |n| n as u32))
        };
        Ok(RadioStateSpec {
            name: table.required("name", self.name, "name = \"idle\"")?,
            after_ns: after_ms.map_or(0, ns),
            down_cycle_ns: cycle("down_cycle_ms", self.down_cycle_ms)?,
            up_cycle_ns: cycle("up_cycle_ms", self.up_cycle_ms)?,
            promotion_ns: promotion("promotion_ms", self.promotion_ms)?,
            promotion_jitter_ns: promotion("promotion_jitter_ms", self.promotion_jitter_ms)?,
            small_up_bytes: small("small_up_bytes", self.small_up_bytes)?,
            small_down_bytes: small("small_down_bytes", self.small_down_bytes)?,
        })
    }
}
