//! `commute codec FILE`: the user's own payload.

use std::io::Read as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Context as _;
use codec::Timed;
use codec::measure::{Measurement, SamplingPlan, measure};
use link::Network;
use payload::{MAX_SAMPLE_BYTES, Sample, Schema};
use predict::packets::{self, Ip};
use predict::{Connection, Protocol};

use super::payload_report::{EncodingReport, PayloadReport, Predicted, SampleReport};
use super::{Args, Format};
use crate::{exit, out};

/// A near network and a far one.
const DEFAULT_NETWORKS: [&str; 2] = ["4g-tether", "lighthouse-slow4g"];
const MTU: u32 = 1500;
/// Larger samples are not timed: a tree and ten encodings take long and show nothing new.
const MAX_TIMED_BYTES: usize = 16 << 20;

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let files: Vec<(String, Vec<u8>)> =
        (args.file.iter().map(|file| read(file))).collect::<anyhow::Result<_>>()?;
    let samples: Vec<Sample<'_>> = files
        .iter()
        .map(|(name, json)| Sample { name, json })
        .collect();
    let networks = networks(&args.network)?;
    let schema = payload::infer(&samples)?;
    let report = PayloadReport {
        proto: schema.to_proto(),
        notes: schema.notes().iter().map(ToString::to_string).collect(),
        samples: samples
            .iter()
            .map(|sample| sample_report(&schema, sample, &networks, args))
            .collect::<anyhow::Result<_>>()?,
    };
    if let Some(file) = &args.html {
        super::write(file, &report.html(&crate::origin::now()))?;
    }
    match args.format {
        Format::Json => out::json(&report)?,
        Format::Csv => out::print(&report.csv()?)?,
        Format::Human => out::print(&report.text())?,
    }
    Ok(exit::PASS)
}

/// Reports on one sample in all encodings.
fn sample_report(
    schema: &Schema,
    sample: &Sample<'_>,
    networks: &[Network],
    args: &Args,
) -> anyhow::Result<SampleReport> {
    schema
        .check(sample)
        .with_context(|| format!("{} does not survive Protobuf", sample.name))?;
    let times = times(schema, sample, args)?;
    let encodings = payload::encodings(schema, sample)?;
    let encodings = encodings.into_iter().map(|encoding| {
        let bytes = encoding.bytes.len();
        let h2 = packets::over_h2(bytes as u64, Ip::V6, MTU);
        let h3 = packets::over_h3(bytes as u64, Ip::V6, packets::LARGEST_DATAGRAM);
        let codec = encoding.codec();
        let [encode_ns, decode_ns] = [true, false].map(|encodes| {
            let time = times
                .iter()
                .find(|t| t.codec == codec && t.encodes == encodes);
            time.and_then(|t| t.ns)
        });
        EncodingReport {
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
    Ok(SampleReport {
        name: sample.name.to_owned(),
        file_bytes: sample.json.len(),
        encodings: encodings.collect(),
    })
}

fn read(file: &Path) -> anyhow::Result<(String, Vec<u8>)> {
    let name = file.display().to_string();
    if file == Path::new("-") {
        return from_stdin();
    }
    let failed = |e| exit::file_error(format!("cannot read {name}"), e);
    let meta = std::fs::metadata(file).map_err(failed)?;
    if !meta.is_file() {
        return Err(exit::usage(format!(
            "{name} is not a file; give JSON files"
        )));
    }
    if file
        .extension()
        .is_some_and(|extension| extension == "toml")
    {
        return Err(exit::usage(format!(
            "{name} is TOML, and `commute codec` takes JSON; `commute run {name} --dry-run` reads a study"
        )));
    }
    // Checked before the file is in memory.
    anyhow::ensure!(
        meta.len() <= MAX_SAMPLE_BYTES as u64,
        "{name} has {} bytes; the limit is {MAX_SAMPLE_BYTES}",
        meta.len()
    );
    let json = std::fs::read(file).map_err(failed)?;
    Ok((name, json))
}

fn from_stdin() -> anyhow::Result<(String, Vec<u8>)> {
    let mut json = Vec::new();
    let mut input = std::io::stdin().take(MAX_SAMPLE_BYTES as u64 + 1);
    input
        .read_to_end(&mut json)
        .context("cannot read standard input")?;
    Ok(("standard input".to_owned(), json))
}

fn networks(named: &[String]) -> anyhow::Result<Vec<Network>> {
    let named: Vec<&str> = match named {
        [] => DEFAULT_NETWORKS.into(),
        named => named.iter().map(String::as_str).collect(),
    };
    named.into_iter().map(crate::verb::networks::find).collect()
}

fn predictions(networks: &[Network], bytes: u64) -> Vec<Predicted> {
    let cold_and_warm = |network: &Network, protocol: Protocol| {
        let total = |connection| predict::predict_about(network, bytes, protocol, connection).ok();
        let (cold, warm) = (total(Connection::Cold), total(Connection::Warm));
        Predicted {
            network: network.name.clone(),
            protocol: protocol.name(),
            cold_ns: cold.map(|p| p.total_ns),
            warm_ns: warm.map(|p| p.total_ns),
            excludes_random_loss: cold.or(warm).is_some_and(|p| p.excludes_random_loss),
        }
    };
    networks
        .iter()
        .flat_map(|network| Protocol::ALL.map(|protocol| cold_and_warm(network, protocol)))
        .collect()
}

/// The measured time of one operation.
struct Time {
    codec: String,
    encodes: bool,
    ns: Option<f64>,
}

fn times(schema: &Schema, sample: &Sample<'_>, args: &Args) -> anyhow::Result<Vec<Time>> {
    if sample.json.len() > MAX_TIMED_BYTES {
        out::note!(
            "{}: encoding and decoding are not timed above {MAX_TIMED_BYTES} bytes",
            sample.name
        );
        return Ok(Vec::new());
    }
    let mut benchmarks = payload::benchmarks(schema, sample)?;
    let plan = SamplingPlan {
        sample_ns: 2_000_000,
        rounds: usize::from(args.rounds),
        budget_ns: 2_000_000_000,
        seed: args.seed,
    };
    let series = measure::<std::convert::Infallible>(
        benchmarks.len(),
        plan,
        |subject, n| {
            let start = Instant::now();
            (benchmarks[subject].run)(n);
            Ok(Measurement::from(Timed {
                elapsed_ns: start.elapsed().as_nanos() as u64,
                heap_bytes: None,
            }))
        },
        |_| true,
    );
    let times = series.into_iter().zip(&benchmarks).map(|(series, of)| {
        let Ok(series) = series;
        Time {
            codec: of.codec.clone(),
            encodes: of.encodes,
            ns: series.time_ns().and_then(|t| t.value.known()),
        }
    });
    Ok(times.collect())
}
