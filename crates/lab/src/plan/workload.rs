//! Expands a study's workload into the flat list of steps that a driver follows.

use driver::protocol::{Action, Reconnect, Start, Step as DriverStep, Until};
use record::{LoadPlan, Pace};
use wire::Name;

use crate::study::load::{body_bytes, most_steps, requests};
use crate::study::{Access, Arm, Behaviour, Connections, Step};

/// An expanded workload: the driver's steps, and the group of each call.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// A flat list, in order of id from 1.
    pub steps: Vec<DriverStep>,
    /// The report's groups, in order of first use.
    pub groups: Vec<record::Group>,
    /// The index in `groups` of each step's group; none for steps that make no call.
    pub group_of: Vec<Option<usize>>,
}

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

/// No request takes less: what bounds the steps of a closed loop where the network does not.
const FASTEST_REQUEST_NS: u64 = 100_000;

/// What an empty slot does.
pub(super) const NOTHING: Action = Action::Pause { ns: 0 };

/// A workload while it is being expanded.
struct Expansion {
    workload: Workload,
    behaviour: Behaviour,
    slots: Slots,
    /// How many steps of the workload are bound by time.
    loads: usize,
    /// What a request takes at least.
    fastest_ns: u64,
}

impl Workload {
    /// Expands repeated and parallel steps.
    pub fn expand(steps: &[Step]) -> Workload {
        Workload::of_arm(steps, &Behaviour::default(), Slots::default(), 0)
    }

    /// Expands the steps for an arm. No request takes less than `fastest_ns`, the round trip of the
    /// study's fastest network, so that a closed loop needs no more steps than fit into its time.
    pub(crate) fn of_arm(
        steps: &[Step],
        behaviour: &Behaviour,
        slots: Slots,
        fastest_ns: u64,
    ) -> Workload {
        let mut expansion = Expansion {
            workload: Workload {
                steps: Vec::new(),
                groups: Vec::new(),
                group_of: Vec::new(),
            },
            behaviour: *behaviour,
            slots,
            loads: steps
                .iter()
                .filter(|s| matches!(s, Step::Load { .. }))
                .count(),
            fastest_ns: fastest_ns.max(FASTEST_REQUEST_NS),
        };
        expansion.sequence(steps);
        expansion.workload
    }

    /// Takes the steps as they are, all in one group.
    pub(crate) fn of_steps(steps: Vec<DriverStep>) -> Workload {
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
        }
    }

    /// Returns the name of the group of the call with this id.
    pub fn group_name(&self, id: u32) -> Option<&str> {
        let index = (*self.group_of.get((id as usize).checked_sub(1)?)?)?;
        Some(&self.groups[index].name)
    }

    /// Returns the group of the call with this id, and its load if it is bound by time.
    pub(crate) fn load_of(&self, id: u32) -> Option<(usize, LoadPlan)> {
        let index = (*self.group_of.get((id as usize).checked_sub(1)?)?)?;
        Some((index, self.groups[index].load?))
    }

    /// Returns the plan of every group that is bound by time.
    pub(crate) fn loads(&self) -> impl Iterator<Item = LoadPlan> {
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

impl Expansion {
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
            Step::Pause { ns } => self.push(start, None, Action::Pause { ns: *ns }),
            Step::Reconnect(mode) => {
                let mode = self.behaviour.reconnect(*mode);
                self.push(start, None, Action::Reconnect { mode });
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

    /// The requests of a load. Each is a step, whether there is time for it or not.
    fn load(&mut self, plan: &LoadPlan, request: &Step) {
        // After all earlier steps, also where several of them are under way.
        if self.last_id() > 0 {
            self.push(None, None, NOTHING);
        }
        let before = self.last_id();
        let first = before as usize;
        let most = most_steps(self.loads, body_bytes(request));
        let number = match plan.pace {
            Pace::RatePerS(rate) => requests(plan, rate),
            Pace::Outstanding(calls) => {
                let in_turn = plan.total_ns() / self.fastest_ns + 1;
                in_turn.saturating_mul(u64::from(calls))
            }
        };
        // The slots of calls, access patterns and the arms' pauses are not for loads.
        let aside = std::mem::take(&mut self.slots);
        let times = number.min(most) as u32;
        self.single(&repeated(request, times), Some(Start::After(before)));
        self.slots = aside;
        for (n, step) in (0_u32..).zip(&mut self.workload.steps[first..]) {
            match plan.pace {
                Pace::Outstanding(calls) => {
                    let awaited = if n < calls { before } else { step.id - calls };
                    step.start = Some(Start::After(awaited));
                    step.until = Some(Until {
                        after: before,
                        ns: plan.total_ns(),
                    });
                }
                Pace::RatePerS(rate) => {
                    let at_ns = u64::from(n) * 1_000_000_000 / u64::from(rate);
                    step.start = Some(Start::AtNs(at_ns));
                }
            }
        }
        if let Some(group) = self.workload.group_of[first..].first().copied().flatten() {
            self.workload.groups[group].load = Some(*plan);
        }
        // What comes next waits for every request, also where its steps start at once.
        self.push(None, None, NOTHING);
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

/// Returns a request's step with this many repetitions.
fn repeated(request: &Step, number: u32) -> Step {
    let mut step = request.clone();
    if let Step::Call { times, .. }
    | Step::Exchange { times, .. }
    | Step::Submit { times, .. }
    | Step::Get { times, .. } = &mut step
    {
        *times = number;
    }
    step
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

/// The name of the message that a step encodes in the arm's codec, if it does.
pub(crate) fn encoded_message(step: &DriverStep) -> Option<&str> {
    match &step.action {
        Action::Exchange { message, .. } | Action::Submit { message, .. } => Some(message),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use driver::protocol::Reconnect;

    use super::*;
    use crate::study::count::StepCount;

    fn call(times: u32) -> Step {
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
            .map(|arm| Workload::of_arm(steps, &arm.behaviour, slots, 0))
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

    fn load(pace: Pace) -> Step {
        let plan = LoadPlan {
            warmup_ns: 1_000_000_000,
            measured_ns: 1_000_000_000,
            pace,
        };
        let request = Box::new(call(1));
        Step::Load { plan, request }
    }

    #[test]
    fn a_closed_loop_is_as_many_chains_as_requests_in_flight() {
        let before = Step::Pause { ns: 1 };
        let behaviour = Behaviour::default();
        let file = Step::Get {
            group: "file".into(),
            bytes: 1,
            times: 1,
        };
        let steps = [before, load(Pace::Outstanding(2)), file];
        let w = Workload::of_arm(&steps, &behaviour, Slots::default(), 100_000_000);
        // Two seconds hold 20 round trips of 100 ms, and one more request may start at the end.
        let first = 3;
        assert_eq!(w.call_ids().collect::<Vec<_>>()[..3], [3, 4, 5]);
        assert_eq!(w.steps.len(), 2 + 2 * 21 + 2);
        let starts: Vec<_> = w.steps[2..7].iter().map(|step| step.start).collect();
        let after = [2, 2, first, 4, 5].map(|id| Some(Start::After(id)));
        assert_eq!(starts, after);
        let until = Until {
            after: 2,
            ns: 2_000_000_000,
        };
        assert!(w.steps[2..44].iter().all(|step| step.until == Some(until)));
        assert_eq!(w.load_of(44).map(|(group, _)| group), Some(0));
        assert_eq!((w.load_of(45), w.load_of(46)), (None, None));
        assert_eq!((w.steps[45].start, w.steps[45].until), (None, None));
    }

    #[test]
    fn an_open_loop_has_a_start_for_every_request() {
        let w = Workload::expand(&[load(Pace::RatePerS(3))]);
        assert_eq!(w.call_ids().count(), 6);
        let at = |n: usize| w.steps[n].start;
        assert_eq!(at(0), Some(Start::AtNs(0)));
        assert_eq!(at(1), Some(Start::AtNs(333_333_333)));
        assert_eq!(at(5), Some(Start::AtNs(1_666_666_666)));
    }

    #[test]
    fn the_steps_of_loads_are_bounded() {
        let w = Workload::expand(&[load(Pace::Outstanding(256))]);
        assert_eq!(w.call_ids().count(), 65_536);
        let slots = Slots {
            reconnect: true,
            pause: true,
        };
        let behaviour = Behaviour::default();
        let two = [load(Pace::RatePerS(5)), load(Pace::Outstanding(256))];
        let w = Workload::of_arm(&two, &behaviour, slots, 0);
        // No slot is before a request of a load.
        assert_eq!(w.call_ids().count(), 10 + 32_768);
    }
}
