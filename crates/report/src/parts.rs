//! Where the time of exchanges goes: the codec's part, the transport's, and the server's.

use record::{Call, CallResult, Exchange};

use crate::cells::Blocks;
use crate::population::Population;
use crate::summary::{Mean, Parts};

/// Means over the exchanges of a population that went well; none if there is none. Means, for
/// those of the parts add up to that of the whole, which medians do not.
pub(crate) fn parts(population: &Population, blocks: &Blocks<'_>) -> Option<Parts> {
    let by_block: Vec<Vec<Split>> = blocks
        .values()
        .map(|cell| population.of(&cell.calls).filter_map(Split::of).collect())
        .filter(|splits: &Vec<Split>| !splits.is_empty())
        .collect();
    if by_block.is_empty() {
        return None;
    }
    let mean = |of: fn(&Split) -> u64| mean(&by_block, of);
    Some(Parts {
        calls: by_block.iter().map(Vec::len).sum(),
        blocks: by_block.len(),
        create_ns: mean(|split| split.create_ns),
        encode_ns: mean(|split| split.encode_ns),
        transport_ns: mean(|split| split.transport_ns),
        server_decode_ns: mean(|split| split.server_decode_ns),
        server_encode_ns: mean(|split| split.server_encode_ns),
        decode_ns: mean(|split| split.decode_ns),
        whole_ns: mean(|split| split.whole_ns),
        request_bytes: mean(|split| split.request_bytes),
        response_bytes: mean(|split| split.response_bytes),
    })
}

/// One exchange, cut where a part ends and the next begins.
struct Split {
    create_ns: u64,
    encode_ns: u64,
    transport_ns: u64,
    server_decode_ns: u64,
    server_encode_ns: u64,
    decode_ns: u64,
    whole_ns: u64,
    request_bytes: u64,
    response_bytes: u64,
}

impl Split {
    /// None of a call that is no exchange, failed, or did not say when.
    fn of(call: &Call) -> Option<Self> {
        let Exchange {
            created_ns,
            encoded_ns,
            received_ns,
            server_decode_ns,
            server_encode_ns,
        } = call.exchange.as_ref()?;
        if call.result != CallResult::Ok {
            return None;
        }
        let created_ns = created_ns.unwrap_or(0);
        let (encoded_ns, received_ns) = ((*encoded_ns)?, (*received_ns)?);
        Some(Self {
            create_ns: created_ns,
            encode_ns: encoded_ns.checked_sub(created_ns)?,
            transport_ns: received_ns.checked_sub(encoded_ns)?,
            server_decode_ns: server_decode_ns.unwrap_or(0),
            server_encode_ns: server_encode_ns.unwrap_or(0),
            decode_ns: call.end_ns.checked_sub(received_ns)?,
            whole_ns: call.end_ns,
            request_bytes: call.request_bytes,
            response_bytes: call.response_bytes,
        })
    }
}

fn mean(by_block: &[Vec<Split>], of: fn(&Split) -> u64) -> Mean {
    let sum = |splits: &[Split]| splits.iter().map(|split| of(split) as f64).sum::<f64>();
    let all: usize = by_block.iter().map(Vec::len).sum();
    let total: f64 = by_block.iter().map(|block| sum(block)).sum();
    let of_blocks = by_block.iter().map(|block| sum(block) / block.len() as f64);
    Mean {
        mean: total / all as f64,
        least: of_blocks.clone().fold(f64::INFINITY, f64::min),
        greatest: of_blocks.fold(0.0, f64::max),
    }
}

/// A column of the table: its head and its mean.
pub(crate) type Column = (&'static str, fn(&Parts) -> &Mean);

/// What a table of parts shows of times, in the order of their happening.
pub(crate) const TIMES: [Column; 7] = [
    ("create", |parts| &parts.create_ns),
    ("encode", |parts| &parts.encode_ns),
    ("transport", |parts| &parts.transport_ns),
    ("of it server decode", |parts| &parts.server_decode_ns),
    ("server encode", |parts| &parts.server_encode_ns),
    ("decode", |parts| &parts.decode_ns),
    ("whole", |parts| &parts.whole_ns),
];

/// And of bytes.
pub(crate) const BYTES: [Column; 2] = [
    ("request", |parts| &parts.request_bytes),
    ("response", |parts| &parts.response_bytes),
];

/// Milliseconds to the microsecond: one unit, so that a column can be added up by eye.
pub(crate) fn ms(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// What stands above such a table.
pub(crate) fn heading(label: &str) -> String {
    format!("{label}: parts of an exchange, mean ms")
}

/// What stands below.
pub(crate) const NOTE: &str = "Means over exchanges that went well: create + encode + transport \
    + decode = whole. Transport begins with the request's bytes and ends with the response's last; \
    the server's decoding and encoding are in it. The verdicts above are of medians.";

#[cfg(test)]
mod tests {
    use record::{Proof, State};

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
            exchange,
        }
    }

    fn moments(created: Option<u64>, encoded: u64, received: u64) -> Exchange {
        Exchange {
            created_ns: created,
            encoded_ns: Some(encoded),
            received_ns: Some(received),
            server_decode_ns: Some(3),
            server_encode_ns: Some(5),
        }
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let calls = [
            call(Some(moments(Some(100), 300, 1_000)), 1_500),
            call(Some(moments(None, 50, 1_050)), 1_150),
            call(Some(moments(Some(7), 19, 1_003)), 1_009),
        ];
        let splits: Vec<Split> = calls.iter().filter_map(Split::of).collect();
        let of = |of: fn(&Split) -> u64| splits.iter().map(of).collect::<Vec<_>>();
        assert_eq!(of(|s| s.create_ns), [100, 0, 7]);
        assert_eq!(of(|s| s.encode_ns), [200, 50, 12]);
        assert_eq!(of(|s| s.transport_ns), [700, 1_000, 984]);
        assert_eq!(of(|s| s.decode_ns), [500, 100, 6]);
        for s in &splits {
            let sum = s.create_ns + s.encode_ns + s.transport_ns + s.decode_ns;
            assert_eq!(sum, s.whole_ns);
        }
        let whole = mean(&[splits], |s| s.whole_ns);
        assert!((whole.mean - 3_659.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn only_exchanges_that_went_well_count() {
        assert!(Split::of(&call(None, 9)).is_none());
        let unsaid = Exchange {
            received_ns: None,
            ..moments(None, 1, 2)
        };
        assert!(Split::of(&call(Some(unsaid), 9)).is_none());
        let mut late = call(Some(moments(None, 1, 2)), 9);
        late.result = CallResult::TimedOut;
        assert!(Split::of(&late).is_none());
        // Records that anyone may have written.
        assert!(Split::of(&call(Some(moments(Some(5), 1, 2)), 9)).is_none());
        assert!(Split::of(&call(Some(moments(None, 1, 99)), 9)).is_none());
    }

    #[test]
    fn a_mean_of_means_counts_every_call_once() {
        let split = |whole: u64| Split::of(&call(Some(moments(None, 0, 0)), whole)).unwrap();
        let blocks = [vec![split(10), split(20)], vec![split(60)]];
        let whole = mean(&blocks, |s| s.whole_ns);
        assert_eq!(
            (whole.mean, whole.least, whole.greatest),
            (30.0, 15.0, 60.0)
        );
    }
}
