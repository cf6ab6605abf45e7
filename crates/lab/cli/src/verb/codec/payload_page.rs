//! The report on a payload as a page.

use codec_bench::duration;
use maud::{Markup, html};
use page::{Document, Dot, Origin, TIME, dots, figures, text};

use super::payload_report::{EncodingReport, METHOD, PayloadReport, SampleReport};

impl PayloadReport {
    /// Returns the report as one HTML file that loads nothing.
    pub(super) fn html(&self, origin: &Origin) -> String {
        let sample = |i: usize| format!("sample-{i}");
        let main = html! {
            @for (i, of) in self.samples.iter().enumerate() {
                section id=(sample(i)) {
                    h2 { (of.name) }
                    p.numbers { (of.file_bytes) " B on disk" }
                    (of.plots())
                    (of.tables())
                }
            }
            section id="notes" {
                h2 { "Notes" }
                ul.remarks {
                    @for note in &self.notes { li { (note) } }
                    li { (METHOD) }
                    @if let Some(remark) = self.timed_once() { li { (remark) } }
                    @if self.samples.iter().any(SampleReport::excludes_random_loss) {
                        li { "*: without that network's random loss and jitter, which would add to it." }
                    }
                }
            }
            section id="schema" {
                h2 { "Schema" }
                pre tabindex="0" role="region" aria-label="The schema as .proto" { (self.proto) }
            }
        };
        let samples = self.samples.iter().enumerate();
        let samples = samples.map(|(i, of)| (sample(i), of.name.clone()));
        let others = [("notes", "Notes"), ("schema", "Schema")];
        let others = others.map(|(id, title)| (id.to_owned(), title.to_owned()));
        Document {
            title: "commute codec: your payload",
            head: origin.head("Your payload in every encoding"),
            contents: samples.chain(others).collect(),
            main,
        }
        .into_html()
    }
}

impl SampleReport {
    /// Plots what each encoding takes on this machine, and on each network with each protocol.
    fn plots(&self) -> Markup {
        let timed = |e: &EncodingReport| {
            let times = [
                ("encode", e.encode_ns, false),
                ("decode", e.decode_ns, true),
            ];
            times.into_iter().filter_map(dot).collect()
        };
        let mut plots =
            vec![self.plot("on this machine", "Filled: encode; hollow: decode.", &timed)];
        let predicted = self.encodings.first().map_or(&[][..], |e| &e.predicted);
        for (i, of) in predicted.iter().enumerate() {
            let times = |e: &EncodingReport| {
                let ns = |ns: Option<u64>| ns.map(|ns| ns as f64);
                let of = &e.predicted[i];
                let times = [
                    ("warm", ns(of.warm_ns), false),
                    ("cold", ns(of.cold_ns), true),
                ];
                times.into_iter().filter_map(dot).collect()
            };
            let place = format!("{}, predicted", of.place());
            plots.push(self.plot(&place, "Filled: warm connection; hollow: cold.", &times));
        }
        figures(&Markup::default(), &plots)
    }

    fn plot(&self, place: &str, about: &str, of: &dyn Fn(&EncodingReport) -> Vec<Dot>) -> Markup {
        let rows: Vec<page::Row> = (self.encodings.iter())
            .map(|encoding| page::Row {
                name: encoding.codec.clone(),
                words: format!("{} B", encoding.bytes),
                color: 0,
                dots: of(encoding),
            })
            .collect();
        let title = format!("{}: {place}", self.name);
        dots(&title, about, &rows, "time (logarithmic)", TIME)
    }

    /// Returns the figures: sizes and times here, then the predicted times.
    fn tables(&self) -> Markup {
        let json = self.encodings.first().map_or(1, |encoding| encoding.bytes);
        let measured = |e: &EncodingReport| {
            let us = |ns: Option<f64>| ns.map_or("-".to_owned(), |ns| format!("{:.1}", ns / 1e3));
            vec![
                text(&e.codec),
                html! { (e.bytes) },
                html! { (format!("{:.0}", 100.0 * e.bytes as f64 / json as f64)) },
                html! { (e.h2_bytes) },
                html! { (e.h2_packets) },
                html! { (e.h3_bytes) },
                html! { (e.h3_packets) },
                text(us(e.encode_ns)),
                text(us(e.decode_ns)),
            ]
        };
        let headings = [
            "Codec",
            "bytes",
            "% of JSON",
            "HTTP/2 on the wire, B",
            "packets",
            "HTTP/3 on the wire, B",
            "packets",
            "encode, µs",
            "decode, µs",
        ];
        let rows: Vec<Vec<Markup>> = self.encodings.iter().map(measured).collect();
        let sizes = page::table(
            &format!("{}: sizes, and times on this machine", self.name),
            &headings.map(text),
            &rows,
        );
        let ms =
            |ns: Option<u64>| ns.map_or("-".to_owned(), |ns| format!("{:.1}", ns as f64 / 1e6));
        let rows: Vec<Vec<Markup>> = (self.encodings.iter())
            .map(|e| {
                let times = e.predicted.iter().flat_map(|of| [of.warm_ns, of.cold_ns]);
                std::iter::once(text(&e.codec))
                    .chain(times.map(|ns| text(ms(ns))))
                    .collect()
            })
            .collect();
        let places = self.encodings.iter().take(1).flat_map(|e| &e.predicted);
        let headings =
            places.flat_map(|of| ["warm", "cold"].map(|state| format!("{}, {state}", of.place())));
        let headings: Vec<Markup> = std::iter::once("Codec".to_owned())
            .chain(headings)
            .map(text)
            .collect();
        let predicted = page::table(
            &format!("{}: predicted times, ms", self.name),
            &headings,
            &rows,
        );
        html! { (sizes) (predicted) }
    }
}

fn dot((word, ns, hollow): (&str, Option<f64>, bool)) -> Option<Dot> {
    let ns = ns.filter(|ns| *ns > 0.0)?;
    Some(Dot {
        value: ns,
        ends: [ns, ns],
        hollow,
        title: format!("{word} {}", duration(ns)),
    })
}
