//! Determines which arms of a plan can be measured with the installed stacks, before any cell is run.
//!
//! Manifests and installed files do not show everything; a driver's hello does. So each stack of the plan is started
//! once.

use std::collections::BTreeMap;

use driver::manifest::OWN_SERVER;
use driver::protocol::{Capability, Hello};
use study::plan::Plan;
use study::{ExternalServer, StudyNetwork};

use crate::cell::capabilities::missing_capabilities;
use crate::hello::HelloReader;
use crate::lab::Lab;
use crate::stacks::Server;

/// The conformance case of requests of a study's own, by which a manifest says that a driver has none.
const OWN_CASE: &str = "own";

/// The hellos of stacks, by name, or why a driver sent none.
type Hellos = BTreeMap<String, Result<Hello, String>>;

/// The arms of a plan, each with what keeps it from being measured.
#[derive(Clone, Debug)]
pub struct Feasibility {
    arms: Vec<ArmFeasibility>,
    /// Why no driver could be asked, if so.
    unchecked: Option<String>,
    /// The study has moves that clients are to be notified of, and no client can be.
    notifies_none: bool,
}

#[derive(Clone, Debug)]
struct ArmFeasibility {
    name: String,
    role: Role,
    /// What keeps its cells from being measured; empty if nothing does.
    reasons: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Baseline,
    Copy,
    Rival,
}

impl Lab {
    /// Returns which arms of the plan can be measured here; `observer` gets the name of each stack before it is
    /// started.
    pub fn feasibility(&self, plan: &Plan, observer: &dyn Fn(&str)) -> Feasibility {
        let (hellos, unchecked) = match self.hellos(plan, observer) {
            Ok(hellos) => (hellos, None),
            Err(reason) => (Hellos::new(), Some(reason)),
        };
        let copies = plan.arms().into_iter().map(|arm| arm.same_as_baseline);
        let arms = (plan.study.arms.iter().enumerate().zip(copies))
            .map(|((index, arm), is_copy)| ArmFeasibility {
                name: arm.name.clone(),
                role: match (index == plan.study.baseline, is_copy) {
                    (true, _) => Role::Baseline,
                    (false, true) => Role::Copy,
                    (false, false) => Role::Rival,
                },
                reasons: self.unmeasurable(plan, index, hellos.get(&arm.stack)),
            })
            .collect();
        Feasibility {
            arms,
            unchecked,
            notifies_none: notifies_none(plan, &hellos),
        }
    }

    /// Starts each installed stack of the plan for its hello.
    fn hellos(&self, plan: &Plan, observer: &dyn Fn(&str)) -> Result<Hellos, String> {
        let mut reader: Option<HelloReader> = None;
        let mut hellos = Hellos::new();
        for (index, arm) in plan.study.arms.iter().enumerate() {
            let Ok(driver) = self.stacks.find(&arm.stack) else {
                continue;
            };
            if hellos.contains_key(&arm.stack) || !self.unmeasurable(plan, index, None).is_empty() {
                continue;
            }
            let reader = match &mut reader {
                Some(reader) => reader,
                none => none.insert(HelloReader::start(self).map_err(|e| e.to_string())?),
            };
            observer(&arm.stack);
            let hello = reader.query(driver).map(|answer| answer.hello);
            hellos.insert(arm.stack.clone(), hello);
        }
        Ok(hellos)
    }

    /// Returns why cells of an arm will not be measured, as far as that is known without its hello if there is
    /// none.
    fn unmeasurable(
        &self,
        plan: &Plan,
        index: usize,
        hello: Option<&Result<Hello, String>>,
    ) -> Vec<String> {
        let arm = &plan.study.arms[index];
        let Ok(driver) = self.stacks.find(&arm.stack) else {
            return Vec::new();
        };
        let server = match (&plan.study.external, arm.server.as_str()) {
            (Some(_), _) | (None, OWN_SERVER) => None,
            (None, name) => self.stacks.find_server(name).ok().flatten(),
        };
        let key = driver.key(arm.key).err();
        let has_own = !plan.own_requests().is_empty();
        let limit = driver.entry.limit(arm.protocol, OWN_CASE);
        let limit = limit.filter(|_| has_own).map(str::to_owned);
        let is_in_manifest = driver.entry.protocols.contains(&arm.protocol);
        let protocol = (!is_in_manifest)
            .then(|| format!("{} does not offer {}", arm.stack, arm.protocol.name()));
        let external = plan.study.external.as_ref();
        let external = external.and_then(|_| ExternalServer::unsupported(arm));
        let missing = [driver.missing(), server.and_then(Server::missing)];
        let known = missing
            .into_iter()
            .chain([key, limit, protocol, external.map(str::to_owned)]);
        let of_hello = match hello {
            None => Vec::new(),
            Some(Err(reason)) => vec![format!("its driver does not start: {reason}")],
            Some(Ok(hello)) => {
                let lacking = (is_in_manifest && !hello.protocols.contains(&arm.protocol))
                    .then(|| format!("{} does not offer {}", hello.stack, arm.protocol.name()));
                let missing = of_networks(plan, index, hello);
                lacking.into_iter().chain(missing).collect()
            }
        };
        known.flatten().chain(of_hello).collect()
    }
}

/// Reports whether a move of the study has `signal`, and no client that answered can be notified.
fn notifies_none(plan: &Plan, hellos: &Hellos) -> bool {
    let mut answered = hellos.values().flatten().peekable();
    plan.study.moves.iter().any(|of| of.signal)
        && answered.peek().is_some()
        && answered.all(|hello| !hello.capabilities.contains(&Capability::Network))
}

/// Returns what an arm lacks on every network: a sweep may change its settings.
fn of_networks(plan: &Plan, index: usize, hello: &Hello) -> Vec<String> {
    let on = |network: &StudyNetwork| {
        let arm = network.arm(&plan.study.arms[index]);
        missing_capabilities(hello, &arm, &plan.arm_workloads[index])
    };
    let of_each = plan.networks.iter().map(on);
    let common = of_each.reduce(|known, there| {
        let is_there = |reason: &String| there.contains(reason);
        known.into_iter().filter(is_there).collect()
    });
    common.unwrap_or_default()
}

impl Feasibility {
    /// Returns why arms cannot be measured, in one line, if some cannot.
    pub fn reasons(&self) -> Option<String> {
        let lines = self.by_reason();
        (!lines.is_empty()).then(|| lines.join("; "))
    }

    /// Returns a line for each reason that keeps arms from being measured, with the arms, then one that names the
    /// arms that remain. Empty if all can be measured, or if the plan is refused, which says it.
    pub fn warnings(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.refusal().is_none() {
            lines = self.by_reason();
        }
        if !lines.is_empty() {
            let remaining = self.remaining().join(", ");
            lines.push(format!(
                "arms that remain: {remaining}; cells of the others are recorded as unsupported. To leave an arm \
                 out, remove its [[arm]] from the study"
            ));
        }
        if self.notifies_none {
            let without =
                "no client of this study can be notified of a move: `signal` has no effect";
            lines.push(without.to_owned());
        }
        let unchecked = self.unchecked.as_ref();
        lines.extend(unchecked.map(|e| format!("what the drivers can do was not checked: {e}")));
        lines
    }

    /// Returns a line for each reason that keeps arms from being measured.
    fn by_reason(&self) -> Vec<String> {
        // Arms of one stack lack the same.
        let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
        for arm in &self.arms {
            for reason in &arm.reasons {
                let name = format!("`{}`", arm.name);
                match by_reason.iter_mut().find(|(known, _)| known == reason) {
                    Some((_, arms)) => arms.push(name),
                    None => by_reason.push((reason, vec![name])),
                }
            }
        }
        let line = |(reason, arms): &(&str, Vec<String>)| {
            let what = if arms.len() == 1 { "arm" } else { "arms" };
            format!("{what} {}: {reason}", arms.join(", "))
        };
        by_reason.iter().map(line).collect()
    }

    /// Returns why the plan cannot have an answer, if so: the baseline cannot be measured, or no arm that is
    /// compared with it. Names every arm that cannot be measured, each in a line of its own.
    pub fn refusal(&self) -> Option<String> {
        let of = |role: Role| self.arms.iter().filter(move |arm| arm.role == role);
        let fails = |arm: &&ArmFeasibility| !arm.reasons.is_empty();
        // A reason of a stack may contain anything.
        let reasons = |arm: &ArmFeasibility| neutral::plain(&arm.reasons.join("; "));
        let baseline = of(Role::Baseline).next()?;
        let head = if fails(&baseline) {
            format!(
                "`{}`, the baseline, cannot be measured: {}",
                baseline.name,
                reasons(baseline)
            )
        } else if of(Role::Rival).next().is_some() && of(Role::Rival).all(|arm| fails(&arm)) {
            let remaining = self.remaining().join(", ");
            format!("no arm can be compared with the baseline; arms that remain: {remaining}")
        } else {
            return None;
        };
        let others = (self.arms.iter()).filter(|arm| fails(arm) && arm.role != Role::Baseline);
        let lines = others.map(|arm| format!("\n  arm `{}`: {}", arm.name, reasons(arm)));
        let lines: String = lines.collect();
        Some(head + &lines + "\n`commute stacks` lists what each stack offers")
    }

    /// Returns the arms that can be measured, with their roles.
    fn remaining(&self) -> Vec<String> {
        let usable = self.arms.iter().filter(|arm| arm.reasons.is_empty());
        let shown = usable.map(|arm| match arm.role {
            Role::Baseline => format!("`{}` (baseline)", arm.name),
            Role::Copy => format!("`{}` (A/A)", arm.name),
            Role::Rival => format!("`{}`", arm.name),
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns arms by name and role, each with the only reason that keeps it from being measured.
    fn feasibility(arms: &[(&str, Role, &str)]) -> Feasibility {
        let arm = |(name, role, reason): &(&str, Role, &str)| ArmFeasibility {
            name: (*name).to_owned(),
            role: *role,
            reasons: (!reason.is_empty())
                .then(|| (*reason).to_owned())
                .into_iter()
                .collect(),
        };
        Feasibility {
            arms: arms.iter().map(arm).collect(),
            unchecked: None,
            notifies_none: false,
        }
    }

    #[test]
    fn signals_that_no_client_gets_are_named() {
        let found = Feasibility {
            notifies_none: true,
            ..feasibility(&[("a", Role::Baseline, "")])
        };
        let warnings = found.warnings();
        assert!(
            warnings[0].contains("`signal` has no effect"),
            "{warnings:?}"
        );
    }

    #[test]
    fn plan_is_refused_only_if_nothing_can_be_compared() {
        use Role::{Baseline, Copy, Rival};
        for (arms, refusal, warnings) in [
            (&[("a", Baseline, ""), ("b", Rival, "")][..], None, &[][..]),
            (&[("a", Baseline, ""), ("again", Copy, "")], None, &[]),
            (
                &[
                    ("a", Baseline, ""),
                    ("b", Rival, "no"),
                    ("c", Rival, ""),
                    ("d", Rival, "no"),
                ],
                None,
                &[
                    "arms `b`, `d`: no",
                    "arms that remain: `a` (baseline), `c`; cells of the others are recorded as unsupported. \
                     To leave an arm out, remove its [[arm]] from the study",
                ],
            ),
            (
                &[
                    ("a", Baseline, ""),
                    ("again", Copy, ""),
                    ("b", Rival, "no"),
                    ("c", Rival, "nor"),
                ],
                Some(
                    "no arm can be compared with the baseline; arms that remain: `a` (baseline), `again` (A/A)\n  \
                     arm `b`: no\n  arm `c`: nor\n`commute stacks` lists what each stack offers",
                ),
                &[],
            ),
            (
                &[
                    ("a", Baseline, "no"),
                    ("again", Copy, "no"),
                    ("b", Rival, ""),
                ],
                Some(
                    "`a`, the baseline, cannot be measured: no\n  arm `again`: no\n`commute stacks` lists what each \
                     stack offers",
                ),
                &[],
            ),
            (
                &[("a", Baseline, "no\n  arm `b`: fine")],
                Some(
                    "`a`, the baseline, cannot be measured: no\u{fffd}  arm `b`: fine\n`commute stacks` lists what each \
                     stack offers",
                ),
                &[],
            ),
        ] {
            let found = feasibility(arms);
            assert_eq!(found.refusal().as_deref(), refusal, "{arms:?}");
            assert_eq!(found.warnings(), warnings, "{arms:?}");
        }
    }
}
