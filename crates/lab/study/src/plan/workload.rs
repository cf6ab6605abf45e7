//! An expanded workload: the flat list of steps that a driver follows, and the groups of its calls.

use driver::protocol::{Action, Step as DriverStep};
use record::LoadPlan;

use super::own::SentRequests;
use crate::{MAX_FILE_BYTES, Origins};

/// An expanded workload: the driver's steps, and the group of each call.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// A flat list, in order of id from 1.
    pub steps: Vec<DriverStep>,
    /// The report's groups, in order of first use.
    pub groups: Vec<record::Group>,
    /// The index in `groups` of each step's group; none for steps that make no call.
    pub group_of: Vec<Option<usize>>,
    /// The ids of the steps at which the driver's process is restarted. To the driver they do nothing.
    pub restarts: Vec<u32>,
    /// The requests of the study's own that steps make.
    pub own: SentRequests,
}

/// Stands for a group in what draws the lengths of made-up bodies; no group has this name.
const MADE_UP: &str = "";

impl Workload {
    /// Sends requests to origins that an arm does not have to the first.
    pub(crate) fn at_origins(mut self, origins: &Origins) -> Workload {
        for step in &mut self.steps {
            (step.origin).take_if(|name| !origins.contains_key(name.as_str()));
        }
        self
    }

    /// Makes each file longer or shorter by at most `percent` of its length, and likewise the made-up bodies of the
    /// study's own requests. `draw` returns the random number of a group's nth file, or of the bodies of a length.
    pub(crate) fn vary(&mut self, percent: f64, draw: impl Fn(&str, u64) -> u64) {
        if percent == 0.0 {
            return;
        }
        let mut files = vec![0; self.groups.len()];
        for (step, group) in self.steps.iter_mut().zip(&self.group_of) {
            if let (Action::Get { bytes } | Action::Put { bytes }, Some(group)) =
                (&mut step.action, group)
            {
                let nth = &mut files[*group];
                *bytes = varied(*bytes, percent, draw(&self.groups[*group].name, *nth));
                *nth += 1;
            }
        }
        // By length: arms name bodies differently, and requests of one length may share a body.
        (self.own).vary(|bytes| varied(bytes, percent, draw(MADE_UP, bytes)));
    }

    /// Takes the steps as they are, all in one group.
    pub fn of_steps(steps: Vec<DriverStep>) -> Workload {
        let calls = steps.iter().map(|s| s.action.is_call().then_some(0));
        Workload {
            group_of: calls.collect(),
            groups: vec![record::Group {
                name: "steps".to_owned(),
                about: String::new(),
                bulk: false,
                response_bytes: 0,
                load: None,
            }],
            steps,
            restarts: Vec::new(),
            own: SentRequests::default(),
        }
    }

    /// Returns the steps of each process of the driver. Those after a restart begin with it, since others
    /// may wait for it.
    pub fn by_process(&self) -> impl Iterator<Item = &[DriverStep]> {
        let restarts = |step: &DriverStep| self.restarts.contains(&step.id);
        self.steps.chunk_by(move |_, next| !restarts(next))
    }

    /// Returns the number of the driver's process that follows the step with this id, from 0.
    pub fn process_of(&self, id: u32) -> usize {
        self.restarts.partition_point(|restart| *restart <= id)
    }

    /// Returns the name of the group of the call with this id.
    pub fn group_name(&self, id: u32) -> Option<&str> {
        let index = (*self.group_of.get((id as usize).checked_sub(1)?)?)?;
        Some(&self.groups[index].name)
    }

    /// Returns the group of the call with this id, and its load if it is bound by time.
    pub fn load_of(&self, id: u32) -> Option<(usize, LoadPlan)> {
        let index = (*self.group_of.get((id as usize).checked_sub(1)?)?)?;
        Some((index, self.groups[index].load?))
    }

    /// Returns the plan of every group that is bound by time.
    pub fn loads(&self) -> impl Iterator<Item = LoadPlan> {
        self.groups.iter().filter_map(|group| group.load)
    }

    /// Returns the ids of the steps that make a call; the driver reports one row for each.
    pub fn call_ids(&self) -> impl Iterator<Item = u32> {
        self.steps
            .iter()
            .zip(&self.group_of)
            .filter(|(_, g)| g.is_some())
            .map(|(s, _)| s.id)
    }
}

/// Returns the name of the message that a step encodes in the arm's codec, if it does.
pub fn encoded_message(step: &DriverStep) -> Option<&str> {
    match &step.action {
        Action::Exchange { message, .. } | Action::Submit { message, .. } => Some(message),
        _ => None,
    }
}

/// Returns a length that differs from `bytes` by at most `percent` of it. `draw` is the random number that decides by
/// how much.
fn varied(bytes: u64, percent: f64, draw: u64) -> u64 {
    let unit = draw as f64 / u64::MAX as f64;
    let factor = 1.0 + percent / 100.0 * (2.0 * unit - 1.0);
    ((bytes as f64 * factor).round() as u64).clamp(bytes.min(1), MAX_FILE_BYTES)
}
