//! Expands a study's workload into steps, as each arm follows it.

mod load;

use driver::protocol::{Action, Reconnect, Start, Step as DriverStep};
use messages::Name;

use super::own::{SentRequest, SentRequests};
use super::workload::Workload;
use crate::own::Form;
use crate::slots::Slots;
use crate::{Access, Behaviour, Connections, Step};

/// What an empty slot does.
pub(super) const NOTHING: Action = Action::Pause { ns: 0 };

impl Workload {
    /// Expands repeated and parallel steps.
    pub fn expand(steps: &[Step]) -> Workload {
        let (behaviour, form) = (Behaviour::default(), Form::default());
        Workload::of_arm(steps, &behaviour, &form, Slots::default(), 0)
    }

    /// Expands the steps for an arm. No request takes less than `fastest_ns`, the round trip of the
    /// study's fastest network, so that a closed loop needs no more steps than fit into its time.
    pub(crate) fn of_arm(
        steps: &[Step],
        behaviour: &Behaviour,
        form: &Form,
        slots: Slots,
        fastest_ns: u64,
    ) -> Workload {
        Expansion::of(steps, behaviour, form, slots, fastest_ns)
    }
}

/// A workload while it is being expanded.
pub(super) struct Expansion {
    workload: Workload,
    behaviour: Behaviour,
    form: Form,
    slots: Slots,
    /// How many steps of the workload are bound by time.
    loads: usize,
    /// What a request takes at least.
    fastest_ns: u64,
    /// The name of the origin that requests go to; none for the first.
    origin: Option<String>,
}

impl Expansion {
    /// Expands the steps for an arm; no request takes less than `fastest_ns`.
    pub(super) fn of(
        steps: &[Step],
        behaviour: &Behaviour,
        form: &Form,
        slots: Slots,
        fastest_ns: u64,
    ) -> Workload {
        let loads = steps.iter().filter(|s| matches!(s, Step::Load { .. }));
        let mut expansion = Expansion {
            workload: Workload {
                steps: Vec::new(),
                groups: Vec::new(),
                group_of: Vec::new(),
                restarts: Vec::new(),
                own: SentRequests::default(),
            },
            behaviour: *behaviour,
            form: form.clone(),
            slots,
            loads: loads.count(),
            fastest_ns,
            origin: None,
        };
        expansion.sequence(steps);
        expansion.workload
    }

    fn sequence(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Repeat { times, steps } => {
                    for _ in 0..*times {
                        self.sequence(steps);
                    }
                }
                Step::Parallel(steps) => self.parallel(steps),
                single => self.single(single, None),
            }
        }
    }

    /// Adds steps that all start when every earlier step has ended.
    fn parallel(&mut self, steps: &[Step]) {
        let before = self.last_id();
        for step in steps {
            match step {
                Step::Repeat { .. } => {
                    self.in_turn(std::slice::from_ref(step), before);
                }
                single => self.single(single, Some(Start::After(before))),
            }
        }
    }

    /// Adds steps one after another, the first when step `before` has ended, whatever else runs. Returns the last.
    fn in_turn(&mut self, steps: &[Step], before: u32) -> u32 {
        let mut last = before;
        for step in steps {
            match step {
                Step::Repeat { times, steps } => {
                    for _ in 0..*times {
                        last = self.in_turn(steps, last);
                    }
                }
                single => {
                    self.single(single, Some(Start::After(last)));
                    last = self.last_id();
                }
            }
        }
        last
    }

    fn single(&mut self, step: &Step, start: Option<Start>) {
        match step {
            Step::Call { group, body, times } => {
                let about = format!("POST /echo {} B", body.len());
                let g = self.group(group, &about, None);
                let action = Action::Call { body: body.clone() };
                self.calls(start, g, *times, || action.clone());
            }
            Step::Own {
                group,
                request,
                times,
            } => {
                let action = self.workload.own.add(request, &self.form);
                let sent = self.workload.own.of(&action);
                let about = sent.map(SentRequest::about).unwrap_or_default();
                let g = self.group(group, &about, None);
                self.calls(start, g, *times, || action.clone());
            }
            Step::Exchange {
                group,
                messages,
                times,
            } => {
                let g = self.group(group, &format!("exchange {}", about(messages)), None);
                let mut messages = messages.iter().cycle();
                self.calls(start, g, *times, || {
                    let message = messages.next().unwrap_or(&Name::Small);
                    Action::Exchange {
                        message: message.to_string(),
                        kind: message.kind().name().to_owned(),
                    }
                });
            }
            Step::Submit {
                group,
                message,
                times,
            } => {
                let g = self.group(group, &format!("submit {message}"), None);
                let action = Action::Submit {
                    message: message.to_string(),
                    kind: message.kind().name().to_owned(),
                    chunk_bytes: self.behaviour.chunk_bytes,
                };
                self.calls(start, g, *times, || action.clone());
            }
            Step::Get {
                group,
                bytes,
                times,
            } => {
                let g = self.group(group, &format!("GET {bytes} B"), Some(*bytes));
                self.calls(start, g, *times, || Action::Get { bytes: *bytes });
            }
            Step::Put {
                group,
                bytes,
                times,
            } => {
                let g = self.group(group, &format!("PUT {bytes} B"), Some(*bytes));
                self.calls(start, g, *times, || Action::Put { bytes: *bytes });
            }
            Step::Stream {
                group,
                body,
                messages,
            } => {
                let g = self.group(group, &format!("stream of {messages} echoes"), None);
                let action = Action::Stream {
                    body: body.clone(),
                    messages: *messages,
                };
                self.calls(start, g, 1, || action.clone());
            }
            Step::Load { plan, request } => self.load(plan, request),
            Step::At { origin, step } => {
                self.origin = Some(origin.clone());
                self.single(step, start);
                self.origin = None;
            }
            Step::Pause { ns } => self.push(start, None, Action::Pause { ns: *ns }),
            // The second one waits for every earlier step, too. They last 1 ns, since pauses of 0 ns are empty slots.
            Step::WaitUntil { ns } => {
                let shortest = Action::Pause { ns: 1 };
                self.push(Some(Start::AtNs(*ns)), None, shortest.clone());
                self.push(None, None, shortest);
            }
            Step::Reconnect(mode) => {
                let mode = self.behaviour.reconnect(*mode);
                self.push(start, None, Action::Reconnect { mode });
            }
            Step::Restart => {
                self.push(start, None, NOTHING);
                self.workload.restarts.push(self.last_id());
            }
            Step::Repeat { .. } | Step::Parallel(_) => self.sequence(std::slice::from_ref(step)),
        }
    }

    /// Adds the requests of one step. They start in the arm's pattern where the study does not say when they start.
    fn calls(
        &mut self,
        start: Option<Start>,
        group: usize,
        times: u32,
        mut action: impl FnMut() -> Action,
    ) {
        let before = self.last_id();
        for n in 0..times {
            let first = before + 1 + self.slots.count() as u32;
            let start = start.or(match self.behaviour.access {
                Access::Parallel => Some(Start::After(before)),
                Access::FirstAlone if n > 0 => Some(Start::After(first)),
                _ => None,
            });
            self.slots(start, n == 0);
            self.push(start, Some(group), action());
        }
    }

    /// Adds the steps before a call: the slots for a pause and a reconnect.
    fn slots(&mut self, start: Option<Start>, is_first: bool) {
        let Behaviour {
            connections,
            access,
            ..
        } = self.behaviour;
        if self.slots.pause {
            let action = match access {
                Access::Paused { ns } if !is_first => Action::Pause { ns },
                _ => NOTHING,
            };
            self.push(start, None, action);
        }
        if self.slots.reconnect {
            let action = match connections {
                Connections::PerRequest => Action::Reconnect {
                    mode: self.behaviour.reconnect(Reconnect::Cold),
                },
                Connections::Keep => NOTHING,
            };
            self.push(start, None, action);
        }
    }

    fn push(&mut self, start: Option<Start>, group: Option<usize>, action: Action) {
        let id = self.last_id() + 1;
        // The driver sees one group only: it sends all rows when the whole workload has ended, so
        // that reporting never falls between timed calls.
        self.workload.steps.push(DriverStep {
            id,
            start,
            group: 1,
            until: None,
            cancel_after_ns: None,
            origin: self.origin.clone().filter(|_| action.is_call()),
            action,
        });
        self.workload.group_of.push(group);
    }

    fn last_id(&self) -> u32 {
        self.workload.steps.len() as u32
    }

    fn group(&mut self, name: &str, about: &str, bulk_bytes: Option<u64>) -> usize {
        let groups = &mut self.workload.groups;
        if let Some(known) = groups.iter().position(|g| g.name == name) {
            let described = &mut groups[known].about;
            // What is said of one request may have commas of its own.
            if !format!(", {described}, ").contains(&format!(", {about}, ")) {
                *described += &format!(", {about}");
            }
            return known;
        }
        groups.push(record::Group {
            name: name.to_owned(),
            about: about.to_owned(),
            bulk: bulk_bytes.is_some(),
            response_bytes: bulk_bytes.unwrap_or(0),
            load: None,
        });
        groups.len() - 1
    }
}

/// Describes messages, e.g. `api-2kB` or `big-0..99`.
fn about(messages: &[Name]) -> String {
    match messages {
        [first, .., last] => {
            let last = last.to_string();
            let number = last.rsplit('-').next().unwrap_or_default();
            format!("{first}..{number}")
        }
        few => few.iter().map(ToString::to_string).collect(),
    }
}

#[cfg(test)]
mod tests;
