//! The report on a payload as text and CSV; `payload_page` has the page. As JSON it is the struct itself.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// How to read the figures.
pub(super) const METHOD: &str = "Bytes and packets on the wire: one response, IP headers included (IPv6, MTU \
    1500).\nEncode, decode: measured on this machine with dynamic objects (JSON trees, Protobuf by \
    reflection);\ngenerated code is faster, see `commute codec --message api-2kB`.\nTimes on networks: \
    modelled from round-trip time, rate, queue and slow start; warm / cold connection.\n\
    docs/explanation/predicted-times.md compares predictions with measurements.";

/// The schema, its notes, and the costs of each sample.
#[derive(Serialize)]
pub(super) struct PayloadReport {
    /// The inferred schema as .proto text.
    pub(super) proto: String,
    pub(super) notes: Vec<String>,
    pub(super) samples: Vec<SampleReport>,
}

#[derive(Serialize)]
pub(super) struct SampleReport {
    pub(super) name: String,
    /// The size of the file, white space included.
    pub(super) file_bytes: usize,
    pub(super) encodings: Vec<EncodingReport>,
}

#[derive(Serialize)]
pub(super) struct EncodingReport {
    pub(super) codec: String,
    pub(super) bytes: usize,
    pub(super) h2_bytes: u64,
    pub(super) h2_packets: u64,
    pub(super) h3_bytes: u64,
    pub(super) h3_packets: u64,
    /// Measured with dynamic objects; absent if the sample is too large to be timed.
    pub(super) encode_ns: Option<f64>,
    /// As `encode_ns`.
    pub(super) decode_ns: Option<f64>,
    /// How often encoding and decoding were run, whichever was run less; absent as `encode_ns`.
    pub(super) runs: Option<u64>,
    pub(super) predicted: Vec<Predicted>,
}

#[derive(Serialize)]
pub(super) struct Predicted {
    pub(super) network: String,
    pub(super) protocol: &'static str,
    /// Absent if the network blocks the protocol.
    pub(super) cold_ns: Option<u64>,
    /// Absent if the network blocks the protocol.
    pub(super) warm_ns: Option<u64>,
    /// The network has random loss or jitter, which the prediction leaves out.
    pub(super) excludes_random_loss: bool,
}

impl PayloadReport {
    /// Names the samples that are too large to be timed more than once.
    pub(super) fn timed_once(&self) -> Option<String> {
        let is_once = |sample: &&SampleReport| sample.encodings.iter().any(|e| e.runs == Some(1));
        let samples = self.samples.iter().filter(is_once);
        let names: Vec<&str> = samples.map(|sample| sample.name.as_str()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "{}: each operation was timed once; differences of a few times 10 % mean nothing",
                names.join(", ")
            )
        })
    }

    pub(super) fn text(&self) -> String {
        let mut text = self.proto.clone();
        for note in &self.notes {
            text += &format!("\nnote: {note}");
        }
        for sample in &self.samples {
            text += &format!(
                "\n\n{} ({} bytes on disk)\n{}",
                sample.name,
                sample.file_bytes,
                sample.grid()
            );
        }
        text += &format!("\n\n{METHOD}\n");
        if let Some(remark) = self.timed_once() {
            text += &format!("{remark}\n");
        }
        if self.samples.iter().any(SampleReport::excludes_random_loss) {
            text += "* without that network's random loss and jitter, which would add to it.\n";
        }
        text
    }

    pub(super) fn csv(&self) -> anyhow::Result<String> {
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
            "runs",
            "network",
            "protocol",
            "cold_ns",
            "warm_ns",
            "excludes_random_loss",
        ])?;
        for sample in &self.samples {
            for encoding in &sample.encodings {
                for predicted in &encoding.predicted {
                    let float = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.1}"));
                    let whole = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
                    let row = [
                        sample.name.clone(),
                        encoding.codec.clone(),
                        encoding.bytes.to_string(),
                        encoding.h2_bytes.to_string(),
                        encoding.h2_packets.to_string(),
                        encoding.h3_bytes.to_string(),
                        encoding.h3_packets.to_string(),
                        float(encoding.encode_ns),
                        float(encoding.decode_ns),
                        whole(encoding.runs),
                        predicted.network.clone(),
                        predicted.protocol.to_owned(),
                        whole(predicted.cold_ns),
                        whole(predicted.warm_ns),
                        predicted.excludes_random_loss.to_string(),
                    ];
                    out.write_record(row.map(|text| neutral::cell(&text)))?;
                }
            }
        }
        Ok(String::from_utf8(out.into_inner()?)?)
    }
}

impl SampleReport {
    fn grid(&self) -> Table {
        let mut grid = Table::new();
        grid.load_preset(presets::NOTHING);
        let mut header: Vec<String> = [
            "codec", "bytes", "of JSON", "H2 wire", "packets", "H3 wire", "packets", "encode",
            "decode",
        ]
        .map(String::from)
        .into();
        let first = self.encodings.iter().take(1);
        for predicted in first.flat_map(|encoding| &encoding.predicted) {
            header.push(predicted.place());
        }
        grid.set_header(header);
        for column in grid.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let json = self.encodings.first().map_or(1, |encoding| encoding.bytes);
        for encoding in &self.encodings {
            let mut cells = vec![
                encoding.codec.clone(),
                encoding.bytes.to_string(),
                format!("{:.0} %", 100.0 * encoding.bytes as f64 / json as f64),
                encoding.h2_bytes.to_string(),
                encoding.h2_packets.to_string(),
                encoding.h3_bytes.to_string(),
                encoding.h3_packets.to_string(),
            ];
            let time = |ns: Option<f64>| ns.map_or("-".into(), codec_bench::duration);
            cells.extend([encoding.encode_ns, encoding.decode_ns].map(time));
            cells.extend(encoding.predicted.iter().map(Predicted::text));
            grid.add_row(cells);
        }
        grid
    }

    pub(super) fn excludes_random_loss(&self) -> bool {
        let mut predicted = self
            .encodings
            .iter()
            .flat_map(|encoding| &encoding.predicted);
        predicted.any(|predicted| predicted.excludes_random_loss)
    }
}

impl Predicted {
    /// Returns the network and the protocol, marked where the prediction leaves something out.
    pub(super) fn place(&self) -> String {
        let mark = if self.excludes_random_loss { "*" } else { "" };
        format!("{} {}{mark}", self.network, self.protocol)
    }

    fn text(&self) -> String {
        let time = |ns: Option<u64>| ns.map_or("-".into(), |ns| codec_bench::duration(ns as f64));
        format!("{} / {}", time(self.warm_ns), time(self.cold_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(runs: u64) -> PayloadReport {
        PayloadReport {
            proto: String::new(),
            notes: Vec::new(),
            samples: vec![SampleReport {
                name: "orders.json".to_owned(),
                file_bytes: 8_000_000,
                encodings: vec![EncodingReport {
                    codec: "json".to_owned(),
                    bytes: 8_000_000,
                    h2_bytes: 8_200_000,
                    h2_packets: 5_700,
                    h3_bytes: 8_300_000,
                    h3_packets: 6_900,
                    encode_ns: Some(90e6),
                    decode_ns: Some(120e6),
                    runs: Some(runs),
                    predicted: vec![Predicted {
                        network: "lan".to_owned(),
                        protocol: "h2",
                        cold_ns: None,
                        warm_ns: None,
                        excludes_random_loss: false,
                    }],
                }],
            }],
        }
    }

    #[test]
    fn single_runs_are_not_shown_like_medians() {
        let remark = "orders.json: each operation was timed once";
        for (runs, is_remarked) in [(1, true), (19, false)] {
            let report = report(runs);
            assert_eq!(report.text().contains(remark), is_remarked);
            let csv = report.csv().unwrap();
            assert!(csv.contains(&format!(",120000000.0,{runs},lan,")), "{csv}");
        }
    }
}
