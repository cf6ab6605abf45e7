//! What a row must satisfy before the lab looks at it.

use std::collections::HashMap;

use crate::protocol::{Action, Clock, Row, Step};
pub use crate::row_error::RowError;

/// Sends of one request beyond which a driver is not believed.
const MAX_ATTEMPTS: u32 = 100;

/// Body bytes beyond which a driver is not believed: 1 TiB.
const MAX_BODY_BYTES: u64 = 1 << 40;

/// The rows of one run, as they come in.
pub struct Rows<'a> {
    clock: Clock,
    sent_ns: u64,
    steps: HashMap<u32, &'a Step>,
    first_read_ns: HashMap<u32, u64>,
    seen: HashMap<u32, Row>,
}

impl<'a> Rows<'a> {
    /// For `steps`, sent at `sent_ns` (`CLOCK_MONOTONIC`) to a driver with this clock.
    pub fn new(steps: &'a [Step], clock: Clock, sent_ns: u64) -> Self {
        Self {
            clock,
            sent_ns,
            steps: steps.iter().map(|step| (step.id, step)).collect(),
            first_read_ns: HashMap::new(),
            seen: HashMap::new(),
        }
    }

    /// Takes a row whose line was read at `read_ns` (`CLOCK_MONOTONIC`).
    pub fn take(&mut self, row: Row, read_ns: u64) -> Result<(), RowError> {
        let id = row.id;
        let step = *self.steps.get(&id).ok_or(RowError::UnknownId { id })?;
        if !step.action.is_call() {
            return Err(RowError::NotACall {
                id,
                step: step.action.name(),
            });
        }
        if self.seen.contains_key(&id) {
            return Err(RowError::Twice { id });
        }
        check_order(&row)?;
        check_amounts(&row, &step.action)?;
        if self.clock == Clock::Monotonic {
            // A group's rows follow its last call, so no call of it may end after the
            // first of them was read.
            let group_read_ns = *self.first_read_ns.entry(step.group).or_insert(read_ns);
            if let Some(by_ns) = excess(self.sent_ns, row.start_ns) {
                return Err(RowError::BeforeRun { id, by_ns });
            }
            if let Some(by_ns) = excess(row.end_ns, group_read_ns) {
                return Err(RowError::AfterRead { id, by_ns });
            }
        }
        self.seen.insert(id, row);
        Ok(())
    }

    /// `done` came: every call's row, in the order of the steps.
    pub fn finish(mut self, steps: &[Step]) -> Result<Vec<Row>, RowError> {
        let calls = || steps.iter().filter(|step| step.action.is_call());
        if let Some(step) = calls().find(|step| !self.seen.contains_key(&step.id)) {
            let missing = calls().count() - self.seen.len();
            return Err(RowError::Missing {
                id: step.id,
                missing,
            });
        }
        Ok(calls()
            .filter_map(|step| self.seen.remove(&step.id))
            .collect())
    }
}

fn check_order(row: &Row) -> Result<(), RowError> {
    let start = ("start", Some(row.start_ns));
    let end = ("end", Some(row.end_ns));
    let (dns, connect) = (("dns", row.dns_ns), ("connect", row.connect_ns));
    let (tls, sent) = (("tls", row.tls_ns), ("request_sent", row.request_sent_ns));
    let first = ("first_byte", row.first_byte_ns);
    let (created, encoded) = (("created", row.created_ns), ("encoded", row.encoded_ns));
    let received = ("received", row.received_ns);
    in_order(row.id, &[start, created, encoded, sent, end])?;
    in_order(row.id, &[first, received, end])?;
    in_order(row.id, &[start, dns, connect, tls, end])?;
    // Early data goes before the handshake is done, and may be answered before it.
    let up = if row.early_data { connect } else { tls };
    in_order(row.id, &[start, up, sent, end])?;
    in_order(row.id, &[start, up, first, end])
}

fn in_order(id: u32, phases: &[(&'static str, Option<u64>)]) -> Result<(), RowError> {
    let known: Vec<_> = phases
        .iter()
        .filter_map(|&(name, at)| Some((name, at?)))
        .collect();
    for pair in known.windows(2) {
        let [(earlier, before_ns), (later, after_ns)] = [pair[0], pair[1]];
        if let Some(by_ns) = excess(before_ns, after_ns) {
            return Err(RowError::Order {
                id,
                earlier,
                later,
                by_ns,
            });
        }
    }
    Ok(())
}

fn check_amounts(row: &Row, action: &Action) -> Result<(), RowError> {
    let id = row.id;
    if row.attempts > MAX_ATTEMPTS {
        return Err(RowError::Attempts {
            id,
            attempts: row.attempts,
        });
    }
    let bytes = row.request_bytes.max(row.response_bytes);
    if bytes > MAX_BODY_BYTES {
        return Err(RowError::Bytes { id, bytes });
    }
    let hex = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    if row
        .digest
        .as_ref()
        .is_some_and(|text| text.len() != 64 || !text.bytes().all(hex))
    {
        return Err(RowError::Digest { id });
    }
    if row.error.is_some() {
        return Ok(());
    }
    if row.attempts == 0 {
        return Err(RowError::Attempts { id, attempts: 0 });
    }
    // A redirect is an answer, and no file.
    let is_redirect = row
        .status
        .is_some_and(|status| (300..400).contains(&status));
    if let Action::Get { bytes } = *action
        && row.response_bytes != bytes
        && !is_redirect
    {
        return Err(RowError::WrongLength {
            id,
            asked: bytes,
            got: row.response_bytes,
        });
    }
    let exchanged = matches!(action, Action::Exchange { .. });
    let needs = [
        (row.connection > 0, "a connection"),
        (row.first_byte_ns.is_some(), "a first byte"),
        (row.status.is_some(), "a status"),
        (row.digest.is_some(), "a digest"),
        (row.protocol.is_some(), "a protocol"),
        (
            !exchanged || row.encoded_ns.is_some(),
            "a moment of encoding",
        ),
        (
            !exchanged || row.received_ns.is_some(),
            "a moment of receiving",
        ),
    ];
    match needs.iter().find(|(there, _)| !there) {
        Some(&(_, what)) => Err(RowError::Without { id, what }),
        None => Ok(()),
    }
}

fn excess(value: u64, bound: u64) -> Option<u64> {
    (value > bound).then(|| value - bound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{CallError, ErrorKind, Protocol, Reconnect};

    const SENT_NS: u64 = 1_000;
    const READ_NS: u64 = 2_000;

    fn step(id: u32, group: u32, action: Action) -> Step {
        Step {
            id,
            start: None,
            group,
            cancel_after_ns: None,
            action,
        }
    }

    fn steps() -> Vec<Step> {
        vec![
            step(1, 1, Action::Get { bytes: 7 }),
            step(2, 1, Action::Get { bytes: 7 }),
            step(
                3,
                1,
                Action::Reconnect {
                    mode: Reconnect::Cold,
                },
            ),
        ]
    }

    fn row(id: u32) -> Row {
        Row {
            id,
            connection: 1,
            start_ns: 1_100,
            dns_ns: Some(1_200),
            connect_ns: Some(1_300),
            tls_ns: Some(1_400),
            request_sent_ns: Some(1_500),
            first_byte_ns: Some(1_600),
            end_ns: 1_700,
            status: Some(200),
            response_bytes: 7,
            digest: Some("0123456789abcdef".repeat(4)),
            protocol: Some(Protocol::H2),
            attempts: 1,
            ..Row::default()
        }
    }

    fn take(row: Row) -> Result<(), RowError> {
        Rows::new(&steps(), Clock::Monotonic, SENT_NS).take(row, READ_NS)
    }

    #[test]
    fn an_honest_run_passes() {
        let steps = steps();
        let mut rows = Rows::new(&steps, Clock::Monotonic, SENT_NS);
        rows.take(row(2), READ_NS).unwrap();
        rows.take(row(1), READ_NS).unwrap();
        assert_eq!(rows.finish(&steps), Ok(vec![row(1), row(2)]));
    }

    #[test]
    fn each_call_owes_one_row() {
        let steps = steps();
        let mut rows = Rows::new(&steps, Clock::Monotonic, SENT_NS);
        assert_eq!(
            rows.take(row(9), READ_NS),
            Err(RowError::UnknownId { id: 9 })
        );
        let reconnect = RowError::NotACall {
            id: 3,
            step: "reconnect",
        };
        assert_eq!(rows.take(row(3), READ_NS), Err(reconnect));
        rows.take(row(1), READ_NS).unwrap();
        assert_eq!(rows.take(row(1), READ_NS), Err(RowError::Twice { id: 1 }));
        assert_eq!(
            rows.finish(&steps),
            Err(RowError::Missing { id: 2, missing: 1 })
        );
    }

    #[test]
    fn times_lie_between_run_and_read() {
        let on_time = Row {
            start_ns: SENT_NS,
            end_ns: READ_NS,
            ..row(1)
        };
        assert_eq!(take(on_time), Ok(()));
        let before = Row {
            start_ns: SENT_NS - 1,
            ..row(1)
        };
        assert_eq!(
            take(before.clone()),
            Err(RowError::BeforeRun { id: 1, by_ns: 1 })
        );
        let after = Row {
            end_ns: READ_NS + 1,
            ..row(1)
        };
        assert_eq!(take(after), Err(RowError::AfterRead { id: 1, by_ns: 1 }));
        assert_eq!(
            Rows::new(&steps(), Clock::Own, SENT_NS).take(before, READ_NS),
            Ok(())
        );
    }

    #[test]
    fn a_group_is_over_when_its_first_row_comes() {
        let steps = steps();
        let mut rows = Rows::new(&steps, Clock::Monotonic, SENT_NS);
        rows.take(row(1), 1_700).unwrap();
        let late = Row {
            end_ns: 1_701,
            ..row(2)
        };
        assert_eq!(
            rows.take(late, READ_NS),
            Err(RowError::AfterRead { id: 2, by_ns: 1 })
        );
    }

    #[test]
    fn phases_are_in_order() {
        let order = |earlier, later, by_ns| {
            Err(RowError::Order {
                id: 1,
                earlier,
                later,
                by_ns,
            })
        };
        let early_tls = Row {
            tls_ns: Some(1_299),
            ..row(1)
        };
        assert_eq!(take(early_tls), order("connect", "tls", 1));
        let early_end = Row {
            end_ns: 1_599,
            ..row(1)
        };
        assert_eq!(take(early_end), order("first_byte", "end", 1));
        let answer_first = Row {
            request_sent_ns: Some(1_650),
            ..row(1)
        };
        assert_eq!(
            take(answer_first),
            Ok(()),
            "a server may answer before it has read all"
        );
        let answer_before_tls = Row {
            first_byte_ns: Some(1_350),
            ..row(1)
        };
        assert_eq!(
            take(answer_before_tls.clone()),
            order("tls", "first_byte", 50)
        );
        assert_eq!(
            take(Row {
                early_data: true,
                ..answer_before_tls
            }),
            Ok(())
        );
    }

    #[test]
    fn an_exchange_has_its_moments_in_order() {
        let exchange = step(
            1,
            1,
            Action::Exchange {
                message: "big-7".into(),
                kind: "Big".into(),
            },
        );
        let steps = [exchange];
        let take = |row| Rows::new(&steps, Clock::Monotonic, SENT_NS).take(row, READ_NS);
        let honest = || Row {
            created_ns: Some(1_110),
            encoded_ns: Some(1_120),
            received_ns: Some(1_650),
            ..row(1)
        };
        assert_eq!(take(honest()), Ok(()));
        let ready_before = Row {
            created_ns: None,
            ..honest()
        };
        assert_eq!(take(ready_before), Ok(()));
        let order = |earlier, later| {
            Err(RowError::Order {
                id: 1,
                earlier,
                later,
                by_ns: 1,
            })
        };
        type Spoil = fn(&mut Row);
        let spoilt: [(Spoil, Result<(), RowError>); 7] = [
            (|r| r.created_ns = Some(1_099), order("start", "created")),
            (|r| r.encoded_ns = Some(1_109), order("created", "encoded")),
            (
                |r| r.encoded_ns = Some(1_501),
                order("encoded", "request_sent"),
            ),
            (
                |r| r.received_ns = Some(1_599),
                order("first_byte", "received"),
            ),
            (|r| r.received_ns = Some(1_701), order("received", "end")),
            (
                |r| r.encoded_ns = None,
                Err(RowError::Without {
                    id: 1,
                    what: "a moment of encoding",
                }),
            ),
            (
                |r| r.received_ns = None,
                Err(RowError::Without {
                    id: 1,
                    what: "a moment of receiving",
                }),
            ),
        ];
        for (spoil, expected) in spoilt {
            let mut row = honest();
            spoil(&mut row);
            assert_eq!(take(row), expected);
        }
    }

    #[test]
    fn amounts_are_sane() {
        let attempts = Row {
            attempts: 101,
            ..row(1)
        };
        assert_eq!(
            take(attempts),
            Err(RowError::Attempts {
                id: 1,
                attempts: 101
            })
        );
        let never = Row {
            attempts: 0,
            ..row(1)
        };
        assert_eq!(take(never), Err(RowError::Attempts { id: 1, attempts: 0 }));
        let bytes = (1 << 40) + 1;
        let large = Row {
            request_bytes: bytes,
            ..row(1)
        };
        assert_eq!(take(large), Err(RowError::Bytes { id: 1, bytes }));
        let short = Row {
            response_bytes: 6,
            ..row(1)
        };
        assert_eq!(
            take(short.clone()),
            Err(RowError::WrongLength {
                id: 1,
                asked: 7,
                got: 6
            })
        );
        let error = Some(CallError {
            kind: ErrorKind::Reset,
            detail: String::new(),
        });
        assert_eq!(take(Row { error, ..short }), Ok(()));
        let digest = Row {
            digest: Some("A".repeat(64)),
            ..row(1)
        };
        assert_eq!(take(digest), Err(RowError::Digest { id: 1 }));
        let unproven = Row {
            digest: None,
            ..row(1)
        };
        assert_eq!(
            take(unproven),
            Err(RowError::Without {
                id: 1,
                what: "a digest"
            })
        );
    }
}
