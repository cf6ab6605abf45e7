//! Every check of a row, on both sides of its bound.

use super::*;
use crate::protocol::{CallError, ErrorKind, Protocol, Reconnect, Until};

const SENT_NS: u64 = 1_000;
const READ_NS: u64 = 2_000;

fn step(id: u32, group: u32, action: Action) -> Step {
    Step {
        id,
        start: None,
        group,
        until: None,
        cancel_after_ns: None,
        origin: None,
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

fn add(row: Row) -> Result<(), RowError> {
    Rows::new(&steps(), Clock::Monotonic, SENT_NS).add(row, READ_NS)
}

#[test]
fn valid_rows_are_returned_in_step_order() {
    let steps = steps();
    let mut rows = Rows::new(&steps, Clock::Monotonic, SENT_NS);
    rows.add(row(2), READ_NS).unwrap();
    rows.add(row(1), READ_NS).unwrap();
    assert_eq!(rows.finish(&steps), Ok(vec![row(1), row(2)]));
}

#[test]
fn every_call_has_exactly_one_row() {
    let steps = steps();
    let mut rows = Rows::new(&steps, Clock::Monotonic, SENT_NS);
    assert_eq!(
        rows.add(row(9), READ_NS),
        Err(RowError::UnknownId { id: 9 })
    );
    let reconnect = RowError::NotACall {
        id: 3,
        step: "reconnect",
    };
    assert_eq!(rows.add(row(3), READ_NS), Err(reconnect));
    rows.add(row(1), READ_NS).unwrap();
    assert_eq!(
        rows.add(row(1), READ_NS),
        Err(RowError::Duplicate { id: 1 })
    );
    assert_eq!(
        rows.finish(&steps),
        Err(RowError::Missing { id: 2, missing: 1 })
    );
}

#[test]
fn a_call_that_came_too_late_needs_no_row() {
    let mut steps = steps();
    steps[1].until = Some(Until { after: 0, ns: 5 });
    let mut rows = Rows::new(&steps, Clock::Monotonic, SENT_NS);
    rows.add(row(1), READ_NS).unwrap();
    assert_eq!(rows.finish(&steps).map(|rows| rows.len()), Ok(1));
}

#[test]
fn times_lie_between_run_and_read() {
    let on_time = Row {
        start_ns: SENT_NS,
        end_ns: READ_NS,
        ..row(1)
    };
    assert_eq!(add(on_time), Ok(()));
    let before = Row {
        start_ns: SENT_NS - 1,
        ..row(1)
    };
    assert_eq!(
        add(before.clone()),
        Err(RowError::BeforeRun { id: 1, by_ns: 1 })
    );
    let after = Row {
        end_ns: READ_NS + 1,
        ..row(1)
    };
    assert_eq!(add(after), Err(RowError::AfterRead { id: 1, by_ns: 1 }));
    assert_eq!(
        Rows::new(&steps(), Clock::Own, SENT_NS).add(before, READ_NS),
        Ok(())
    );
}

#[test]
fn group_ends_before_its_first_row_is_read() {
    let steps = steps();
    let mut rows = Rows::new(&steps, Clock::Monotonic, SENT_NS);
    rows.add(row(1), 1_700).unwrap();
    let late = Row {
        end_ns: 1_701,
        ..row(2)
    };
    assert_eq!(
        rows.add(late, READ_NS),
        Err(RowError::AfterRead { id: 2, by_ns: 1 })
    );
}

#[test]
fn phases_must_be_in_order() {
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
    assert_eq!(add(early_tls), order("connect", "tls", 1));
    let early_end = Row {
        end_ns: 1_599,
        ..row(1)
    };
    assert_eq!(add(early_end), order("first_byte", "end", 1));
    let early_response = Row {
        request_sent_ns: Some(1_650),
        ..row(1)
    };
    assert_eq!(
        add(early_response),
        Ok(()),
        "a server may respond before it has read the whole request"
    );
    let response_before_tls = Row {
        first_byte_ns: Some(1_350),
        ..row(1)
    };
    assert_eq!(
        add(response_before_tls.clone()),
        order("tls", "first_byte", 50)
    );
    assert_eq!(
        add(Row {
            early_data: true,
            ..response_before_tls
        }),
        Ok(())
    );
}

#[test]
fn exchange_phases_must_be_in_order() {
    let exchange = step(
        1,
        1,
        Action::Exchange {
            message: "big-7".into(),
            kind: "Big".into(),
        },
    );
    let steps = [exchange];
    let add = |row| Rows::new(&steps, Clock::Monotonic, SENT_NS).add(row, READ_NS);
    let valid = || Row {
        created_ns: Some(1_110),
        encoded_ns: Some(1_120),
        received_ns: Some(1_650),
        ..row(1)
    };
    assert_eq!(add(valid()), Ok(()));
    let made_before = Row {
        created_ns: None,
        ..valid()
    };
    assert_eq!(add(made_before), Ok(()));
    let order = |earlier, later| {
        Err(RowError::Order {
            id: 1,
            earlier,
            later,
            by_ns: 1,
        })
    };
    type Change = fn(&mut Row);
    let invalid: [(Change, Result<(), RowError>); 8] = [
        (|r| r.created_ns = Some(1_099), order("start", "created")),
        (|r| r.encoded_ns = Some(1_109), order("created", "encoded")),
        (
            |r| r.encoded_ns = Some(1_501),
            order("encoded", "request_sent"),
        ),
        (
            |r| r.signed_ns = Some(1_501),
            order("signed", "request_sent"),
        ),
        (
            |r| r.received_ns = Some(1_599),
            order("first_byte", "received"),
        ),
        (|r| r.received_ns = Some(1_701), order("received", "end")),
        (
            |r| r.encoded_ns = None,
            Err(RowError::MissingField {
                id: 1,
                field: "an encoding time",
            }),
        ),
        (
            |r| r.received_ns = None,
            Err(RowError::MissingField {
                id: 1,
                field: "a receiving time",
            }),
        ),
    ];
    for (change, expected) in invalid {
        let mut row = valid();
        change(&mut row);
        assert_eq!(add(row), expected);
    }
}

#[test]
fn values_must_be_plausible() {
    let attempts = Row {
        attempts: 101,
        ..row(1)
    };
    assert_eq!(
        add(attempts),
        Err(RowError::Attempts {
            id: 1,
            attempts: 101
        })
    );
    let no_attempts = Row {
        attempts: 0,
        ..row(1)
    };
    assert_eq!(
        add(no_attempts),
        Err(RowError::Attempts { id: 1, attempts: 0 })
    );
    let bytes = (1 << 40) + 1;
    let large = Row {
        request_bytes: bytes,
        ..row(1)
    };
    assert_eq!(add(large), Err(RowError::Bytes { id: 1, bytes }));
    let short = Row {
        response_bytes: 6,
        ..row(1)
    };
    assert_eq!(
        add(short.clone()),
        Err(RowError::WrongLength {
            id: 1,
            requested: 7,
            received: 6
        })
    );
    let error = Some(CallError {
        kind: ErrorKind::Reset,
        detail: String::new(),
    });
    assert_eq!(add(Row { error, ..short }), Ok(()));
    let digest = Row {
        digest: Some("A".repeat(64)),
        ..row(1)
    };
    assert_eq!(add(digest), Err(RowError::Digest { id: 1 }));
    let no_digest = Row {
        digest: None,
        ..row(1)
    };
    assert_eq!(
        add(no_digest),
        Err(RowError::MissingField {
            id: 1,
            field: "a digest"
        })
    );
}
