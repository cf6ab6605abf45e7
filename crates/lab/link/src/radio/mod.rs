//! The radio of a phone as a source of delay: it sleeps in steps when nothing is sent, and wakes up late.
//!
//! Both directions of a link share one radio. Its states are a list, each entered after some time without a packet: e.g.
//! connected, connected DRX (the phone listens once in each cycle) and idle (the phone listens for pages, and connects
//! again). A packet that finds the radio asleep waits until it can carry: a packet to the phone for the next time at which
//! the phone listens, and then, as a packet from the phone, for the promotion. Packets that come meanwhile wait with it.

mod keys;
mod machine;

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::text::ms;

pub(crate) use keys::Keys;
pub(crate) use machine::Carried;
pub use machine::{Radio, RadioChange, RadioLog, RadioState};

/// A radio: what it does after how long without a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawRadio", into = "RawRadio")]
pub struct RadioSpec {
    begins: Begins,
    technology: Option<Technology>,
    states: Vec<RadioStateSpec>,
}

/// The kind of a radio: phones whose powers are published have one of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Technology {
    /// LTE.
    Lte,
    /// UMTS, with or without HSPA.
    Umts,
    /// 5G, beside LTE or alone.
    #[serde(rename = "5g")]
    Nr,
}

/// The state of a radio at the origin of virtual time.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Begins {
    /// Its last state: nothing has been sent for long.
    #[default]
    Idle,
    /// Its first state: a packet was just sent.
    Connected,
}

/// A state of a radio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RadioStateSpec {
    /// Its name in logs, of lower-case letters, digits and `_`.
    pub name: String,
    /// Time without a packet after which it is entered, in ns: 0 for the first state, and longer for each further one.
    pub after_ns: u64,
    /// Time between the moments at which the phone listens, in ns; 0 if it always does.
    pub down_cycle_ns: u64,
    /// Time between the moments at which the phone can ask for a grant to send, in ns; 0 if it has one.
    pub up_cycle_ns: u64,
    /// Time that it takes to the first state, in ns.
    pub promotion_ns: u64,
    /// How far that varies either way, in ns; uniform, and drawn for each promotion.
    pub promotion_jitter_ns: u64,
    /// Largest packet from the phone that needs no promotion, in IP bytes.
    pub small_up_bytes: u32,
    /// The same to the phone.
    pub small_down_bytes: u32,
}

/// Why a list of states is not a radio.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("state {state}: {key}: {message}")]
pub struct RadioError {
    /// Index of the state to blame.
    pub state: usize,
    /// The key of a network file to blame.
    pub key: &'static str,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl RadioSpec {
    /// Fewest and most states.
    pub(crate) const STATES: RangeInclusive<usize> = 2..=8;

    /// Returns a radio with these states. The first is entered with a packet and carries at once; each further one is
    /// entered after a longer time without a packet.
    pub fn new(begins: Begins, states: Vec<RadioStateSpec>) -> Result<RadioSpec, RadioError> {
        if !RadioSpec::STATES.contains(&states.len()) {
            let (least, most) = (RadioSpec::STATES.start(), RadioSpec::STATES.end());
            return Err(RadioError {
                state: states.len(),
                key: "name",
                message: format!("a radio has {least} to {most} states, the first connected"),
            });
        }
        for (i, state) in states.iter().enumerate() {
            let before = i.checked_sub(1).map(|before| &states[before]);
            let at = |state, (key, message): (&'static str, &str)| RadioError {
                state,
                key,
                message: message.into(),
            };
            state.check(before).map_err(|wrong| at(i, wrong))?;
            if let Some(before) = before {
                let lasts_ns = state.after_ns - before.after_ns;
                before
                    .check_cycles(lasts_ns)
                    .map_err(|wrong| at(i - 1, wrong))?;
            }
            if states[..i].iter().any(|other| other.name == state.name) {
                return Err(RadioError {
                    state: i,
                    key: "name",
                    message: "another state has this name".to_owned(),
                });
            }
        }
        Ok(RadioSpec {
            begins,
            technology: None,
            states,
        })
    }

    /// Returns the radio with its technology, if it is known.
    #[must_use]
    pub fn with_technology(self, technology: Option<Technology>) -> RadioSpec {
        RadioSpec { technology, ..self }
    }

    /// Returns the state in which virtual time begins.
    pub fn begins(&self) -> Begins {
        self.begins
    }

    /// Returns the kind of radio; `None` where the network does not state it.
    pub fn technology(&self) -> Option<Technology> {
        self.technology
    }

    /// Returns the states, at least two.
    pub fn states(&self) -> &[RadioStateSpec] {
        &self.states
    }

    /// Returns when the radio sleeps, in one line, e.g. "radio drx after 400 ms, idle after 10100 ms": its first state of
    /// sleep and its last.
    pub(crate) fn summary(&self) -> String {
        let text =
            |state: &RadioStateSpec| format!("{} after {} ms", state.name, ms(state.after_ns));
        match &self.states[..] {
            [_, first, .., last] => format!("radio {}, {}", text(first), text(last)),
            states => format!("radio {}", states.last().map(text).unwrap_or_default()),
        }
    }
}

impl RadioStateSpec {
    /// Longest name in bytes.
    const MAX_NAME: usize = 20;
    /// Longest time: a day.
    const MAX_NS: u64 = 86_400_000_000_000;

    /// Returns the key to blame and what is wrong with a state, given the one before.
    fn check(&self, before: Option<&RadioStateSpec>) -> Result<(), (&'static str, &'static str)> {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let is_name = !self.name.is_empty()
            && self.name.len() <= Self::MAX_NAME
            && self.name.bytes().all(is_plain)
            && ![RadioState::PROMOTING, RadioState::UNRECORDED].contains(&&*self.name);
        if !is_name {
            let message = "write 1 to 20 lower-case letters, digits or _, but neither `promoting` nor `unrecorded`";
            return Err(("name", message));
        }
        let times = [
            ("after_ms", self.after_ns),
            ("down_cycle_ms", self.down_cycle_ns),
            ("up_cycle_ms", self.up_cycle_ns),
            ("promotion_ms", self.promotion_ns),
        ];
        if let Some((key, _)) = times.into_iter().find(|&(_, ns)| ns > Self::MAX_NS) {
            return Err((key, "the time is longer than a day"));
        }
        let Some(before) = before else {
            return self.check_first();
        };
        if self.after_ns <= before.after_ns {
            let message = "give each state a longer time than the one before";
            return Err(("after_ms", message));
        }
        if self.promotion_jitter_ns > self.promotion_ns {
            let message = "the jitter is larger than the promotion; it goes either way";
            return Err(("promotion_jitter_ms", message));
        }
        if self.promotion_ns == 0 && self.small_up_bytes.max(self.small_down_bytes) > 0 {
            let message =
                "no packet needs a promotion here; write promotion_ms, or no small packets";
            let key = match self.small_up_bytes {
                0 => "small_down_bytes",
                _ => "small_up_bytes",
            };
            return Err((key, message));
        }
        if [self.down_cycle_ns, self.up_cycle_ns, self.promotion_ns] == [0; 3] {
            let message =
                "the state delays no packet; write down_cycle_ms, up_cycle_ms or promotion_ms";
            return Err(("name", message));
        }
        Ok(())
    }

    /// Returns what is wrong with a state that ends after so long without a packet.
    fn check_cycles(&self, lasts_ns: u64) -> Result<(), (&'static str, &'static str)> {
        let cycles = [
            ("down_cycle_ms", self.down_cycle_ns),
            ("up_cycle_ms", self.up_cycle_ns),
        ];
        match cycles.into_iter().find(|&(_, ns)| ns > lasts_ns) {
            Some((key, _)) => Err((
                key,
                "the cycle is longer than the state; the next one begins before",
            )),
            None => Ok(()),
        }
    }

    fn check_first(&self) -> Result<(), (&'static str, &'static str)> {
        let costs = [
            ("after_ms", self.after_ns),
            ("down_cycle_ms", self.down_cycle_ns),
            ("promotion_ms", self.promotion_ns),
            ("promotion_jitter_ms", self.promotion_jitter_ns),
            ("small_up_bytes", self.small_up_bytes.into()),
            ("small_down_bytes", self.small_down_bytes.into()),
        ];
        match costs.into_iter().find(|&(_, number)| number > 0) {
            Some((key, _)) => Err((
                key,
                "the first state carries packets at once; leave this out",
            )),
            None => Ok(()),
        }
    }
}

/// A radio before its states are checked: the serialised form.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRadio {
    begins: Begins,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    technology: Option<Technology>,
    states: Vec<RadioStateSpec>,
}

impl TryFrom<RawRadio> for RadioSpec {
    type Error = RadioError;

    fn try_from(raw: RawRadio) -> Result<RadioSpec, RadioError> {
        let radio = RadioSpec::new(raw.begins, raw.states)?;
        Ok(radio.with_technology(raw.technology))
    }
}

impl From<RadioSpec> for RawRadio {
    fn from(spec: RadioSpec) -> RawRadio {
        RawRadio {
            begins: spec.begins,
            technology: spec.technology,
            states: spec.states,
        }
    }
}
