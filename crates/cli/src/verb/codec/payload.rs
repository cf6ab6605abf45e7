//! `commute codec my.json`: the user's own payload.

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use codec::Timed;
use codec::measure::{Rule, measure};
use comfy_table::{CellAlignment, Table, presets};
use link::Network;
use payload::predict::{Connection, Protocol};
use payload::wire::{self, Ip};
use payload::{MAX_SAMPLE_BYTES, Sample, Schema};
use serde::Serialize;

use super::{Args, Format};
use crate::{exit, out};

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let files: Vec<(String, Vec<u8>)> =
        (args.file.iter().map(|file| read(file))).collect::<anyhow::Result<_>>()?;
    let samples: Vec<Sample<'_>> = files
        .iter()
        .map(|(name, json)| Sample { name, json })
        .collect();
    let networks = networks(&args.network)?;
    let schema = payload::infer(&samples)?;
    let told = Told {
        proto: schema.to_proto(),
        notes: schema.notes().iter().map(ToString::to_string).collect(),
        samples: samples
            .iter()
            .map(|sample| Told::of(&schema, sample, &networks, args))
            .collect::<anyhow::Result<_>>()?,
    };
    match args.format {
        Format::Json => out::json(&told)?,
        Format::Csv => out::print(&told.csv()?)?,
        Format::Table => out::print(&told.text())?,
    }
    Ok(exit::PASS)
}

/// Everything that is said of a payload.
#[derive(Serialize)]
struct Told {
    proto: String,
    notes: Vec<String>,
    samples: Vec<ToldSample>,
}

#[derive(Serialize)]
struct ToldSample {
    name: String,
    /// As it lies in the file, white space included.
    file_bytes: usize,
    forms: Vec<ToldForm>,
}

#[derive(Serialize)]
struct ToldForm {
    codec: &'static str,
    bytes: usize,
    h2_bytes: u64,
    h2_packets: u64,
    h3_bytes: u64,
    h3_packets: u64,
    /// Measured, with dynamic objects.
    encode_ns: Option<f64>,
    decode_ns: Option<f64>,
    predicted: Vec<Predicted>,
}

#[derive(Serialize)]
struct Predicted {
    network: String,
    protocol: &'static str,
    cold_ns: Option<u64>,
    warm_ns: Option<u64>,
    /// The network loses or delays by chance, which was left out.
    without_luck: bool,
}

impl Told {
    fn of(
        schema: &Schema,
        sample: &Sample<'_>,
        networks: &[Network],
        args: &Args,
    ) -> anyhow::Result<ToldSample> {
        schema
            .check(sample)
            .with_context(|| format!("{} does not survive Protobuf", sample.name))?;
        let times = times(schema, sample, args)?;
        let forms = payload::forms(schema, sample)?;
        let forms = forms.into_iter().map(|form| {
            let bytes = form.bytes.len();
            let h2 = wire::over_h2(bytes as u64, Ip::V6, MTU);
            let h3 = wire::over_h3(bytes as u64, Ip::V6, wire::LARGEST_DATAGRAM);
            let time = |encodes| {
                let found = times.iter().find(|t| (t.0, t.1) == (form.codec, encodes));
                found.and_then(|t| t.2)
            };
            ToldForm {
                codec: form.codec,
                bytes,
                h2_bytes: h2.bytes,
                h2_packets: h2.packets,
                h3_bytes: h3.bytes,
                h3_packets: h3.packets,
                encode_ns: time(true),
                decode_ns: time(false),
                predicted: predictions(networks, bytes as u64),
            }
        });
        Ok(ToldSample {
            name: sample.name.to_owned(),
            file_bytes: sample.json.len(),
            forms: forms.collect(),
        })
    }

    fn text(&self) -> String {
        let mut text = self.proto.clone();
        for note in &self.notes {
            text += &format!("\nnote: {note}");
        }
        for sample in &self.samples {
            text += &format!(
                "\n\n{} ({} bytes as it lies)\n{}",
                sample.name,
                sample.file_bytes,
                sample.grid()
            );
        }
        text += "\n\nBytes and packets on the wire: of one response, IP headers included (IPv6, MTU \
                 1500).\nEncode, decode: measured here with dynamic objects (JSON trees, Protobuf by \
                 reflection); generated code is faster, see `commute codec --message api-2kB`.\n\
                 Times on networks: predicted by known physics, on a connection in use / on a new \
                 one; docs/codecs.md holds predictions against measurements.\n";
        if self.samples.iter().any(ToldSample::without_luck) {
            text += "* without the loss or jitter of that network, which add to it.\n";
        }
        text
    }

    fn csv(&self) -> anyhow::Result<String> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record([
            "sample",
            "codec",
            "bytes",
            "h2_bytes",
            "h2_packets",
            "h3_bytes",
            "h3_packets",
            "encode_ns",
            "decode_ns",
            "network",
            "protocol",
            "cold_ns",
            "warm_ns",
            "without_luck",
        ])?;
        for sample in &self.samples {
            for form in &sample.forms {
                for predicted in &form.predicted {
                    let float = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.1}"));
                    let whole = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
                    out.write_record([
                        sample.name.clone(),
                        form.codec.to_owned(),
                        form.bytes.to_string(),
                        form.h2_bytes.to_string(),
                        form.h2_packets.to_string(),
                        form.h3_bytes.to_string(),
                        form.h3_packets.to_string(),
                        float(form.encode_ns),
                        float(form.decode_ns),
                        predicted.network.clone(),
                        predicted.protocol.to_owned(),
                        whole(predicted.cold_ns),
                        whole(predicted.warm_ns),
                        predicted.without_luck.to_string(),
                    ])?;
                }
            }
        }
        Ok(String::from_utf8(out.into_inner()?)?)
    }
}

impl ToldSample {
    fn grid(&self) -> Table {
        let mut grid = Table::new();
        grid.load_preset(presets::NOTHING);
        let mut head: Vec<String> = [
            "codec", "bytes", "of JSON", "H2 wire", "packets", "H3 wire", "packets", "encode",
            "decode",
        ]
        .map(String::from)
        .into();
        for predicted in self.forms.iter().take(1).flat_map(|form| &form.predicted) {
            let mark = if predicted.without_luck { "*" } else { "" };
            head.push(format!(
                "{} {}{mark}",
                predicted.network, predicted.protocol
            ));
        }
        grid.set_header(head);
        for column in grid.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let json = self.forms.first().map_or(1, |form| form.bytes);
        for form in &self.forms {
            let mut cells = vec![
                form.codec.to_owned(),
                form.bytes.to_string(),
                format!("{:.0} %", 100.0 * form.bytes as f64 / json as f64),
                form.h2_bytes.to_string(),
                form.h2_packets.to_string(),
                form.h3_bytes.to_string(),
                form.h3_packets.to_string(),
            ];
            let time = |ns: Option<f64>| ns.map_or("-".into(), codec::duration);
            cells.extend([form.encode_ns, form.decode_ns].map(time));
            cells.extend(form.predicted.iter().map(Predicted::text));
            grid.add_row(cells);
        }
        grid
    }

    fn without_luck(&self) -> bool {
        let mut predicted = self.forms.iter().flat_map(|form| &form.predicted);
        predicted.any(|predicted| predicted.without_luck)
    }
}

impl Predicted {
    fn text(&self) -> String {
        let time = |ns: Option<u64>| ns.map_or("-".into(), |ns| codec::duration(ns as f64));
        format!("{} / {}", time(self.warm_ns), time(self.cold_ns))
    }
}

fn read(file: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let name = file.display().to_string();
    let meta = std::fs::metadata(file).with_context(|| format!("cannot read {name}"))?;
    anyhow::ensure!(meta.is_file(), "{name} is not a file; give JSON files");
    // Told before it is in memory.
    anyhow::ensure!(
        meta.len() <= MAX_SAMPLE_BYTES as u64,
        "{name} has {} bytes, and {MAX_SAMPLE_BYTES} are the most that is read; cut it",
        meta.len()
    );
    let json = std::fs::read(file).with_context(|| format!("cannot read {name}"))?;
    Ok((name, json))
}

fn networks(named: &[String]) -> anyhow::Result<Vec<Network>> {
    let named: Vec<&str> = match named {
        [] => DEFAULT_NETWORKS.into(),
        named => named.iter().map(String::as_str).collect(),
    };
    named.into_iter().map(crate::verb::networks::find).collect()
}

fn predictions(networks: &[Network], bytes: u64) -> Vec<Predicted> {
    let both = |network: &Network, protocol| {
        let of = |connection| payload::predict(network, bytes, protocol, connection).ok();
        let (cold, warm) = (of(Connection::Cold), of(Connection::Warm));
        Predicted {
            network: network.name.clone(),
            protocol: match protocol {
                Protocol::H2 => "h2",
                Protocol::H3 => "h3",
            },
            cold_ns: cold.map(|p| p.total_ns),
            warm_ns: warm.map(|p| p.total_ns),
            without_luck: cold.or(warm).is_some_and(|p| p.without_luck),
        }
    };
    networks
        .iter()
        .flat_map(|network| [Protocol::H2, Protocol::H3].map(|protocol| both(network, protocol)))
        .collect()
}

/// Codec, whether it encodes, and the time of one.
type Times = Vec<(&'static str, bool, Option<f64>)>;

fn times(schema: &Schema, sample: &Sample<'_>, args: &Args) -> anyhow::Result<Times> {
    if sample.json.len() > MOST_TIMED_BYTES {
        eprintln!(
            "{}: above {MOST_TIMED_BYTES} bytes encoding and decoding are not timed",
            sample.name
        );
        return Ok(Vec::new());
    }
    let mut work = payload::work(schema, sample)?;
    let rule = Rule {
        sample_ns: 2_000_000,
        rounds: usize::from(args.rounds),
        seed: args.seed,
    };
    let subjects = work.len();
    let found = measure::<std::convert::Infallible>(
        subjects,
        rule,
        |subject, n| {
            let start = Instant::now();
            (work[subject].run)(n);
            Ok(Timed {
                elapsed_ns: start.elapsed().as_nanos() as u64,
                waited_ns: 0,
                heap_bytes: None,
            })
        },
        |_| true,
    );
    let times = found.into_iter().zip(&work).map(|(found, work)| {
        let Ok(found) = found;
        let time = found.time_ns(args.seed).and_then(|t| t.value.known());
        (work.codec, work.encodes, time)
    });
    Ok(times.collect())
}

/// One with and one without much distance.
const DEFAULT_NETWORKS: [&str; 2] = ["4g-tether", "lighthouse-slow4g"];
const MTU: u32 = 1500;
/// A tree and ten forms of more would be slow to time and say nothing new.
const MOST_TIMED_BYTES: usize = 16 << 20;
