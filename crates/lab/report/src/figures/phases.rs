//! Splits the time of exchanges into phases: the codec's, the transport's and the server's.

use record::{CallResult, CompactCall, Exchange};

use crate::figures::cells::Blocks;
use crate::figures::population::Population;
use crate::summary::measure::{Mean, Phases};

/// A column of the table: its heading and its figure.
pub(crate) type Column = (&'static str, fn(&Phases) -> &Mean);

/// The table's columns of times, in the order in which the phases happen.
pub(crate) const TIMES: [Column; 7] = [
    ("create", |phases| &phases.create_ns),
    ("encode", |phases| &phases.encode_ns),
    ("transport", |phases| &phases.transport_ns),
    ("of which server decode", |phases| &phases.server_decode_ns),
    ("server encode", |phases| &phases.server_encode_ns),
    ("decode", |phases| &phases.decode_ns),
    ("total", |phases| &phases.total_ns),
];

/// The table's columns of bytes.
pub(crate) const BYTES: [Column; 2] = [
    ("request", |phases| &phases.request_bytes),
    ("response", |phases| &phases.response_bytes),
];

/// The note below the table.
pub(crate) const NOTE: &str = "Means over successful requests that encode: create + encode + transport + decode = \
    total. Transport runs from the encoded request to the response's last byte and includes the \
    server's decoding and encoding. The verdicts above compare medians, not means.";

/// Returns means over the successful exchanges of a population, if there are any. Unlike medians,
/// the means of the phases add up to the mean of the total.
pub(crate) fn phases(population: &Population, blocks: &Blocks<'_>) -> Option<Phases> {
    let by_block: Vec<Vec<Split>> = blocks
        .values()
        .map(|cell| population.of(&cell.calls).filter_map(Split::of).collect())
        .filter(|splits: &Vec<Split>| !splits.is_empty())
        .collect();
    if by_block.is_empty() {
        return None;
    }
    let mean = |phase: fn(&Split) -> u64| mean(&by_block, phase);
    Some(Phases {
        calls: by_block.iter().map(Vec::len).sum(),
        blocks: by_block.len(),
        create_ns: mean(|split| split.create_ns),
        encode_ns: mean(|split| split.encode_ns),
        transport_ns: mean(|split| split.transport_ns),
        server_decode_ns: mean(|split| split.server_decode_ns),
        server_encode_ns: mean(|split| split.server_encode_ns),
        decode_ns: mean(|split| split.decode_ns),
        total_ns: mean(|split| split.total_ns),
        request_bytes: mean(|split| split.request_bytes),
        response_bytes: mean(|split| split.response_bytes),
    })
}

/// The phases of one exchange.
pub(crate) struct Split {
    create_ns: u64,
    pub(crate) encode_ns: u64,
    transport_ns: u64,
    server_decode_ns: u64,
    server_encode_ns: u64,
    pub(crate) decode_ns: u64,
    total_ns: u64,
    request_bytes: u64,
    response_bytes: u64,
}

impl Split {
    /// Returns `None` if the call is not an exchange, failed, or lacks a time.
    pub(crate) fn of(call: CompactCall<'_>) -> Option<Self> {
        let Exchange {
            created_ns,
            encoded_ns,
            received_ns,
            server_decode_ns,
            server_encode_ns,
        } = call.exchange()?;
        if *call.result() != CallResult::Ok {
            return None;
        }
        let created_ns = created_ns.unwrap_or(0);
        let (encoded_ns, received_ns) = (encoded_ns?, received_ns?);
        Some(Self {
            create_ns: created_ns,
            encode_ns: encoded_ns.checked_sub(created_ns)?,
            transport_ns: received_ns.checked_sub(encoded_ns)?,
            server_decode_ns: server_decode_ns.unwrap_or(0),
            server_encode_ns: server_encode_ns.unwrap_or(0),
            decode_ns: call.end_ns().checked_sub(received_ns)?,
            total_ns: call.end_ns(),
            request_bytes: call.request_bytes(),
            response_bytes: call.response_bytes(),
        })
    }
}

fn mean(by_block: &[Vec<Split>], phase: fn(&Split) -> u64) -> Mean {
    let sum = |splits: &[Split]| splits.iter().map(|split| phase(split) as f64).sum::<f64>();
    let calls: usize = by_block.iter().map(Vec::len).sum();
    let total: f64 = by_block.iter().map(|block| sum(block)).sum();
    let block_means = by_block.iter().map(|block| sum(block) / block.len() as f64);
    Mean {
        mean: total / calls as f64,
        min: block_means.clone().fold(f64::INFINITY, f64::min),
        max: block_means.fold(0.0, f64::max),
    }
}

/// Formats a time in milliseconds with three decimals; one unit, so that columns add up visibly.
pub(crate) fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// Returns the heading of the table.
pub(crate) fn heading(label: &str) -> String {
    format!("{label}: phases of a request, means in ms")
}

#[cfg(test)]
mod tests {
    use record::{Call, CompactCalls, Proof, State};

    use super::*;

    fn call(exchange: Option<Exchange>, end_ns: u64) -> Call {
        Call {
            id: 1,
            group: "page".into(),
            connection: 1,
            first: false,
            state: State::Warm,
            proof: Proof::Server,
            protocol: "h2".into(),
            start_ns: 0,
            dns_ns: None,
            connect_ns: None,
            tls_ns: None,
            request_sent_ns: None,
            first_byte_ns: None,
            end_ns,
            request_bytes: 10,
            response_bytes: 20,
            result: CallResult::Ok,
            server_hits: 1,
            server_ns: None,
            signed_ns: None,
            verify_ns: None,
            allocated_bytes: None,
            allocations: None,
            parts: Default::default(),
            path: None,
            exchange,
        }
    }

    fn times(created: Option<u64>, encoded: u64, received: u64) -> Exchange {
        Exchange {
            created_ns: created,
            encoded_ns: Some(encoded),
            received_ns: Some(received),
            server_decode_ns: Some(3),
            server_encode_ns: Some(5),
        }
    }

    fn splits<const N: usize>(calls: [Call; N]) -> Vec<Split> {
        let calls: CompactCalls = calls.into_iter().collect();
        calls.iter().filter_map(Split::of).collect()
    }

    #[test]
    fn phases_add_up_to_the_total() {
        let calls = [
            call(Some(times(Some(100), 300, 1_000)), 1_500),
            call(Some(times(None, 50, 1_050)), 1_150),
            call(Some(times(Some(7), 19, 1_003)), 1_009),
        ];
        let splits: Vec<Split> = splits(calls);
        let each = |phase: fn(&Split) -> u64| splits.iter().map(phase).collect::<Vec<_>>();
        assert_eq!(each(|s| s.create_ns), [100, 0, 7]);
        assert_eq!(each(|s| s.encode_ns), [200, 50, 12]);
        assert_eq!(each(|s| s.transport_ns), [700, 1_000, 984]);
        assert_eq!(each(|s| s.decode_ns), [500, 100, 6]);
        for s in &splits {
            let sum = s.create_ns + s.encode_ns + s.transport_ns + s.decode_ns;
            assert_eq!(sum, s.total_ns);
        }
        let total = mean(&[splits], |s| s.total_ns);
        assert!((total.mean - 3_659.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn only_successful_exchanges_count() {
        assert!(splits([call(None, 9)]).is_empty());
        let incomplete = Exchange {
            received_ns: None,
            ..times(None, 1, 2)
        };
        assert!(splits([call(Some(incomplete), 9)]).is_empty());
        let mut late = call(Some(times(None, 1, 2)), 9);
        late.result = CallResult::TimedOut;
        assert!(splits([late]).is_empty());
        // Times out of order, as a faulty driver may report them.
        assert!(splits([call(Some(times(Some(5), 1, 2)), 9)]).is_empty());
        assert!(splits([call(Some(times(None, 1, 99)), 9)]).is_empty());
    }

    #[test]
    fn mean_weights_every_call_equally() {
        let split = |total: u64| splits([call(Some(times(None, 0, 0)), total)]).remove(0);
        let blocks = [vec![split(10), split(20)], vec![split(60)]];
        let total = mean(&blocks, |s| s.total_ns);
        assert_eq!((total.mean, total.min, total.max), (30.0, 15.0, 60.0));
    }
}
