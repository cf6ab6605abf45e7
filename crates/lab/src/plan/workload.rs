//! From a study's workload to the flat list of steps a driver follows.

use std::collections::BTreeMap;

use driver::protocol as wire;

use crate::study::Step;

/// A workload, expanded: what a driver is told, and what each call belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Flat, in order of id from 1.
    pub steps: Vec<wire::Step>,
    /// Groups of the report, in order of appearance.
    pub groups: Vec<record::Group>,
    /// For each step, the index of its group; none for steps that make no call.
    pub group_of: Vec<Option<usize>>,
}

impl Workload {
    /// Expands every repetition.
    pub fn expand(steps: &[Step]) -> Workload {
        let mut w = Workload {
            steps: Vec::new(),
            groups: Vec::new(),
            group_of: Vec::new(),
        };
        w.sequence(steps);
        w
    }

    /// These steps as they are, all in one group.
    pub(crate) fn of_steps(steps: Vec<wire::Step>) -> Workload {
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

    /// Name of the group of the call with this id.
    pub fn group_name(&self, id: u32) -> Option<&str> {
        let index = (*self.group_of.get((id as usize).checked_sub(1)?)?)?;
        Some(&self.groups[index].name)
    }

    /// Ids of the steps that make a call, each of which must yield one row.
    pub fn call_ids(&self) -> impl Iterator<Item = u32> {
        self.steps
            .iter()
            .zip(&self.group_of)
            .filter(|(_, g)| g.is_some())
            .map(|(s, _)| s.id)
    }

    /// What an ideal stack would need for these steps: for plans and time-outs.
    pub fn estimate_ns(&self, rtt_ns: u64, down_bps: Option<u64>, up_bps: Option<u64>) -> u64 {
        let transfer = |bytes: u64, bps: Option<u64>| match bps {
            Some(bps) => (u128::from(bytes) * 8_000_000_000 / u128::from(bps.max(1))) as u64,
            None => 0,
        };
        let mut json = BTreeMap::new();
        let mut total = 3 * rtt_ns;
        for step in &self.steps {
            total += match &step.action {
                wire::Action::Call { .. } => rtt_ns,
                wire::Action::Get { bytes } => 2 * rtt_ns + transfer(*bytes, down_bps),
                wire::Action::Put { bytes } => 2 * rtt_ns + transfer(*bytes, up_bps),
                wire::Action::Stream { messages, .. } => rtt_ns * u64::from(*messages),
                wire::Action::Exchange { message, .. } => {
                    let bytes = *json.entry(message).or_insert_with(|| json_bytes(message));
                    rtt_ns + transfer(bytes, down_bps) + transfer(bytes, up_bps)
                }
                wire::Action::Pause { ns } => *ns,
                wire::Action::Reconnect { .. } => 2 * rtt_ns,
            };
        }
        total
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

    /// All start when what came before has ended.
    fn parallel(&mut self, steps: &[Step]) {
        let start = Some(wire::Start::After(self.steps.len() as u32));
        for step in steps {
            self.single(step, start);
        }
    }

    fn single(&mut self, step: &Step, start: Option<wire::Start>) {
        match step {
            Step::Call { group, body, times } => {
                let about = format!("POST /echo {} B", body.len());
                let g = self.group(group, &about, None);
                for _ in 0..*times {
                    self.push(start, Some(g), wire::Action::Call { body: body.clone() });
                }
            }
            Step::Exchange {
                group,
                messages,
                times,
            } => {
                let g = self.group(group, &format!("exchange {}", about(messages)), None);
                for message in messages.iter().cycle().take(*times as usize) {
                    let action = wire::Action::Exchange {
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
                    self.push(start, Some(g), wire::Action::Get { bytes: *bytes });
                }
            }
            Step::Put {
                group,
                bytes,
                times,
            } => {
                let g = self.group(group, &format!("PUT {bytes} B"), Some(*bytes));
                for _ in 0..*times {
                    self.push(start, Some(g), wire::Action::Put { bytes: *bytes });
                }
            }
            Step::Stream {
                group,
                body,
                messages,
            } => {
                let g = self.group(group, &format!("stream of {messages} echoes"), None);
                let action = wire::Action::Stream {
                    body: body.clone(),
                    messages: *messages,
                };
                self.push(start, Some(g), action);
            }
            Step::Pause { ns } => self.push(start, None, wire::Action::Pause { ns: *ns }),
            Step::Reconnect(mode) => {
                self.push(start, None, wire::Action::Reconnect { mode: *mode });
            }
            Step::Repeat { .. } | Step::Parallel(_) => self.sequence(std::slice::from_ref(step)),
        }
    }

    fn push(&mut self, start: Option<wire::Start>, group: Option<usize>, action: wire::Action) {
        let id = self.steps.len() as u32 + 1;
        // One group on the wire: rows are sent when the whole workload has ended, so that
        // reporting never falls between timed calls.
        self.steps.push(wire::Step {
            id,
            start,
            group: 1,
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

/// `api-2kB`, or `big-0..99` of a hundred.
fn about(messages: &[::wire::Name]) -> String {
    match messages {
        [first, .., last] => {
            let last = last.to_string();
            let number = last.rsplit('-').next().unwrap_or_default();
            format!("{first}..{number}")
        }
        few => few.iter().map(ToString::to_string).collect(),
    }
}

/// Length of a message's JSON: for an estimate, whatever the codec.
fn json_bytes(message: &str) -> u64 {
    let name: Result<::wire::Name, _> = message.parse();
    let mut coder = ::wire::Codec::plain(::wire::Form::Json).coder();
    name.map_or(0, |name| coder.encode(&name.message(1)).len() as u64)
}

/// How many steps a workload expands to.
#[derive(Default)]
pub(crate) struct Count {
    pub(crate) all: usize,
    pub(crate) calls: usize,
    /// Of the calls.
    pub(crate) exchanges: usize,
}

/// Counts without expanding: a small file may ask for a great many.
pub(crate) fn count(steps: &[Step]) -> Count {
    let mut total = Count::default();
    for step in steps {
        let (all, calls, exchanges) = match step {
            Step::Call { times, .. } | Step::Get { times, .. } | Step::Put { times, .. } => {
                (*times as usize, *times as usize, 0)
            }
            Step::Exchange { times, .. } => (*times as usize, *times as usize, *times as usize),
            Step::Stream { .. } => (1, 1, 0),
            Step::Pause { .. } | Step::Reconnect(_) => (1, 0, 0),
            Step::Repeat { times, steps } => {
                let (inner, times) = (count(steps), *times as usize);
                (
                    inner.all.saturating_mul(times),
                    inner.calls.saturating_mul(times),
                    inner.exchanges.saturating_mul(times),
                )
            }
            Step::Parallel(steps) => {
                let inner = count(steps);
                (inner.all, inner.calls, inner.exchanges)
            }
        };
        total.all = total.all.saturating_add(all);
        total.calls = total.calls.saturating_add(calls);
        total.exchanges = total.exchanges.saturating_add(exchanges);
    }
    total
}

#[cfg(test)]
mod tests {
    use driver::protocol::Reconnect;

    use super::*;

    fn call(times: u32) -> Step {
        Step::Call {
            group: "echo".into(),
            body: "{}".into(),
            times,
        }
    }

    #[test]
    fn repetitions_become_a_flat_list() {
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
        assert_eq!(w.steps[6].start, Some(wire::Start::After(6)));
        assert_eq!(w.steps[7].start, Some(wire::Start::After(6)));
        assert_eq!(count(&steps).all, w.steps.len());
        assert_eq!(count(&steps).calls, w.call_ids().count());
    }

    #[test]
    fn messages_are_taken_in_turn() {
        let names = |text: &str| text.split(' ').map(|n| n.parse().unwrap()).collect();
        let exchange = |messages, times| Step::Exchange {
            group: "page".into(),
            messages,
            times,
        };
        let w = Workload::expand(&[exchange(names("big-0 big-1 big-2"), 5)]);
        let sent = w
            .steps
            .iter()
            .filter_map(crate::cell::value_files::exchanged);
        let expected = ["big-0", "big-1", "big-2", "big-0", "big-1"];
        assert_eq!(sent.collect::<Vec<_>>(), expected);
        assert_eq!(w.groups[0].about, "exchange big-0..2");
        let one = Workload::expand(&[exchange(names("api-2kB"), 1)]);
        assert_eq!(one.groups[0].about, "exchange api-2kB");
        // Four round trips, and 2,000 bytes up at 1 Mbit/s.
        let estimate = one.estimate_ns(100, None, Some(1_000_000));
        assert_eq!(estimate, 400 + 16_000_000);
    }

    #[test]
    fn an_estimate_counts_round_trips_and_bytes() {
        let w = Workload::expand(&[Step::Get {
            group: "f".into(),
            bytes: 125_000,
            times: 1,
        }]);
        assert_eq!(
            w.estimate_ns(100, Some(1_000_000), None),
            500 + 1_000_000_000
        );
    }

    #[test]
    fn a_small_file_cannot_ask_for_endless_steps() {
        let mut steps = vec![call(4096)];
        for _ in 0..4 {
            steps = vec![Step::Repeat { times: 4096, steps }];
        }
        assert!(count(&steps).all > 4096);
    }
}
