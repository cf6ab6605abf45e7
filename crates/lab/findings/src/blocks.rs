//! `blocks.csv`: the values by block, one series per row and one block per column, for people and
//! spreadsheets.
//!
//! A number that is known by its bounds only, e.g. because requests timed out, is written as
//! `low..high`, with an infinite bound left out. A block without the value is empty. Times are in ns,
//! bytes in bytes, energies in J; `margin` is in the unit of the difference, `speedup` a factor.

use std::collections::{BTreeMap, BTreeSet};

use report::{BlockValue, ByBlock, Kind, Place, Values};
use stats::Span;

use crate::FindingsError;

/// What precedes the blocks in each row.
const HEAD: [&str; 7] = [
    "kind", "network", "measure", "arm", "against", "value", "margin",
];

const MEDIAN: &str = "median";
const DIFFERENCE: &str = "difference";
const SPEEDUP: &str = "speedup";

/// Returns the decimals that are kept: of times and bytes, tenths, since a block's median lies between
/// two of them; of energies, µJ.
fn decimals(kind: Kind) -> i32 {
    match kind {
        Kind::Time | Kind::Bytes | Kind::Part => 1,
        Kind::Energy => 6,
    }
}

/// Decimals of factors that are kept.
const FACTOR_DECIMALS: i32 = 5;

/// Returns the file's text.
pub(crate) fn write(all: &ByBlock) -> String {
    let medians = all.medians.values().flat_map(BTreeMap::keys);
    let pairs = all.pairs.values().flat_map(|v| v.blocks.keys());
    let blocks: BTreeSet<u32> = medians.chain(pairs).copied().collect();
    let head = HEAD.iter().map(|name| (*name).to_owned());
    let mut rows: Vec<Vec<String>> = vec![
        head.chain(blocks.iter().map(|b| format!("block {b}")))
            .collect(),
    ];
    let mut row = |place: &Place, rest: [&str; 3], of: &dyn Fn(u32) -> Option<String>| {
        let [against, value, margin] = rest;
        let head = [
            place.kind.name(),
            &place.network,
            &place.measure,
            &place.arm,
            against,
            value,
            margin,
        ];
        let values = blocks.iter().map(|b| of(*b).unwrap_or_default());
        // A number or `low..high` is no formula, a name may be one.
        rows.push(head.into_iter().map(neutral::cell).chain(values).collect());
    };
    for (place, by_block) in &all.medians {
        row(place, ["", MEDIAN, ""], &|b| {
            Some(span(by_block.get(&b)?, decimals(place.kind)))
        });
    }
    for ((place, other), values) in &all.pairs {
        let margin = number(values.margin, decimals(place.kind));
        row(place, [other, DIFFERENCE, &margin], &|b| {
            let difference = values.blocks.get(&b)?.difference;
            Some(span(&difference, decimals(place.kind)))
        });
        row(place, [other, SPEEDUP, ""], &|b| {
            Some(span(&values.blocks.get(&b)?.speedup?, FACTOR_DECIMALS))
        });
    }
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .write_record(row)
            .expect("rows of one length are written to memory");
    }
    let bytes = writer.into_inner().expect("memory takes all bytes");
    String::from_utf8(bytes).expect("made of strings")
}

/// Reads the file's text; `file` names it in errors.
pub(crate) fn parse(file: &str, text: &str) -> Result<ByBlock, FindingsError> {
    let error = |line: usize, message: &str| FindingsError::Data {
        file: format!("{file}:{line}"),
        message: message.to_owned(),
    };
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut rows = reader.records().enumerate().map(|(i, row)| match row {
        Ok(row) => Ok((i + 1, row)),
        Err(e) => Err(error(i + 1, &e.to_string())),
    });
    let (_, head) = rows.next().ok_or_else(|| error(1, "the file is empty"))??;
    if !head.iter().take(HEAD.len()).eq(HEAD) {
        return Err(error(
            1,
            &format!("expected the columns {}", HEAD.join(",")),
        ));
    }
    let block = |name: &str| name.strip_prefix("block ")?.parse().ok();
    let blocks: Option<Vec<u32>> = head.iter().skip(HEAD.len()).map(block).collect();
    let blocks = blocks.ok_or_else(|| error(1, "expected columns named `block N`"))?;
    let mut all = ByBlock::default();
    let name = neutral::from_cell;
    for row in rows {
        let (line, row) = row?;
        let [kind, network, measure, arm, against, value, margin] =
            std::array::from_fn(|i| row.get(i).unwrap_or_default());
        let place = Place {
            kind: Kind::ALL
                .into_iter()
                .find(|k| k.name() == kind)
                .ok_or_else(|| error(line, "unknown kind"))?,
            network: name(network),
            measure: name(measure),
            arm: name(arm),
        };
        let mut spans: BTreeMap<u32, Span> = BTreeMap::new();
        for (block, text) in blocks.iter().zip(row.iter().skip(HEAD.len())) {
            if !text.is_empty() {
                let span =
                    span_of(text).ok_or_else(|| error(line, "expected a number or low..high"))?;
                spans.insert(*block, span);
            }
        }
        let pair = (place, name(against));
        match value {
            MEDIAN => {
                all.medians.insert(pair.0, spans);
            }
            DIFFERENCE => {
                let margin = margin
                    .parse()
                    .map_err(|_| error(line, "expected a margin"))?;
                let value = |(b, difference)| {
                    (
                        b,
                        BlockValue {
                            difference,
                            speedup: None,
                        },
                    )
                };
                let blocks = spans.into_iter().map(value).collect();
                all.pairs.insert(pair, Values { margin, blocks });
            }
            SPEEDUP => {
                let values = all.pairs.get_mut(&pair);
                let values =
                    values.ok_or_else(|| error(line, "a speedup precedes its difference"))?;
                for (block, factor) in spans {
                    if let Some(value) = values.blocks.get_mut(&block) {
                        value.speedup = Some(factor);
                    }
                }
            }
            _ => return Err(error(line, "expected median, difference or speedup")),
        }
    }
    Ok(all)
}

fn span(span: &Span, decimals: i32) -> String {
    match span.known() {
        Some(value) => number(value, decimals),
        None => format!(
            "{}..{}",
            number(span.lo, decimals),
            number(span.hi, decimals)
        ),
    }
}

/// Formats a number as short as it can be; an infinite one is empty.
fn number(value: f64, decimals: i32) -> String {
    let unit = 10f64.powi(decimals);
    match value.is_finite() {
        // Adding zero turns -0 into 0.
        true => format!("{}", (value * unit).round() / unit + 0.0),
        false => String::new(),
    }
}

fn span_of(text: &str) -> Option<Span> {
    let end = |text: &str, open: f64| match text.is_empty() {
        true => Some(open),
        false => text.parse().ok().filter(|x: &f64| x.is_finite()),
    };
    match text.split_once("..") {
        Some((lo, hi)) => Some(Span {
            lo: end(lo, f64::NEG_INFINITY)?,
            hi: end(hi, f64::INFINITY)?,
        }),
        None => end(text, f64::NAN).filter(|x| !x.is_nan()).map(Span::exact),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(kind: Kind, measure: &str) -> Place {
        Place {
            kind,
            network: "4g, train".into(),
            measure: measure.into(),
            arm: "=a \"b\";@c".into(),
        }
    }

    /// Timeouts and blocks that lack an arm survive.
    #[test]
    fn what_is_written_is_read_again() {
        let (at_least, open) = (
            Span::at_least(2e10),
            Span {
                lo: f64::NEG_INFINITY,
                hi: f64::INFINITY,
            },
        );
        let mut all = ByBlock::default();
        let medians = BTreeMap::from([(0, Span::exact(1_234_567.5)), (2, at_least)]);
        all.medians
            .insert(place(Kind::Time, "first request"), medians);
        let joules = BTreeMap::from([(1, Span::exact(0.0312))]);
        all.medians.insert(place(Kind::Energy, "LTE"), joules);
        let value = |difference, speedup| BlockValue {
            difference,
            speedup,
        };
        let blocks = BTreeMap::from([
            (
                0,
                value(Span::exact(-12_000_000.0), Some(Span::exact(1.25))),
            ),
            (
                1,
                value(
                    Span {
                        lo: f64::NEG_INFINITY,
                        hi: -7.0,
                    },
                    Some(Span { lo: 0.0, hi: 0.5 }),
                ),
            ),
            (2, value(open, None)),
        ]);
        let values = Values {
            margin: 2_000_000.0,
            blocks,
        };
        let pair = (place(Kind::Part, "encode, list"), "other".to_owned());
        all.pairs.insert(pair, values);
        let text = write(&all);
        assert_eq!(parse("blocks.csv", &text).unwrap(), all);
        assert!(
            text.contains(",median,,1234567.5,,20000000000..\n"),
            "{text}"
        );
        // A spreadsheet must not take the arm for a formula.
        assert!(text.contains(",\"'=a \"\"b\"\";'@c\","), "{text}");
        assert!(text.contains(",-12000000,"), "{text}");
    }

    #[test]
    fn errors_name_file_and_line() {
        let head = "kind,network,measure,arm,against,value,margin,block 0\n";
        for (text, error) in [
            ("", "f:1: the file is empty"),
            ("kind\n", "f:1: expected the columns"),
            ("time,n,m,a,,mean,,1", "f:2: expected median"),
            ("x,n,m,a,,median,,1", "f:2: unknown kind"),
            ("time,n,m,a,,median,,1..x", "f:2: expected a number"),
            ("time,n,m,a,,median,,inf", "f:2: expected a number"),
            ("time,n,m,a,b,speedup,,1", "f:2: a speedup precedes"),
            ("time,n,m,a,b,difference,,1", "f:2: expected a margin"),
        ] {
            let text = match text.starts_with("kind") || text.is_empty() {
                true => text.to_owned(),
                false => format!("{head}{text}\n"),
            };
            let found = parse("f", &text).unwrap_err().to_string();
            assert!(found.starts_with(error), "{found}");
        }
    }
}
