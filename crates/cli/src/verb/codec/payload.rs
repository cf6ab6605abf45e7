//! `commute codec my.json`: the user's own payload.

use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use codec::Timed;
use codec::measure::{Rule, Taken, measure};
use link::Network;
use payload::{MAX_SAMPLE_BYTES, Sample, Schema};
use predict::packets::{self, Ip};
use predict::{Connection, Protocol};

use super::told::{Predicted, Told, ToldForm, ToldSample};
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
            .map(|sample| told(&schema, sample, &networks, args))
            .collect::<anyhow::Result<_>>()?,
    };
    match args.format {
        Format::Json => out::json(&told)?,
        Format::Csv => out::print(&told.csv()?)?,
        Format::Table => out::print(&told.text())?,
    }
    Ok(exit::PASS)
}

/// One sample in all forms.
fn told(
    schema: &Schema,
    sample: &Sample<'_>,
    networks: &[Network],
    args: &Args,
) -> anyhow::Result<ToldSample> {
    schema
        .check(sample)
        .with_context(|| format!("{} does not survive Protobuf", sample.name))?;
    let times = times(schema, sample, args)?;
    let forms = payload::encodings(schema, sample)?;
    let forms = forms.into_iter().map(|form| {
        let bytes = form.bytes.len();
        let h2 = packets::over_h2(bytes as u64, Ip::V6, MTU);
        let h3 = packets::over_h3(bytes as u64, Ip::V6, packets::LARGEST_DATAGRAM);
        let codec = form.codec();
        let [encode_ns, decode_ns] = [true, false].map(|encodes| {
            let found = times.iter().find(|t| t.0 == codec && t.1 == encodes);
            found.and_then(|t| t.2)
        });
        ToldForm {
            codec,
            bytes,
            h2_bytes: h2.bytes,
            h2_packets: h2.packets,
            h3_bytes: h3.bytes,
            h3_packets: h3.packets,
            encode_ns,
            decode_ns,
            predicted: predictions(networks, bytes as u64),
        }
    });
    Ok(ToldSample {
        name: sample.name.to_owned(),
        file_bytes: sample.json.len(),
        forms: forms.collect(),
    })
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
        let of = |connection| predict::predict(network, bytes, protocol, connection).ok();
        let (cold, warm) = (of(Connection::Cold), of(Connection::Warm));
        Predicted {
            network: network.name.clone(),
            protocol: match protocol {
                Protocol::H2 => "h2",
                Protocol::H3 => "h3",
            },
            cold_ns: cold.map(|p| p.total_ns),
            warm_ns: warm.map(|p| p.total_ns),
            excludes_random_loss: cold.or(warm).is_some_and(|p| p.excludes_random_loss),
        }
    };
    networks
        .iter()
        .flat_map(|network| [Protocol::H2, Protocol::H3].map(|protocol| both(network, protocol)))
        .collect()
}

/// Codec, whether it encodes, and the time of one.
type Times = Vec<(String, bool, Option<f64>)>;

fn times(schema: &Schema, sample: &Sample<'_>, args: &Args) -> anyhow::Result<Times> {
    if sample.json.len() > MOST_TIMED_BYTES {
        eprintln!(
            "{}: above {MOST_TIMED_BYTES} bytes encoding and decoding are not timed",
            sample.name
        );
        return Ok(Vec::new());
    }
    let mut work = payload::benchmarks(schema, sample)?;
    let rule = Rule {
        sample_ns: 2_000_000,
        rounds: usize::from(args.rounds),
        budget_ns: 2_000_000_000,
        seed: args.seed,
    };
    let subjects = work.len();
    let found = measure::<std::convert::Infallible>(
        subjects,
        rule,
        |subject, n| {
            let start = Instant::now();
            (work[subject].run)(n);
            Ok(Taken::from(Timed {
                elapsed_ns: start.elapsed().as_nanos() as u64,
                heap_bytes: None,
            }))
        },
        |_| true,
    );
    let times = found.into_iter().zip(&work).map(|(found, work)| {
        let Ok(found) = found;
        let time = found.time_ns().and_then(|t| t.value.known());
        (work.codec.clone(), work.encodes, time)
    });
    Ok(times.collect())
}

/// One with and one without much distance.
const DEFAULT_NETWORKS: [&str; 2] = ["4g-tether", "lighthouse-slow4g"];
const MTU: u32 = 1500;
/// A tree and ten forms of more would be slow to time and say nothing new.
const MOST_TIMED_BYTES: usize = 16 << 20;
