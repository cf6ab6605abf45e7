//! Phones whose radios' powers are published: the constants of [`super::energy`].
//!
//! Every number is a source's own; docs/reference/energy.md says which were not read there. There is no phone with 5G:
//! of its states, only slopes per Mbit/s are known (Narayanan et al., SIGCOMM 2021).

/// A phone, and the power of its radio in each state. Powers are in mW, as published. Idle counts as zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Phone {
    /// Its name in reports, which no other has.
    pub(crate) name: &'static str,
    /// Where the numbers are from.
    pub(crate) source: &'static str,
    /// The kind of its radio, as a network file's `technology` names it.
    pub(crate) technology: &'static str,
    /// The states that network files have of such radios, by name, without the last.
    pub(crate) states: &'static [(&'static str, Power)],
    /// The mean of a promotion, by the state in which it begins.
    pub(crate) promotions: &'static [(&'static str, f64)],
    /// Per Mbit/s that the phone sends, beside the power of the state.
    pub(crate) up_mw_per_mbps: f64,
    /// Per Mbit/s that it receives.
    pub(crate) down_mw_per_mbps: f64,
}

/// The power of a state.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Power {
    /// The same all the time, or its mean.
    Steady(f64),
    /// More while the phone listens, once in each of the state's cycles.
    Cycle {
        between_mw: f64,
        listening_mw: f64,
        listening_ms: f64,
    },
}

/// DRX by Video Optimizer: `P_TAIL`, and `P_SHORT_DRX_PING` or `P_LONG_DRX_PING` for `T_DRX_PING`.
const DRX: Power = Power::Cycle {
    between_mw: 1060.0,
    listening_mw: 1680.0,
    listening_ms: 2.0,
};

/// The tail by Huang et al.: one power for all of it.
const TAIL: Power = Power::Steady(1060.0);

pub(crate) const PHONES: [Phone; 6] = [
    Phone {
        name: "LTE phone of 2012",
        source: "Huang et al., MobiSys 2012, Tables 3 and 4",
        technology: "lte",
        states: &[
            ("connected", Power::Steady(1288.04)),
            ("drx", TAIL),
            ("short_drx", TAIL),
            ("long_drx", TAIL),
        ],
        promotions: &[("idle", 1210.7)],
        up_mw_per_mbps: 438.39,
        down_mw_per_mbps: 51.97,
    },
    Phone {
        name: "Video Optimizer's LTE device",
        source: "AT&T Video Optimizer, lte.conf",
        technology: "lte",
        states: &[
            ("connected", Power::Steady(1200.0)),
            ("drx", DRX),
            ("short_drx", DRX),
            ("long_drx", DRX),
        ],
        promotions: &[("idle", 1210.0)],
        up_mw_per_mbps: 438.39,
        down_mw_per_mbps: 51.97,
    },
    Phone {
        name: "Samsung i997",
        source: "AT&T Video Optimizer, i997.conf",
        technology: "umts",
        states: &[
            ("dch", Power::Steady(1300.0)),
            ("fach", Power::Steady(300.0)),
        ],
        promotions: &[("idle", 650.0), ("fach", 800.0)],
        up_mw_per_mbps: 0.0,
        down_mw_per_mbps: 0.0,
    },
    Phone {
        name: "Samsung Captivate",
        source: "AT&T Video Optimizer, imap.conf",
        technology: "umts",
        states: &[
            ("dch", Power::Steady(1020.0)),
            ("fach", Power::Steady(400.0)),
        ],
        promotions: &[("idle", 510.0), ("fach", 710.0)],
        up_mw_per_mbps: 0.0,
        down_mw_per_mbps: 0.0,
    },
    Phone {
        name: "HTC Inspire",
        source: "AT&T Video Optimizer, inspire.conf",
        technology: "umts",
        states: &[
            ("dch", Power::Steady(600.0)),
            ("fach", Power::Steady(380.0)),
        ],
        promotions: &[("idle", 300.0), ("fach", 490.0)],
        up_mw_per_mbps: 0.0,
        down_mw_per_mbps: 0.0,
    },
    Phone {
        name: "LG Thrill",
        source: "AT&T ARO, thrill.conf",
        technology: "umts",
        states: &[
            ("dch", Power::Steady(610.0)),
            ("fach", Power::Steady(250.0)),
        ],
        promotions: &[("idle", 305.0), ("fach", 430.0)],
        up_mw_per_mbps: 0.0,
        down_mw_per_mbps: 0.0,
    },
];

impl Phone {
    /// Returns the mean power of a state in mW, given how often the phone listens in it; `None` where no power is
    /// published.
    pub(crate) fn state_mw(&self, name: &str, cycle_ms: f64) -> Option<f64> {
        let (_, power) = self.states.iter().find(|(known, _)| *known == name)?;
        Some(match *power {
            Power::Steady(mw) => mw,
            Power::Cycle {
                between_mw,
                listening_mw,
                listening_ms,
            } => {
                // A phone that always listens does so for the whole of its cycle.
                let share = match cycle_ms > listening_ms {
                    true => listening_ms / cycle_ms,
                    false => 1.0,
                };
                between_mw + (listening_mw - between_mw) * share
            }
        })
    }

    /// Returns the mean power in mW of a promotion that begins in a state; `None` where none is published.
    pub(crate) fn promotion_mw(&self, from: &str) -> Option<f64> {
        let mut promotions = self.promotions.iter();
        promotions.find(|(known, _)| *known == from).map(|p| p.1)
    }
}
