//! `commute trace import`.

use std::path::PathBuf;

use anyhow::Context as _;
use traces::{Column, Columns, Format, Gaps, RateUnit, Span, TimeUnit};

use super::{Output, length_us, open, time_us};
use crate::{exit, out};

/// Import a trace that others recorded
///
/// Units and columns are those of the format, or those that options state; they are never guessed. What was read,
/// assumed or left out is listed on standard error. The rate of a row holds until the next row.
#[derive(clap::Args)]
#[command(after_help = "Formats, with what they assume:\n  \
    mahimahi    one time in ms per line, for each 1500 bytes\n  \
    pensieve    column 1 in s, column 2 in Mbit/s, no header\n  \
    g-nettrack  the Irish 5G set: Timestamp, DL_bitrate in kbit/s (upload: --rate-column UL_bitrate)\n  \
    lumos5g     seq_num in s, Throughput in Mbit/s; select a run with --where\n  \
    columns     nothing: state both columns and their units\n\n\
    Examples:\n  \
    commute trace import bus.txt --format pensieve --out bus.trace\n  \
    commute trace import B_2020.02.27.csv --format g-nettrack --for 60s --out irish.trace\n  \
    commute trace import Lumos5G.csv --format lumos5g --where run_num=3 --where mobility_mode=driving \\\n    \
      --where trajectory_direction=CW --for 60s --out lumos.trace\n  \
    commute trace import trace-1.csv --format columns --time-column seq_num --time-unit s \\\n    \
      --rate-column Verizon_throughput_mbps --rate-unit Mbit/s --gaps hold --out verizon.trace")]
pub(super) struct Args {
    /// The file to read; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Format of its lines
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Layout,
    /// Column of the time: its name in the header, which is then the first line, or its number from 1
    #[arg(long, value_name = "COLUMN")]
    time_column: Option<Column>,
    /// Unit of the time; a timestamp is a date and time of day, e.g. 2021-01-13 18:30:53.5
    #[arg(long, value_enum, value_name = "UNIT")]
    time_unit: Option<OfTime>,
    /// Column of the rate, likewise
    #[arg(long, value_name = "COLUMN")]
    rate_column: Option<Column>,
    /// Unit of the rate
    #[arg(long, value_enum, value_name = "UNIT")]
    rate_unit: Option<OfRate>,
    /// Read only rows with this value in this column; repeatable
    #[arg(long = "where", value_name = "COLUMN=VALUE", value_parser = selection)]
    only: Vec<(Column, String)>,
    /// What to do where rows are missing or have no rate [default: error]
    #[arg(long, value_enum, value_name = "HOW")]
    gaps: Option<InGaps>,
    /// Longest time between rows that is no gap [default: three times the median]
    #[arg(long, value_name = "TIME", value_parser = length_us)]
    max_gap: Option<u64>,
    /// Begin this long after time 0 (mahimahi) or after the first selected row (other formats)
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = time_us)]
    from: u64,
    /// Take this long [default: up to the end]
    #[arg(long = "for", value_name = "TIME", value_parser = length_us)]
    length: Option<u64>,
    #[command(flatten)]
    output: Output,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Layout {
    Mahimahi,
    Columns,
    Pensieve,
    #[value(name = "g-nettrack")]
    GNetTrack,
    #[value(name = "lumos5g")]
    Lumos5g,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum OfTime {
    S,
    Ms,
    Us,
    Timestamp,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum OfRate {
    #[value(name = "bit/s", alias = "bps")]
    Bit,
    #[value(name = "kbit/s", alias = "kbps")]
    Kbit,
    #[value(name = "Mbit/s", alias = "Mbps")]
    Mbit,
    #[value(name = "B/s", alias = "bytes/s")]
    Byte,
    #[value(name = "kB/s")]
    Kbyte,
    #[value(name = "MB/s")]
    Mbyte,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum InGaps {
    /// Refuse the file
    Error,
    /// The rate before the gap holds on
    Hold,
    /// Nothing is delivered
    Zero,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    args.output.check()?;
    let span = Span {
        from_us: args.from,
        for_us: args.length,
    };
    let (file, format) = (args.file.display(), args.format()?);
    let imported =
        traces::import(open(&args.file)?, &format, span).with_context(|| file.to_string())?;
    for note in &imported.notes {
        out::note!("note: {file}: {note}");
    }
    args.output.save(&imported.trace)?;
    Ok(exit::PASS)
}

impl Args {
    fn format(&self) -> anyhow::Result<Format> {
        let stated = [
            ("--time-column", self.time_column.is_some()),
            ("--time-unit", self.time_unit.is_some()),
            ("--rate-column", self.rate_column.is_some()),
            ("--rate-unit", self.rate_unit.is_some()),
            ("--where", !self.only.is_empty()),
            ("--gaps", self.gaps.is_some()),
            ("--max-gap", self.max_gap.is_some()),
        ];
        let known = match self.format {
            Layout::Mahimahi => {
                return match stated.iter().find(|(_, stated)| *stated) {
                    None => Ok(Format::Mahimahi),
                    Some((option, _)) => Err(exit::usage(format!(
                        "{option} is for columns, and --format mahimahi has none; use --format columns, or leave it out"
                    ))),
                };
            }
            Layout::Columns => None,
            Layout::Pensieve => Some(("1", TimeUnit::Seconds, "2", RateUnit::Mbit)),
            Layout::GNetTrack => Some((
                "Timestamp",
                TimeUnit::Timestamp,
                "DL_bitrate",
                RateUnit::Kbit,
            )),
            Layout::Lumos5g => Some(("seq_num", TimeUnit::Seconds, "Throughput", RateUnit::Mbit)),
        };
        let column = |name: &str| name.parse().map_err(|e: String| exit::usage(e));
        let (time, time_unit, rate, rate_unit) = match known {
            None => (None, None, None, None),
            Some((time, time_unit, rate, rate_unit)) => (
                Some(column(time)?),
                Some(time_unit),
                Some(column(rate)?),
                Some(rate_unit),
            ),
        };
        let time = self.time_column.clone().or(time);
        let time_unit = self.time_unit.map(TimeUnit::from).or(time_unit);
        let rate = self.rate_column.clone().or(rate);
        let rate_unit = self.rate_unit.map(RateUnit::from).or(rate_unit);
        let (Some(time), Some(time_unit), Some(rate), Some(rate_unit)) =
            (time, time_unit, rate, rate_unit)
        else {
            let missing = stated[..4].iter().filter(|(_, stated)| !stated);
            let missing: Vec<&str> = missing.map(|(option, _)| *option).collect();
            return Err(exit::usage(format!(
                "--format columns assumes nothing; state {}",
                missing.join(", ")
            )));
        };
        Ok(Format::Columns(Columns {
            time,
            time_unit,
            rate,
            rate_unit,
            number: (self.format == Layout::Pensieve).then_some(2),
            only: self.only.clone(),
            gaps: match self.gaps {
                None | Some(InGaps::Error) => Gaps::Error,
                Some(InGaps::Hold) => Gaps::Hold,
                Some(InGaps::Zero) => Gaps::Zero,
            },
            max_gap_us: self.max_gap,
        }))
    }
}

impl From<OfTime> for TimeUnit {
    fn from(unit: OfTime) -> TimeUnit {
        match unit {
            OfTime::S => TimeUnit::Seconds,
            OfTime::Ms => TimeUnit::Milliseconds,
            OfTime::Us => TimeUnit::Microseconds,
            OfTime::Timestamp => TimeUnit::Timestamp,
        }
    }
}

impl From<OfRate> for RateUnit {
    fn from(unit: OfRate) -> RateUnit {
        match unit {
            OfRate::Bit => RateUnit::Bit,
            OfRate::Kbit => RateUnit::Kbit,
            OfRate::Mbit => RateUnit::Mbit,
            OfRate::Byte => RateUnit::Byte,
            OfRate::Kbyte => RateUnit::Kbyte,
            OfRate::Mbyte => RateUnit::Mbyte,
        }
    }
}

/// Parses `COLUMN=VALUE`.
fn selection(text: &str) -> Result<(Column, String), String> {
    let parts = text.split_once('=');
    let (column, value) = parts.ok_or("write COLUMN=VALUE, e.g. run_num=3")?;
    Ok((column.parse()?, value.trim().to_owned()))
}
