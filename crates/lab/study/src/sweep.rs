//! `[sweep]`: each network of a study at several levels of one or two settings, of its own or of all arms.
//! Either way a level has a table and a baseline of its own.

use std::collections::BTreeMap;

use config::{ConfigError, Source};
use link::{Network, OverrideError, Overrides};
use record::Level;
use toml::Spanned;

use super::Arm;
use super::arm_setting::{self, is_arm_setting};

/// With two settings, one is the axis of a figure and the other makes its lines.
const MAX_SETTINGS: usize = 2;
/// A study has a block for each, several times over.
const MAX_COMBINATIONS: usize = 200;
/// Settings of both directions, and those of one that they would overwrite.
const OVERLAPPING: [(&str, &str); 2] = [("loss", "loss-down"), ("loss", "loss-up")];

/// As written: by setting, as `commute link` names them, its values.
pub(super) type RawSweep = BTreeMap<Spanned<String>, Spanned<Vec<String>>>;

/// Combinations of settings that replace each network of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sweep {
    /// By setting, in alphabetical order; empty if the study has no sweep.
    settings: Vec<(String, Vec<String>)>,
}

/// A network, and its levels if a sweep made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyNetwork {
    /// The network, known by its name.
    pub link: Network,
    /// The level of each setting; empty if there is no sweep.
    pub levels: Vec<Level>,
    /// The name of the network that was changed; its own if there is no sweep.
    pub base: String,
}

impl From<Network> for StudyNetwork {
    fn from(link: Network) -> StudyNetwork {
        StudyNetwork {
            base: link.name.clone(),
            levels: Vec::new(),
            link,
        }
    }
}

impl Sweep {
    pub(super) fn check(raw: RawSweep, source: &Source<'_>) -> Result<Sweep, ConfigError> {
        let names: Vec<&str> = raw.keys().map(|name| name.get_ref().as_str()).collect();
        if let (Some(third), true) = (raw.keys().nth(MAX_SETTINGS), raw.len() > MAX_SETTINGS) {
            return Err(source.error(
                &third.span(),
                format!(
                    "a sweep has at most {MAX_SETTINGS} settings, this one {}",
                    raw.len()
                ),
            ));
        }
        let both = |(a, b): &&(&str, &str)| names.contains(a) && names.contains(b);
        if let (Some((a, b)), Some(first)) = (OVERLAPPING.iter().find(both), raw.keys().next()) {
            return Err(source.error(
                &first.span(),
                format!("`{a}` sets `{b}` too; sweep only one of them"),
            ));
        }
        let mut combinations: usize = 1;
        for (name, values) in &raw {
            combinations = combinations.saturating_mul(values.get_ref().len());
            if values.get_ref().is_empty() {
                return Err(source.error(
                    &values.span(),
                    format!("sweep: `{}` has no values", name.get_ref()),
                ));
            }
            for (i, value) in values.get_ref().iter().enumerate() {
                let valid = check_value(name.get_ref(), value);
                valid.map_err(|e| source.error(&values.span(), format!("sweep: {e}")))?;
                if values.get_ref()[..i].contains(value) {
                    return Err(source.error(
                        &values.span(),
                        format!("sweep: `{}` has {value} twice", name.get_ref()),
                    ));
                }
            }
        }
        if combinations > MAX_COMBINATIONS {
            let span = raw.values().next().map_or(0..0, Spanned::span);
            return Err(source.error(
                &span,
                format!(
                    "this sweep makes {combinations} networks of each; at most {MAX_COMBINATIONS}"
                ),
            ));
        }
        let settings = raw.into_iter();
        Ok(Sweep {
            settings: settings
                .map(|(name, values)| (name.into_inner(), values.into_inner()))
                .collect(),
        })
    }

    /// Returns every combination of levels; one that is empty if there is no sweep.
    pub(super) fn combinations(&self) -> Vec<Vec<Level>> {
        let mut combinations: Vec<Vec<Level>> = vec![Vec::new()];
        for (setting, values) in &self.settings {
            combinations = (combinations.iter())
                .flat_map(|levels| {
                    values.iter().map(move |value| {
                        let level = Level {
                            setting: setting.clone(),
                            value: value.clone(),
                        };
                        levels.iter().cloned().chain([level]).collect()
                    })
                })
                .collect();
        }
        combinations
    }

    /// Returns the network at each combination of levels, or as it is if there is no sweep.
    pub fn apply(&self, base: &Network) -> Result<Vec<StudyNetwork>, OverrideError> {
        (self.combinations().into_iter())
            .map(|levels| at(base, levels))
            .collect()
    }
}

impl StudyNetwork {
    /// Returns the arm with the levels that are settings of arms.
    pub fn arm(&self, arm: &Arm) -> Arm {
        // The study's parser has tried every combination.
        arm_at(arm, &self.levels).unwrap_or_else(|_| arm.clone())
    }
}

/// Returns the arm at these levels, or why one does not suit it.
pub(super) fn arm_at(arm: &Arm, levels: &[Level]) -> Result<Arm, String> {
    let mut arm = arm.clone();
    for level in levels.iter().filter(|level| is_arm_setting(&level.setting)) {
        arm_setting::set(&mut arm, &level.setting, &level.value)?;
    }
    Ok(arm)
}

fn check_value(name: &str, value: &str) -> Result<(), String> {
    if is_arm_setting(name) {
        let mut any = Arm::plain("", driver::protocol::Protocol::H1);
        return arm_setting::set(&mut any, name, value);
    }
    (Overrides::default().set(name, value)).map_err(|e| match e {
        OverrideError::Unknown { .. } => format!("{e}; of arms: {}", arm_setting::names()),
        other => other.to_string(),
    })
}

fn at(base: &Network, levels: Vec<Level>) -> Result<StudyNetwork, OverrideError> {
    let mut overrides = Overrides::default();
    let mut name = base.name.clone();
    for level in &levels {
        if !is_arm_setting(&level.setting) {
            overrides.set(&level.setting, &level.value)?;
        }
        name += &format!(" {}={}", level.setting, level.value);
    }
    let mut link = base.clone().with_overrides(&overrides)?;
    link.name = name;
    Ok(StudyNetwork {
        link,
        levels,
        base: base.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Study;
    use crate::plan::small_plan::SMALL;

    fn study(sweep: &str) -> Result<Study, String> {
        let text = format!("{SMALL}\n[sweep]\n{sweep}");
        Study::parse("s.toml", &text).map_err(|e| e.to_string())
    }

    #[test]
    fn every_network_is_made_at_every_combination() {
        let sweep = study("loss-down = [\"0%\", \"5%\"]\nrtt = [\"80ms\"]")
            .unwrap()
            .sweep;
        let base = link::find("true-metro").unwrap();
        let networks = sweep.apply(&base).unwrap();
        let names: Vec<&str> = networks.iter().map(|n| n.link.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "true-metro loss-down=0% rtt=80ms",
                "true-metro loss-down=5% rtt=80ms"
            ]
        );
        assert!(networks.iter().all(|n| n.link.rtt_ns() == 80_000_000));
        assert!(networks[0].link.down.loss.is_none());
        assert_eq!(networks[1].base, "true-metro");
    }

    #[test]
    fn settings_of_arms_are_swept_too() {
        let study = study("chain = [\"typical\", \"long\"]").unwrap();
        let base = link::find("lan").unwrap();
        let networks = study.sweep.apply(&base).unwrap();
        assert_eq!(networks[1].link.name, "lan chain=long");
        let chains = networks.iter().map(|n| n.arm(&study.arms[0]).chain.name());
        assert_eq!(chains.collect::<Vec<_>>(), ["typical", "long"]);
    }

    #[test]
    fn a_level_that_an_arm_cannot_have_is_refused() {
        let refused = study("security = [\"tls\", \"none\"]").unwrap_err();
        let expected =
            "arm `hyper h2` at security=none: security = \"none\" is for h1 and grpc only";
        assert!(refused.contains(expected), "{refused}");
    }

    #[test]
    fn a_study_without_a_sweep_has_its_networks_as_they_are() {
        let base = link::find("lan").unwrap();
        let networks = Sweep::default().apply(&base).unwrap();
        assert_eq!(networks, [StudyNetwork::from(base)]);
    }

    #[test]
    fn bad_sweeps_are_refused_with_their_line() {
        let many: Vec<String> = (1..=201).map(|n| format!("\"{n}ms\"")).collect();
        let many = format!("rtt = [{}]", many.join(", "));
        let line = SMALL.matches('\n').count() + 3;
        for (sweep, expected) in [
            ("los = [\"1%\"]", "there is no setting `los`"),
            ("loss = [\"1\"]", "loss cannot be \"1\""),
            ("loss = []", "has no values"),
            ("chain = [\"short\"]", "write typical or long"),
            ("nodelay = [\"on\"]", "of arms: auth, chain"),
            ("loss = [\"1%\", \"1%\"]", "1% twice"),
            (
                "loss = [\"1%\"]\nloss-up = [\"2%\"]",
                "`loss` sets `loss-up` too",
            ),
            (
                "rtt = [\"1ms\"]\nmtu = [\"1400\"]\nup = [\"1Mbit\"]",
                "at most 2 settings",
            ),
            (many.as_str(), "makes 201 networks"),
            ("rtt = [\"1ms\"]\nrtt = [\"2ms\"]", "duplicate key"),
        ] {
            let refused = study(sweep).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
            let (first, second, third) = (line, line + 1, line + 2);
            let at = [first, second, third].map(|n| format!("s.toml:{n}"));
            assert!(at.iter().any(|place| refused.contains(place)), "{refused}");
        }
    }
}
