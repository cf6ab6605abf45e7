//! Expands a study's workload into the flat list of steps that a driver follows.

use driver::protocol::{Action, Start, Step as DriverStep};
use wire::Name;

use crate::study::Step;

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

impl Workload {
    /// Expands repeated and parallel steps.
    pub fn expand(steps: &[Step]) -> Workload {
        let mut w = Workload {
            steps: Vec::new(),
            groups: Vec::new(),
            group_of: Vec::new(),
        };
        w.sequence(steps);
        w
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
            }],
            steps,
        }
    }

    /// Returns the name of the group of the call with this id.
    pub fn group_name(&self, id: u32) -> Option<&str> {
        let index = (*self.group_of.get((id as usize).checked_sub(1)?)?)?;
        Some(&self.groups[index].name)
    }

    /// Returns the ids of the steps that make a call; the driver reports one row for each.
    pub fn call_ids(&self) -> impl Iterator<Item = u32> {
        self.steps
            .iter()
            .zip(&self.group_of)
            .filter(|(_, g)| g.is_some())
            .map(|(s, _)| s.id)
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
        let start = Some(Start::After(self.steps.len() as u32));
        for step in steps {
            self.single(step, start);
        }
    }

    fn single(&mut self, step: &Step, start: Option<Start>) {
        match step {
            Step::Call { group, body, times } => {
                let about = format!("POST /echo {} B", body.len());
                let g = self.group(group, &about, None);
                for _ in 0..*times {
                    self.push(start, Some(g), Action::Call { body: body.clone() });
                }
            }
            Step::Exchange {
                group,
                messages,
                times,
            } => {
                let g = self.group(group, &format!("exchange {}", about(messages)), None);
                for message in messages.iter().cycle().take(*times as usize) {
                    let action = Action::Exchange {
                        message: message.to_string(),
                        kind: message.kind().name().to_owned(),
                    };
                    self.push(start, Some(g), action);
                }
            }
            Step::Get {
                group,
                bytes,
                times,
            } => {
                let g = self.group(group, &format!("GET {bytes} B"), Some(*bytes));
                for _ in 0..*times {
                    self.push(start, Some(g), Action::Get { bytes: *bytes });
                }
            }
            Step::Put {
                group,
                bytes,
                times,
            } => {
                let g = self.group(group, &format!("PUT {bytes} B"), Some(*bytes));
                for _ in 0..*times {
                    self.push(start, Some(g), Action::Put { bytes: *bytes });
                }
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
                self.push(start, Some(g), action);
            }
            Step::Pause { ns } => self.push(start, None, Action::Pause { ns: *ns }),
            Step::Reconnect(mode) => {
                self.push(start, None, Action::Reconnect { mode: *mode });
            }
            Step::Repeat { .. } | Step::Parallel(_) => self.sequence(std::slice::from_ref(step)),
        }
    }

    fn push(&mut self, start: Option<Start>, group: Option<usize>, action: Action) {
        let id = self.steps.len() as u32 + 1;
        // The driver sees one group only: it sends all rows when the whole workload has ended, so
        // that reporting never falls between timed calls.
        self.steps.push(DriverStep {
            id,
            start,
            group: 1,
            until: None,
            cancel_after_ns: None,
            action,
        });
        self.group_of.push(group);
    }

    fn group(&mut self, name: &str, about: &str, bulk_bytes: Option<u64>) -> usize {
        if let Some(known) = self.groups.iter().position(|g| g.name == name) {
            return known;
        }
        self.groups.push(record::Group {
            name: name.to_owned(),
            about: about.to_owned(),
            bulk: bulk_bytes.is_some(),
            response_bytes: bulk_bytes.unwrap_or(0),
        });
        self.groups.len() - 1
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

/// The name of the message that a step exchanges, if it does.
pub(crate) fn exchanged_message(step: &DriverStep) -> Option<&str> {
    match &step.action {
        Action::Exchange { message, .. } => Some(message),
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

    #[test]
    fn messages_are_sent_in_turn() {
        let names = |text: &str| text.split(' ').map(|n| n.parse().unwrap()).collect();
        let exchange = |messages, times| Step::Exchange {
            group: "page".into(),
            messages,
            times,
        };
        let w = Workload::expand(&[exchange(names("big-0 big-1 big-2"), 5)]);
        let sent = w.steps.iter().filter_map(exchanged_message);
        let expected = ["big-0", "big-1", "big-2", "big-0", "big-1"];
        assert_eq!(sent.collect::<Vec<_>>(), expected);
        assert_eq!(w.groups[0].about, "exchange big-0..2");
        let one = Workload::expand(&[exchange(names("api-2kB"), 1)]);
        assert_eq!(one.groups[0].about, "exchange api-2kB");
    }
}
