//! Changes to a network from the command line, e.g. `--loss 2% --rtt 80ms --down 5Mbit/s`.

use std::ops::RangeInclusive;

use config::{PERCENT, RATES, TIMES, quantity};

use super::{Network, error::hint, file::MTU};
use crate::{
    spec::{AqmKind, AqmSpec, LossSpec, PathSpec, QueueSpec, RateSpec},
    stage,
    text::clip,
    time::NS_PER_MS,
};

/// The queue of a direction that gets its first rate by an override: enough for one round trip of
/// most mobile links. It is printed with the numbers.
const FIRST_QUEUE_NS: u64 = 100 * NS_PER_MS;

/// Changes to a network; settings that are `None` stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Rate from server to client, in bits per second.
    pub down_bps: Option<u64>,
    /// Rate from client to server, in bits per second.
    pub up_bps: Option<u64>,
    /// Round-trip time in ns; each direction gets half.
    pub rtt_ns: Option<u64>,
    /// Jitter of each direction, in ns either way.
    pub jitter_ns: Option<u64>,
    /// Loss from server to client, in parts per billion; replaces any loss model.
    pub loss_down_ppb: Option<u32>,
    /// Loss from client to server, in parts per billion; replaces any loss model.
    pub loss_up_ppb: Option<u32>,
    /// Queue of each direction with a rate, in ns at that rate; replaces all other limits.
    pub queue_ns: Option<u64>,
    /// Management of the queue of each direction with a rate; `Some(None)` removes it.
    pub aqm: Option<Option<AqmKind>>,
    /// Largest IP packet in bytes.
    pub mtu: Option<u32>,
}

/// Why an override is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OverrideError {
    /// There is no such setting.
    #[error("there is no setting `{name}`{hint}")]
    Unknown {
        /// The name that was asked for, shortened to 80 characters.
        name: String,
        /// The nearest name, or all names.
        hint: String,
    },
    /// The value cannot be parsed or is out of range.
    #[error("{name} cannot be {value:?}; write {example}")]
    Value {
        /// The setting.
        name: &'static str,
        /// The value that was given, shortened to 80 characters.
        value: String,
        /// A valid value, with its range.
        example: &'static str,
    },
    /// A queue is set, but no direction has a rate for which packets could wait.
    #[error("no direction has a rate, so nothing waits in a queue; set down or up too")]
    QueueWithoutRate,
    /// The changed network contradicts itself.
    #[error("these overrides make the {direction} direction invalid: {message}")]
    Contradiction {
        /// `up` or `down`.
        direction: &'static str,
        /// What is wrong, and what would be right.
        message: String,
    },
}

/// A setting of the command line.
struct Setting {
    name: &'static str,
    /// A valid value, with its range.
    example: &'static str,
    /// Parses a value and stores it; `None` if it is invalid.
    set: fn(&mut Overrides, &str) -> Option<()>,
}

const SETTINGS: &[Setting] = &[
    Setting {
        name: "down",
        example: "5Mbit/s or 750kbit/s",
        set: |o, v| set(&mut o.down_bps, bps(v)),
    },
    Setting {
        name: "up",
        example: "5Mbit/s or 750kbit/s",
        set: |o, v| set(&mut o.up_bps, bps(v)),
    },
    Setting {
        name: "rtt",
        example: "80ms, up to 120s",
        set: |o, v| set(&mut o.rtt_ns, ns(v)),
    },
    Setting {
        name: "jitter",
        example: "5ms",
        set: |o, v| set(&mut o.jitter_ns, ns(v)),
    },
    Setting {
        name: "loss",
        example: "2%, from 0% to 100%",
        set: |o, v| set(&mut o.loss_down_ppb, ppb(v)).and(set(&mut o.loss_up_ppb, ppb(v))),
    },
    Setting {
        name: "loss-down",
        example: "2%, from 0% to 100%",
        set: |o, v| set(&mut o.loss_down_ppb, ppb(v)),
    },
    Setting {
        name: "loss-up",
        example: "2%, from 0% to 100%",
        set: |o, v| set(&mut o.loss_up_ppb, ppb(v)),
    },
    Setting {
        name: "queue",
        example: "100ms",
        set: |o, v| set(&mut o.queue_ns, ns(v)),
    },
    Setting {
        name: "aqm",
        example: "codel, fq-codel or none",
        set: |o, v| set(&mut o.aqm, aqm(v)),
    },
    Setting {
        name: "mtu",
        example: "1400, from 1280 to 9000",
        set: |o, v| set(&mut o.mtu, mtu(v)),
    },
];

impl Overrides {
    /// Sets one setting from its name and value on the command line, e.g. `("loss", "2%")`.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OverrideError> {
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
            let known: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
            return Err(OverrideError::Unknown {
                name: clip(name),
                hint: hint(name, &known),
            });
        };
        (setting.set)(self, value.trim()).ok_or_else(|| OverrideError::Value {
            name: setting.name,
            value: clip(value),
            example: setting.example,
        })
    }
}

impl Network {
    /// Returns the network with these changes. With another rate or round trip it no longer has the basis that its
    /// file states.
    pub fn with_overrides(mut self, o: &Overrides) -> Result<Network, OverrideError> {
        self.mtu = o.mtu.unwrap_or(self.mtu);
        if o.down_bps.is_some() || o.up_bps.is_some() || o.rtt_ns.is_some() {
            self.basis = None;
        }
        apply(&mut self.down, o, o.down_bps, o.loss_down_ppb);
        apply(&mut self.up, o, o.up_bps, o.loss_up_ppb);
        for spec in [&mut self.down, &mut self.up] {
            apply_aqm(spec, o.aqm, self.mtu);
        }
        let rates = [&self.down.rate, &self.up.rate];
        let sets_queue = o.queue_ns.is_some() || matches!(o.aqm, Some(Some(_)));
        if sets_queue && rates == [&RateSpec::Unlimited; 2] {
            return Err(OverrideError::QueueWithoutRate);
        }
        if let Some(rtt_ns) = o.rtt_ns {
            self.down.delay_ns = rtt_ns / 2;
            self.up.delay_ns = rtt_ns - self.down.delay_ns;
        }
        for (direction, spec) in [("down", &self.down), ("up", &self.up)] {
            stage::check(spec, self.mtu).map_err(|c| OverrideError::Contradiction {
                direction,
                message: c.message,
            })?;
        }
        Ok(self)
    }
}

fn apply(spec: &mut PathSpec, o: &Overrides, bps: Option<u64>, loss_ppb: Option<u32>) {
    if let Some(bps) = bps {
        if spec.rate == RateSpec::Unlimited && spec.queue == QueueSpec::default() {
            spec.queue.time_ns = Some(FIRST_QUEUE_NS);
        }
        spec.rate = RateSpec::constant(bps);
    }
    if let Some(queue_ns) = o.queue_ns.filter(|_| spec.rate != RateSpec::Unlimited) {
        spec.queue = QueueSpec {
            time_ns: Some(queue_ns),
            ..QueueSpec::default()
        };
    }
    if let Some(ppb) = loss_ppb {
        spec.loss = (ppb > 0).then_some(LossSpec::Iid { ppb });
    }
    spec.jitter_ns = o.jitter_ns.unwrap_or(spec.jitter_ns);
}

/// Sets the queue's management, which knows the MTU.
fn apply_aqm(spec: &mut PathSpec, change: Option<Option<AqmKind>>, mtu: u32) {
    if let Some(kind) = change.filter(|_| spec.rate != RateSpec::Unlimited) {
        spec.aqm = kind.map(|kind| AqmSpec::new(kind, mtu));
    }
    if let Some(aqm) = &mut spec.aqm {
        aqm.mtu = mtu;
    }
}

/// Stores a value that could be parsed.
fn set<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
    *slot = Some(value?);
    Some(())
}

fn bps(text: &str) -> Option<u64> {
    within(quantity(text, RATES)?, 100.0..=1e11).map(|bps| bps as u64)
}

fn ns(text: &str) -> Option<u64> {
    within(quantity(text, TIMES)?, 0.0..=1.2e11).map(|ns| ns as u64)
}

fn ppb(text: &str) -> Option<u32> {
    within(quantity(text, PERCENT)? * 1e7, 0.0..=1e9).map(|ppb| ppb as u32)
}

fn aqm(text: &str) -> Option<Option<AqmKind>> {
    match text {
        "codel" => Some(Some(AqmKind::Codel)),
        "fq-codel" => Some(Some(AqmKind::FqCodel)),
        "none" => Some(None),
        _ => None,
    }
}

fn mtu(text: &str) -> Option<u32> {
    text.parse().ok().filter(|mtu| MTU.contains(mtu))
}

/// Returns the rounded value, if it is in range.
fn within(value: f64, range: RangeInclusive<f64>) -> Option<f64> {
    Some(value.round()).filter(|value| range.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::find;

    fn overrides(settings: &[(&str, &str)]) -> Result<Overrides, String> {
        let mut o = Overrides::default();
        for (name, value) in settings {
            o.set(name, value).map_err(|e| e.to_string())?;
        }
        Ok(o)
    }

    fn numbers(name: &str, settings: &[(&str, &str)]) -> Result<String, String> {
        let changed = find(name).unwrap().with_overrides(&overrides(settings)?);
        changed
            .map(|network| network.numbers())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn every_setting_changes_its_number() {
        let changes = [
            ("down", "5Mbit/s"),
            ("up", "750 kbit/s"),
            ("rtt", "80ms"),
            ("jitter", "1.5ms"),
            ("loss", "2%"),
            ("loss-up", "0%"),
            ("queue", "50ms"),
            ("aqm", "fq-codel"),
            ("mtu", "1400"),
        ];
        assert_eq!(
            numbers("true-metro", &changes),
            Ok(
                "down 5 up 0.75 Mbit/s · RTT 80 ms ±3 · loss 2 % down · queue 50 ms FQ-CoDel · MTU 1400"
                    .to_owned()
            )
        );
    }

    #[test]
    fn first_rate_of_a_direction_comes_with_a_queue() {
        let with_rate = numbers("lan", &[("down", "10Mbps")]).unwrap();
        assert!(with_rate.ends_with("queue 100 ms down"), "{with_rate}");
    }

    #[test]
    fn invalid_values_get_an_example() {
        let refused = [
            (
                "loss",
                "2",
                "loss cannot be \"2\"; write 2%, from 0% to 100%",
            ),
            (
                "loss",
                "150%",
                "loss cannot be \"150%\"; write 2%, from 0% to 100%",
            ),
            (
                "loss",
                "-1%",
                "loss cannot be \"-1%\"; write 2%, from 0% to 100%",
            ),
            ("rtt", "80", "rtt cannot be \"80\"; write 80ms, up to 120s"),
            (
                "down",
                "5MB/s",
                "down cannot be \"5MB/s\"; write 5Mbit/s or 750kbit/s",
            ),
            (
                "down",
                "0Mbit",
                "down cannot be \"0Mbit\"; write 5Mbit/s or 750kbit/s",
            ),
            (
                "aqm",
                "red",
                "aqm cannot be \"red\"; write codel, fq-codel or none",
            ),
            (
                "mtu",
                "100",
                "mtu cannot be \"100\"; write 1400, from 1280 to 9000",
            ),
            (
                "queu",
                "1ms",
                "there is no setting `queu` (did you mean `queue`?)",
            ),
        ];
        for (name, value, error) in refused {
            assert_eq!(overrides(&[(name, value)]), Err(error.to_owned()));
        }
    }

    #[test]
    fn management_of_a_queue_goes_with_the_mtu_and_can_be_removed() {
        let both = overrides(&[("aqm", "codel"), ("mtu", "1400")]).unwrap();
        let network = find("true-metro").unwrap().with_overrides(&both).unwrap();
        let expected = Some(AqmSpec::new(AqmKind::Codel, 1400));
        assert_eq!((network.up.aqm, network.down.aqm), (expected, expected));
        let none = overrides(&[("aqm", "none")]).unwrap();
        let network = network.with_overrides(&none).unwrap();
        assert_eq!((network.up.aqm, network.down.aqm), (None, None));
    }

    #[test]
    fn overrides_obey_the_same_rules_as_files() {
        let error = numbers("true-metro", &[("rtt", "2ms"), ("jitter", "5ms")]).unwrap_err();
        assert!(
            error.contains("the jitter is larger than the delay"),
            "{error}"
        );
        let error = numbers("true-metro", &[("down", "1kbit")]).unwrap_err();
        assert!(error.contains("less than one packet"), "{error}");
        let error = numbers("lan", &[("queue", "50ms")]).unwrap_err();
        assert!(error.contains("set down or up too"), "{error}");
        let error = numbers("lan", &[("aqm", "codel")]).unwrap_err();
        assert!(error.contains("set down or up too"), "{error}");
        assert_eq!(numbers("lan", &[("aqm", "none")]), numbers("lan", &[]));
    }
}
