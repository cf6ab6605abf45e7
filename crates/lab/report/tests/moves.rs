//! Tests of the report's notes on moves of the phone.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Cell, Move, RunData};
use report::summarise;

/// Returns the notes on moves of a run of three arms in six blocks whose cells have these moves.
fn notes(moves: impl Fn(&Cell) -> Vec<Move>) -> Vec<String> {
    let data = data(&quickstart()[..3], &["calm"], 6, 1);
    let mut cells = data.cells().to_vec();
    for cell in &mut cells {
        cell.moves = moves(cell);
    }
    let data = RunData::new(data.run().clone(), cells).unwrap();
    let notes = summarise(&data).notes.into_iter();
    notes.filter(|note| note.contains(" move")).collect()
}

/// Returns a move during the first call, which lasts more than 200 ms.
fn during_the_first(cell: &Cell, signalled: bool) -> Move {
    Move {
        at_ns: cell.calls[0].start_ns + 100_000_000,
        signalled,
        ..Move::default()
    }
}

const A: &str = "hyper h2";
const B: &str = "hyper h2 again";
const C: &str = "quinn h3";

#[test]
fn clients_that_were_notified_are_named() {
    let said = |signalled: fn(&str) -> &'static [bool]| {
        notes(|cell| {
            let signalled = signalled(&cell.arm).iter();
            signalled.map(|of| during_the_first(cell, *of)).collect()
        })
    };
    let expected = |clients: &str| {
        vec![format!(
            "The phone moved to other addresses. Clients that were notified: {clients}."
        )]
    };
    assert_eq!(
        said(|arm| if arm == A { &[true] } else { &[false] }),
        expected(&format!("{A}; that were not: {B}, {C}"))
    );
    assert_eq!(
        said(|arm| if arm == A { &[false] } else { &[] }),
        expected(&format!("none; that were not: {A}"))
    );
    assert_eq!(
        said(|arm| if arm == C { &[true, false] } else { &[true] }),
        expected(&format!(
            "{A}, {B}; of some moves: {C}; that were not: none"
        ))
    );
    assert_eq!(said(|_| &[]), [""; 0]);
}

#[test]
fn groups_that_a_move_misses_in_some_cells_are_named() {
    let said = |misses: fn(&Cell) -> bool| {
        let mut said = notes(|cell| {
            let of = during_the_first(cell, false);
            let at_ns = if misses(cell) { 1 } else { of.at_ns };
            vec![Move { at_ns, ..of }]
        });
        said.remove(0);
        said
    };
    let group = &data(&quickstart()[..1], &["calm"], 1, 1).cells()[0].calls[0]
        .group
        .clone();
    let only = |part: &str| {
        vec![format!(
            "Some groups have a request under way during a move in part of their cells only: {group} in {part}."
        )]
    };
    assert_eq!(said(|_| false), [""; 0]);
    assert_eq!(said(|_| true), ["No request was under way during a move."]);
    assert_eq!(
        said(|cell| cell.arm == C && cell.block == 2),
        only(&format!("17 of 18 cells ({C} 5 of 6)"))
    );
    assert_eq!(said(|cell| cell.block > 0), only("3 of 18 cells"));
}
