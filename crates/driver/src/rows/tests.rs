//! Each thing that a row must satisfy, and both sides of it.

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
