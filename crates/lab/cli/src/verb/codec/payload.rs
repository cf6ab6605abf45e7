//! `commute codec FILE`: the user's own payload.

use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use indicatif::ProgressBar;
use link::Network;
use payload::{Encoding, MAX_SAMPLE_BYTES, Sample, Schema};
use predict::packets::{self, Ip};
use predict::{Connection, Protocol};

use super::payload_report::{EncodingReport, PayloadReport, Predicted, SampleReport};
use super::payload_times::{self, OperationTime};
use super::{Args, Format};
use crate::{exit, out, progress};

/// A near network and a far one.
const DEFAULT_NETWORKS: [&str; 2] = ["4g-tether", "lighthouse-slow4g"];
const MTU: u32 = 1500;
const TICK: Duration = Duration::from_millis(100);
/// Larger samples are not timed: a tree and ten encodings take long and show nothing new.
const MAX_TIMED_BYTES: usize = 16 << 20;

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    let files: Vec<(String, Vec<u8>)> =
        (args.file.iter().map(|file| read(file))).collect::<anyhow::Result<_>>()?;
    let samples: Vec<Sample<'_>> = files
        .iter()
        .map(|(name, json)| Sample { name, json })
        .collect();
    let networks = networks(args)?;
    let bar = progress::status();
    bar.enable_steady_tick(TICK);
    progress::show(&bar, "inferring the schema");
    let schema = payload::infer(&samples)?;
    let report = PayloadReport {
        proto: schema.to_proto(),
        notes: schema.notes().iter().map(ToString::to_string).collect(),
        samples: samples
            .iter()
            .map(|sample| sample_report(&schema, sample, &networks, args, &bar))
            .collect::<anyhow::Result<_>>()?,
    };
    bar.finish_and_clear();
    if let Some(file) = &args.html {
        super::write(file, &report.html(&crate::origin::now()))?;
    }
    if args.format != Format::Human
        && let Some(remark) = report.timed_once()
    {
        out::note!("note: {remark}");
    }
    match args.format {
        Format::Json => out::json(&report)?,
        Format::Csv => out::print(&report.csv()?)?,
        Format::Human => out::text(&report.text())?,
    }
    Ok(exit::PASS)
}

/// Reports on one sample in all encodings.
fn sample_report(
    schema: &Schema,
    sample: &Sample<'_>,
    networks: &[Network],
    args: &Args,
    bar: &ProgressBar,
) -> anyhow::Result<SampleReport> {
    let name = sample.name;
    progress::show(bar, &format!("{name}: checking what Protobuf keeps"));
    schema
        .check(sample)
        .with_context(|| format!("{} does not survive Protobuf", sample.name))?;
    progress::show(bar, &format!("{name}: encoding"));
    let encodings = payload::encodings(schema, sample)?;
    let times = times(schema, sample, &encodings, args, bar)?;
    progress::show(bar, &format!("{name}: predicting transfer times"));
    let encodings = encodings.into_iter().map(|encoding| {
        let bytes = encoding.bytes.len();
        let h2 = packets::over_h2(bytes as u64, Ip::V6, MTU);
        let h3 = packets::over_h3(bytes as u64, Ip::V6, packets::LARGEST_DATAGRAM);
        let codec = encoding.codec();
        let [encode, decode] = [true, false].map(|encodes| {
            let time = times
                .iter()
                .find(|t| t.codec == codec && t.encodes == encodes);
            time.map(|t| t.time)
        });
        EncodingReport {
            codec,
            bytes,
            h2_bytes: h2.bytes,
            h2_packets: h2.packets,
            h3_bytes: h3.bytes,
            h3_packets: h3.packets,
            encode_ns: encode.and_then(|time| time.ns),
            decode_ns: decode.and_then(|time| time.ns),
            runs: encode.into_iter().chain(decode).map(|time| time.runs).min(),
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

fn networks(args: &Args) -> anyhow::Result<Vec<Network>> {
    let named: Vec<&str> = match &args.network[..] {
        [] => DEFAULT_NETWORKS.into(),
        named => named.iter().map(String::as_str).collect(),
    };
    let find = |name| crate::verb::networks::find(name, &args.allow_file);
    named.into_iter().map(find).collect()
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
    time: OperationTime,
}

/// Times encoding and decoding, and shows which of them is being timed.
fn times(
    schema: &Schema,
    sample: &Sample<'_>,
    encodings: &[Encoding],
    args: &Args,
    bar: &ProgressBar,
) -> anyhow::Result<Vec<Time>> {
    if sample.json.len() > MAX_TIMED_BYTES {
        out::note!(
            "{}: encoding and decoding are not timed above {MAX_TIMED_BYTES} bytes",
            sample.name
        );
        return Ok(Vec::new());
    }
    let mut benchmarks = payload::benchmarks(schema, encodings)?;
    let rounds = usize::from(args.rounds);
    let times = payload_times::times(benchmarks.len(), rounds, args.seed, |index, n| {
        let (name, codec) = (sample.name, &benchmarks[index].codec);
        progress::show(bar, &format!("{name}: timing {codec}"));
        let start = Instant::now();
        (benchmarks[index].run)(n);
        start.elapsed().as_nanos() as u64
    });
    let times = times.into_iter().zip(&benchmarks).map(|(time, of)| Time {
        codec: of.codec.clone(),
        encodes: of.encodes,
        time,
    });
    Ok(times.collect())
}
