//! What an arm costs besides time: bytes, and the radio's energy by a model.

use report::{BYTES, Kind, Place, Quantity, energy_labels, with_interval};

use crate::ours::Ours;
use crate::words::{or_unknown, table};

/// Returns a run's costs, a row for each arm on each network.
pub(crate) fn section(ours: &Ours) -> String {
    let radios = energy_labels();
    let mut rows = Vec::new();
    for network in &ours.run.networks {
        for arm in &ours.run.arms {
            let median = |kind: Kind, measure: &str| {
                ours.median(&Place {
                    kind,
                    network: network.name.clone(),
                    measure: measure.to_owned(),
                    arm: arm.name.clone(),
                })
            };
            let bytes = median(Kind::Bytes, BYTES).map(with_interval);
            let mut row = vec![network.name.clone(), arm.name.clone(), or_unknown(bytes)];
            row.extend(radios.iter().map(|(_, labels)| {
                let models = labels.iter().map(|label| median(Kind::Energy, label));
                or_unknown(models.collect::<Option<Vec<_>>>().and_then(|m| range(&m)))
            }));
            if row[2..].iter().any(|cell| cell != "-") {
                rows.push(row);
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut head = vec!["network", "arm", BYTES];
    head.extend(radios.iter().map(|(radio, _)| *radio));
    format!(
        "\nWhat it cost. Bytes are those of a whole cell, with their 95 % interval. Energy is the \
         radio's per request, by a model of its states and the times of packets, not measured: the \
         lower and the higher of two published sets of constants, for a radio that sleeps before and \
         after the cell.\n\n{}",
        table(&head, &rows)
    )
}

/// Returns what the models say, from the least to the most.
fn range(models: &[&Quantity]) -> Option<String> {
    let values = models.iter().map(|q| q.value);
    let mut joules = values.collect::<Option<Vec<f64>>>()?;
    joules.sort_by(f64::total_cmp);
    Some(format!("{:.2} to {:.2} J", joules.first()?, joules.last()?))
}
