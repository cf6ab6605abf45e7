//! Where the time of requests went, for a terminal.

use comfy_table::{CellAlignment, Table, presets};
use explain::Part;

use crate::summary::why::{ArmParts, Why, WhyMeasure};
use crate::words::part::part_words;
use crate::words::text::{INDENT, plain, wrapped};

const NOTE: &str = "Means in ms over the middle half of the requests; of round trips, their number follows. Each \
    request's parts sum to its time. Experimental: docs/reference/parts.md lists where a wrong cause is named.";

impl Why {
    /// Returns the tables and sentences for a terminal that is `width` characters wide; those of one network and of
    /// some arms if these are named. Arms are compared with `against`, or with the baseline.
    pub fn human(&self, width: usize, against: Option<&str>) -> String {
        let against = against.unwrap_or(&self.baseline);
        let mut out = String::new();
        for measure in &self.measures {
            out += &measure.human(width, against);
        }
        out + &wrapped(NOTE, "", width)
    }
}

impl WhyMeasure {
    fn human(&self, width: usize, against: &str) -> String {
        let rtt_ms = self.rtt_ns as f64 / 1e6;
        let heading = format!(
            "{}, {}: round trip {rtt_ms:.0} ms",
            self.network, self.label
        );
        let mut out = format!("{}\n", plain(&heading));
        let mut table = Table::new();
        let names = self.arms.iter().map(|arm| plain(&arm.arm));
        let header: Vec<String> = [String::new()].into_iter().chain(names).collect();
        table.load_preset(presets::NOTHING).set_header(header);
        for part in Part::ALL {
            if self.arms.iter().any(|arm| arm.part_ns(part) >= 5e4) {
                let figure = |arm: &ArmParts| self.figure(part, arm.part_ns(part));
                let row = self.arms.iter().map(figure);
                table.add_row([part_words(part).to_owned()].into_iter().chain(row));
            }
        }
        let totals = self.arms.iter().map(|arm| ms(arm.time_ns));
        table.add_row(["together".to_owned()].into_iter().chain(totals));
        for column in 1..=self.arms.len() {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let lines = table.trim_fmt();
        out.extend(lines.lines().map(|line| format!("{INDENT}{line}\n")));
        if let Some(base) = self.arms.iter().find(|arm| arm.arm == against) {
            for arm in self.arms.iter().filter(|arm| arm.arm != against) {
                out += &wrapped(&plain(&sentence(arm, base)), INDENT, width);
            }
        }
        out + "\n"
    }

    fn figure(&self, part: Part, ns: f64) -> String {
        match part.is_round_trip() {
            _ if ns < 5e4 => "-".to_owned(),
            true => format!("{} ({:.1})", ms(ns), ns / self.rtt_ns.max(1) as f64),
            false => ms(ns),
        }
    }
}

/// Returns where an arm's time differs from that of another.
fn sentence(arm: &ArmParts, base: &ArmParts) -> String {
    let whole_ns = arm.time_ns - base.time_ns;
    let parts = arm.differences(base);
    let listed: Vec<String> = (parts.iter())
        .map(|&(part, ns)| {
            format!(
                "{} {}{}",
                part_words(part),
                if ns > 0.0 { "+" } else { "-" },
                ms(ns.abs())
            )
        })
        .collect();
    let named_ns: f64 = parts.iter().map(|(_, ns)| ns).sum();
    let rest = match whole_ns - named_ns {
        rest if rest.abs() < 5e4 => String::new(),
        rest => format!(", all else {:+.1}", rest / 1e6),
    };
    match listed.is_empty() {
        true => format!(
            "{}: {:+.1} ms against {}",
            arm.arm,
            whole_ns / 1e6,
            base.arm
        ),
        false => format!(
            "{}: {:+.1} ms against {}: {}{rest}",
            arm.arm,
            whole_ns / 1e6,
            base.arm,
            listed.join(", ")
        ),
    }
}

fn ms(ns: f64) -> String {
    format!("{:.1}", ns / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(name: &str, parts: &[(Part, f64)]) -> ArmParts {
        ArmParts {
            arm: name.into(),
            calls: 7,
            time_ns: parts.iter().map(|(_, ns)| ns).sum(),
            parts: parts.to_vec(),
        }
    }

    #[test]
    fn parts_and_differences_are_printed() {
        let why = Why {
            baseline: "h2".into(),
            measures: vec![WhyMeasure {
                network: "lte".into(),
                rtt_ns: 50_000_000,
                label: "first request".into(),
                arms: vec![
                    arm("h2", &[(Part::TcpHandshake, 50e6), (Part::Client, 2e6)]),
                    arm("h3", &[(Part::QuicHandshake, 25e6), (Part::Client, 2.5e6)]),
                ],
            }],
        };
        let expected = "\
lte, first request: round trip 50 ms
                           h2          h3
   TCP handshake   50.0 (1.0)           -
   QUIC handshake           -  25.0 (0.5)
   client                 2.0         2.5
   together              52.0        27.5
  h3: -24.5 ms against h2: TCP handshake -50.0, QUIC handshake +25.0, all else +0.5

";
        let text = why.human(100, None);
        assert_eq!(text.strip_suffix(&wrapped(NOTE, "", 100)), Some(expected));
        let against_h3 = why.human(100, Some("h3"));
        assert!(
            against_h3.contains("h2: +24.5 ms against h3: TCP handshake +50.0"),
            "{against_h3}"
        );
    }
}
