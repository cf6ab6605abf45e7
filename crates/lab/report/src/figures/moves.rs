//! Arms whose client was notified of the phone's moves, and arms whose client was not.

use record::{Arm, CompactCell, Run};

use crate::figures::cells::CellIndex;

/// Returns a note if the phone moved to other addresses: it names the arms whose client was notified.
pub(crate) fn note(run: &Run, cells: &CellIndex<'_>) -> Option<String> {
    let moved = |arm: &Arm| -> Vec<&CompactCell> {
        let networks = run.networks.iter();
        let of_arm =
            networks.flat_map(|network| cells.first(&network.name, &arm.name).into_values());
        of_arm.filter(|cell| !cell.moves.is_empty()).collect()
    };
    let (mut notified, mut silent) = (Vec::new(), Vec::new());
    for arm in &run.arms {
        let moved = moved(arm);
        let mut moves = moved.iter().flat_map(|cell| &cell.moves);
        if moved.is_empty() {
            continue;
        }
        match moves.all(|of| of.signalled) {
            true => notified.push(arm.name.as_str()),
            false => silent.push(arm.name.as_str()),
        }
    }
    let names = |names: Vec<&str>| match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    (!notified.is_empty() || !silent.is_empty()).then(|| {
        format!(
            "The phone moved to other addresses. Clients that were notified: {}; that were not: {}.",
            names(notified),
            names(silent)
        )
    })
}
