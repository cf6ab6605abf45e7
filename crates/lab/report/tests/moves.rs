//! Tests that the report names the clients that were notified of the phone's moves.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod invented;

use invented::{data, quickstart};
use record::{Move, RunData};
use report::summarise;

/// Returns the notes on moves of a run whose arms moved: each was notified or not.
fn notes(signalled: [Option<bool>; 3]) -> Vec<String> {
    let data = data(&quickstart()[..3], &["calm"], 6, 1);
    let mut cells = data.cells().to_vec();
    let arms: Vec<String> = data.run().arms.iter().map(|arm| arm.name.clone()).collect();
    for cell in &mut cells {
        let index = arms.iter().position(|arm| *arm == cell.arm).unwrap();
        cell.moves = (signalled[index].into_iter())
            .map(|signalled| Move {
                at_ns: 1,
                signalled,
                ..Move::default()
            })
            .collect();
    }
    let data = RunData::new(data.run().clone(), cells).unwrap();
    let notes = summarise(&data).notes.into_iter();
    let of_moves = |note: &String| note.starts_with("The phone moved");
    notes.filter(of_moves).collect()
}

#[test]
fn clients_that_were_notified_are_named() {
    let data = data(&quickstart()[..3], &["calm"], 1, 1);
    let [a, b, c] = [0, 1, 2].map(|index| data.run().arms[index].name.clone());
    let said = |notified: &str, silent: &str| {
        let said = "The phone moved to other addresses. Clients that were notified: ";
        [format!("{said}{notified}; that were not: {silent}.")]
    };
    let all = [true, false, false].map(Some);
    assert_eq!(notes(all), said(&a, &format!("{b}, {c}")));
    let none = [Some(false), None, None];
    assert_eq!(notes(none), said("none", &a));
    assert_eq!(notes([None; 3]), [""; 0]);
}
