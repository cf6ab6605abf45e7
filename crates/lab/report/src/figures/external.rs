//! The user's own server: where its requests went, and what is known of them without its log.

use std::collections::BTreeSet;

use record::{CellStatus, CompactRun};

use crate::summary::external::{External, RoundTrip};
use crate::words::number::duration;

/// Returns the user's own server, if the run has one.
pub(crate) fn external(data: &CompactRun) -> Option<External> {
    let server = data.run().settings.external.as_ref()?;
    let counted = data.with_status().into_iter();
    let counted = counted.filter(|(_, status)| *status == CellStatus::Counted);
    let relays: Vec<_> = counted
        .filter_map(|(cell, _)| cell.relay.as_ref())
        .collect();
    let addresses: BTreeSet<&String> = relays.iter().map(|relay| &relay.address).collect();
    let of_cells = relays.iter().filter_map(|r| middle(r.connect_ns.clone()));
    let mut of_cells: Vec<u64> = of_cells.collect();
    of_cells.sort_unstable();
    let round_trip = || {
        Some(RoundTrip {
            least_ns: *of_cells.first()?,
            median_ns: middle(of_cells.clone())?,
            most_ns: *of_cells.last()?,
        })
    };
    Some(External {
        url: server.url.clone(),
        addresses: addresses.into_iter().cloned().collect(),
        round_trip: round_trip(),
    })
}

/// Returns the median; of an even number of values, the larger of both in the middle.
fn middle(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Returns what a reader must know of results with the user's own server.
pub(crate) fn words(external: &External) -> String {
    let mut words = format!("Server: your own, {}", external.url);
    if !external.addresses.is_empty() {
        words += &format!(" at {}", external.addresses.join(" and "));
    }
    if let Some(RoundTrip {
        least_ns,
        median_ns,
        most_ns,
    }) = external.round_trip
    {
        let [least, median, most] = [least_ns, median_ns, most_ns].map(|ns| duration(ns as f64));
        words += &format!(
            ". Between it and the far end of the link lies a relay; one round trip between the two takes \
             {median} (cells: {least} to {most}), and is part of each round trip of a request"
        );
    }
    words += ". Over TCP, the relay's kernel sends across the link; over QUIC, your server does. \
              Without its log, packets are the proof of transport, connections, times and bytes. Not \
              proven: statuses, resumed sessions, early data.";
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_server_round_trip_and_what_is_not_proven() {
        let mut external = External {
            url: "https://api.example.com:443".into(),
            addresses: vec!["203.0.113.5:443".into()],
            round_trip: Some(RoundTrip {
                least_ns: 9_000_000,
                median_ns: 10_000_000,
                most_ns: 30_000_000,
            }),
        };
        let text = words(&external);
        for part in [
            "https://api.example.com:443 at 203.0.113.5:443. Between",
            "takes 10 ms (cells: 9 ms to 30 ms)",
            "Not proven: statuses",
        ] {
            assert!(text.contains(part), "{text}");
        }
        (external.addresses, external.round_trip) = (Vec::new(), None);
        assert!(
            words(&external).starts_with("Server: your own, https://api.example.com:443. Over TCP")
        );
    }

    #[test]
    fn the_median_is_of_sorted_values() {
        assert_eq!(middle(vec![30, 10, 20]), Some(20));
        assert_eq!(middle(vec![20, 10]), Some(20));
        assert_eq!(middle(Vec::new()), None);
    }
}
