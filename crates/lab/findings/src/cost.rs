//! What an arm costs besides time: bytes, and the energy of a phone's radio by a model.

use std::collections::BTreeSet;

use report::{BYTES, Kind, Place, joules_range, phone_of, with_interval};

use crate::ours::Ours;
use crate::words::{or_unknown, table};

/// The column of energies.
const ENERGY: &str = "energy per request (model)";

/// Returns a run's costs, a row for each arm on each network.
pub(crate) fn section(ours: &Ours) -> String {
    let energies: BTreeSet<&str> = (ours.measures())
        .filter(|measure| phone_of(measure).is_some())
        .collect();
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
            if !energies.is_empty() {
                let of_phone = |label: &&str| median(Kind::Energy, label)?.value;
                let joules = energies.iter().filter_map(of_phone);
                row.push(or_unknown(joules_range(joules.collect())));
            }
            if row[2..].iter().any(|cell| cell != "-") {
                rows.push(row);
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut words =
        "What it cost. Bytes are those of a whole cell, with their 95 % interval.".to_owned();
    let mut head = vec!["network", "arm", BYTES];
    if !energies.is_empty() {
        head.push(ENERGY);
        let phones: Vec<&str> = energies
            .iter()
            .filter_map(|label| phone_of(label))
            .collect();
        words += &format!(
            " Energy is a model's, not measured: published powers over the states of the network's radio, with idle as zero, until \
             the radio is idle after the last request. It is the least and the most of these phones, where their powers on \
             the network are published: {}.",
            phones.join(", ")
        );
    }
    format!("\n{words}\n\n{}", table(&head, &rows))
}
