//! What is said of a payload: as text and CSV; JSON is the struct itself.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

/// Everything that is said of a payload.
#[derive(Serialize)]
pub(super) struct Told {
    pub(super) proto: String,
    pub(super) notes: Vec<String>,
    pub(super) samples: Vec<ToldSample>,
}

#[derive(Serialize)]
pub(super) struct ToldSample {
    pub(super) name: String,
    /// As it lies in the file, white space included.
    pub(super) file_bytes: usize,
    pub(super) forms: Vec<ToldForm>,
}

#[derive(Serialize)]
pub(super) struct ToldForm {
    pub(super) codec: String,
    pub(super) bytes: usize,
    pub(super) h2_bytes: u64,
    pub(super) h2_packets: u64,
    pub(super) h3_bytes: u64,
    pub(super) h3_packets: u64,
    /// Measured, with dynamic objects.
    pub(super) encode_ns: Option<f64>,
    pub(super) decode_ns: Option<f64>,
    pub(super) predicted: Vec<Predicted>,
}

#[derive(Serialize)]
pub(super) struct Predicted {
    pub(super) network: String,
    pub(super) protocol: &'static str,
    pub(super) cold_ns: Option<u64>,
    pub(super) warm_ns: Option<u64>,
    /// The network loses or delays by chance, which was left out.
    pub(super) excludes_random_loss: bool,
}

impl Told {
    pub(super) fn text(&self) -> String {
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
        if self.samples.iter().any(ToldSample::excludes_random_loss) {
            text += "* without the loss or jitter of that network, which add to it.\n";
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
            "network",
            "protocol",
            "cold_ns",
            "warm_ns",
            "excludes_random_loss",
        ])?;
        for sample in &self.samples {
            for form in &sample.forms {
                for predicted in &form.predicted {
                    let float = |n: Option<f64>| n.map_or(String::new(), |n| format!("{n:.1}"));
                    let whole = |n: Option<u64>| n.map_or(String::new(), |n| n.to_string());
                    out.write_record([
                        sample.name.clone(),
                        form.codec.clone(),
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
                        predicted.excludes_random_loss.to_string(),
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
            let mark = if predicted.excludes_random_loss {
                "*"
            } else {
                ""
            };
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
                form.codec.clone(),
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

    fn excludes_random_loss(&self) -> bool {
        let mut predicted = self.forms.iter().flat_map(|form| &form.predicted);
        predicted.any(|predicted| predicted.excludes_random_loss)
    }
}

impl Predicted {
    fn text(&self) -> String {
        let time = |ns: Option<u64>| ns.map_or("-".into(), |ns| codec::duration(ns as f64));
        format!("{} / {}", time(self.warm_ns), time(self.cold_ns))
    }
}
