//! Expands a study's workload into steps, as each arm follows it.

mod load;

use driver::protocol::{Action, Reconnect, Start, Step as DriverStep};
use wire::Name;

use super::own::{SentRequest, SentRequests};
use super::workload::Workload;
use crate::study::own::Form;
use crate::study::{Access, Arm, Behaviour, Connections, Step};

/// What an empty slot does.
pub(super) const NOTHING: Action = Action::Pause { ns: 0 };

/// Which steps precede every call, in each arm of a study: where some arms reconnect or pause there,
/// the others do nothing, so that a call has the same id in all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    reconnect: bool,
    pause: bool,
}

impl Slots {
    /// Returns what the arms of a study need.
    pub(crate) fn of(arms: &[Arm]) -> Slots {
        let any = |needs: fn(&Behaviour) -> bool| arms.iter().any(|arm| needs(&arm.behaviour));
        Slots {
            reconnect: any(|b| b.connections == Connections::PerRequest),
            pause: any(|b| matches!(b.access, Access::Paused { .. })),
        }
    }

    /// Returns how many steps precede a call.
    pub(crate) fn count(self) -> usize {
        usize::from(self.reconnect) + usize::from(self.pause)
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

    /// All of them start when every earlier step has ended.
    fn parallel(&mut self, steps: &[Step]) {
        let start = Some(Start::After(self.last_id()));
        for step in steps {
            self.single(step, start);
        }
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

    /// The requests of one step, in the arm's pattern where the study does not say when they start.
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

    /// The steps before a call.
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
            if !described.split(", ").any(|part| part == about) {
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
mod tests {
    use super::*;
    use crate::plan::workload::encoded_message;
    use crate::study::count::StepCount;
    use crate::study::{Origins, Placement};

    pub(super) fn call(times: u32) -> Step {
        Step::Call {
            group: "echo".into(),
            body: "{}".into(),
            times,
        }
    }

    #[test]
    fn repetitions_expand_to_a_flat_list() {
        let get = Step::Get {
            group: "image".into(),
            bytes: 1000,
            times: 1,
        };
        let steps = [
            Step::Repeat {
                times: 2,
                steps: vec![Step::Reconnect(Reconnect::Cold), call(2)],
            },
            Step::Parallel(vec![get.clone(), get]),
        ];
        let w = Workload::expand(&steps);
        assert_eq!(
            w.steps.iter().map(|s| s.id).collect::<Vec<_>>(),
            (1..=8).collect::<Vec<_>>()
        );
        assert_eq!(w.call_ids().collect::<Vec<_>>(), [2, 3, 5, 6, 7, 8]);
        assert_eq!(w.group_name(2), Some("echo"));
        assert_eq!(w.group_name(1), None);
        assert_eq!(w.group_name(8), Some("image"));
        assert_eq!(w.group_name(0), None);
        assert_eq!(w.steps[6].start, Some(Start::After(6)));
        assert_eq!(w.steps[7].start, Some(Start::After(6)));
        let count = StepCount::of(&steps);
        assert_eq!(
            (count.steps, count.calls),
            (w.steps.len(), w.call_ids().count())
        );
    }

    fn of_arms(behaviours: &[Behaviour], steps: &[Step]) -> Vec<Workload> {
        let arms: Vec<Arm> = (behaviours.iter())
            .map(|behaviour| Arm {
                behaviour: *behaviour,
                ..Arm::plain("hyper", driver::protocol::Protocol::H2)
            })
            .collect();
        let slots = Slots::of(&arms);
        (arms.iter())
            .map(|arm| Workload::of_arm(steps, &arm.behaviour, &Form::default(), slots, 0))
            .collect()
    }

    /// Records compare calls by id, so an arm that reconnects must not number them otherwise.
    #[test]
    fn calls_have_the_same_ids_in_every_arm() {
        let behaviours = [
            Behaviour::default(),
            Behaviour {
                connections: Connections::PerRequest,
                ..Behaviour::default()
            },
            Behaviour {
                access: Access::Paused { ns: 7 },
                ..Behaviour::default()
            },
        ];
        let arms = of_arms(&behaviours, &[call(2)]);
        for workload in &arms {
            assert_eq!(workload.call_ids().collect::<Vec<_>>(), [3, 6]);
        }
        let actions = |arm: usize| arms[arm].steps.iter().map(|s| s.action.clone());
        let reconnect = Action::Reconnect {
            mode: Reconnect::Cold,
        };
        assert_eq!(actions(1).filter(|a| *a == reconnect).count(), 2);
        let pauses = actions(2).filter(|a| *a == Action::Pause { ns: 7 });
        assert_eq!(pauses.count(), 1);
        assert!(actions(0).all(|a| a == NOTHING || a.is_call()));
    }

    #[test]
    fn access_patterns_decide_when_requests_start() {
        let starts = |access| {
            let behaviour = Behaviour {
                access,
                ..Behaviour::default()
            };
            let arms = of_arms(&[behaviour], &[call(1), call(3)]);
            arms[0].steps.iter().map(|s| s.start).collect::<Vec<_>>()
        };
        let after = |id| Some(Start::After(id));
        assert_eq!(starts(Access::Sequential), [None; 4]);
        assert_eq!(
            starts(Access::Parallel),
            [after(0), after(1), after(1), after(1)]
        );
        assert_eq!(starts(Access::FirstAlone), [None, None, after(2), after(2)]);
    }

    #[test]
    fn resumption_keeps_the_tickets_of_a_reconnect() {
        let behaviour = Behaviour {
            resumption: true,
            ..Behaviour::default()
        };
        let arms = of_arms(&[behaviour], &[Step::Reconnect(Reconnect::Cold), call(1)]);
        let resume = Action::Reconnect {
            mode: Reconnect::Resume,
        };
        assert_eq!(arms[0].steps[0].action, resume);
    }

    #[test]
    fn requests_go_to_the_origins_that_the_arm_has() {
        let at_files = Step::At {
            origin: "files".into(),
            step: Box::new(call(2)),
        };
        let slots = Slots {
            reconnect: true,
            pause: false,
        };
        let workload = Workload::of_arm(
            &[call(1), at_files, call(1)],
            &Behaviour::default(),
            &Form::default(),
            slots,
            0,
        );
        let origins = |workload: &Workload| -> Vec<bool> {
            let calls = workload.steps.iter().filter(|step| step.action.is_call());
            calls
                .map(|step| step.origin.as_deref() == Some("files"))
                .collect()
        };
        assert_eq!(origins(&workload), [false, true, true, false]);
        let others = workload.steps.iter().filter(|s| !s.action.is_call());
        assert!(others.clone().all(|step| step.origin.is_none()));
        let two = Origins::from([("files".to_owned(), Placement::SameServer)]);
        assert_eq!(workload.clone().at_origins(&two), workload);
        let one = workload.at_origins(&Origins::new());
        assert_eq!(origins(&one), [false; 4]);
    }

    #[test]
    fn each_process_has_the_steps_from_its_restart_on() {
        let at_once = Step::Parallel(vec![call(2)]);
        let w = Workload::expand(&[call(2), Step::Restart, at_once, Step::Restart, call(1)]);
        let ids = |steps: &[DriverStep]| steps.iter().map(|step| step.id).collect::<Vec<_>>();
        let processes: Vec<_> = w.by_process().map(ids).collect();
        assert_eq!(processes, [vec![1, 2], vec![3, 4, 5], vec![6, 7]]);
        let numbers = [1, 2, 3, 5, 6, 7].map(|id| w.process_of(id));
        assert_eq!(numbers, [0, 0, 1, 1, 2, 2]);
        // Each step waits for one of its own process.
        assert_eq!(w.steps[3].start, Some(Start::After(3)));
        assert!(w.steps[2].action == NOTHING && w.steps[5].action == NOTHING);
    }

    #[test]
    fn messages_are_sent_in_turn() {
        let names = |text: &str| text.split(' ').map(|n| n.parse().unwrap()).collect();
        let exchange = |messages, times| Step::Exchange {
            group: "page".into(),
            messages,
            times,
        };
        let w = Workload::expand(&[exchange(names("big-0 big-1 big-2"), 5)]);
        let sent = w.steps.iter().filter_map(encoded_message);
        let expected = ["big-0", "big-1", "big-2", "big-0", "big-1"];
        assert_eq!(sent.collect::<Vec<_>>(), expected);
        assert_eq!(w.groups[0].about, "exchange big-0..2");
        let one = Workload::expand(&[exchange(names("api-2kB"), 1)]);
        assert_eq!(one.groups[0].about, "exchange api-2kB");
        let get = |bytes| Step::Get {
            group: "files".into(),
            bytes,
            times: 1,
        };
        let files = Workload::expand(&[get(7), get(8), get(7)]);
        assert_eq!(files.groups[0].about, "GET 7 B, GET 8 B");
    }
}
