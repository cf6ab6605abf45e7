//! The figures of the published studies on which claims rest, one per row of a CSV file
//! (`findings/published`), and how a page names one of them.

use csv::StringRecord;
use serde::Deserialize;

use crate::FindingsError;

/// One published figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    /// The study's name.
    pub(crate) study: String,
    /// Id of the table or group it is from.
    pub(crate) table: String,
    /// Client device or program.
    pub(crate) platform: String,
    /// The link, as the study gives it.
    pub(crate) network: String,
    /// Stack, protocol, codec and security.
    pub(crate) arm: String,
    /// What one sample is.
    pub(crate) workload: String,
    /// What the figure is, e.g. `median` or `ratio of total time`.
    pub(crate) statistic: String,
    /// The repetition, where the study numbers them.
    pub(crate) run: String,
    /// The axis to draw it against.
    pub(crate) param: String,
    /// The position on that axis.
    pub(crate) param_value: String,
    /// Samples behind it; empty where not known.
    pub(crate) n: String,
    /// The figure in `unit`; absent where the study has none.
    pub(crate) value: Option<f64>,
    /// The unit of `value`.
    pub(crate) unit: Unit,
    /// The figure as printed.
    pub(crate) published: String,
    /// The printed unit.
    pub(crate) published_unit: String,
    /// Where it was read.
    pub(crate) basis: Basis,
    /// `ok`, or what is wrong with it.
    pub(crate) flag: String,
    /// Section of the study or file of its repository.
    pub(crate) source: String,
    /// The reason for the flag.
    pub(crate) note: String,
    /// Its line in the file, from 1.
    #[serde(skip)]
    pub(crate) line: u64,
}

/// The unit of a published figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// Milliseconds.
    Ms,
    /// Bytes.
    Bytes,
    /// Kilobits per second.
    KbitS,
    /// Percent.
    Percent,
    /// A rate per second.
    PerS,
    /// A factor.
    Ratio,
    /// A number of things.
    Count,
}

/// Where a published figure was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Basis {
    /// In a text or a table.
    Document,
    /// In a file of the study's repository.
    Repository,
    /// A number printed in a chart.
    ChartLabel,
    /// The height of a mark in a chart.
    ChartRead,
    /// Computed from published figures.
    Recomputed,
    /// An aim of this project, stated before its run.
    Stated,
}

/// Names one figure: every key that is given must equal the figure's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Selector {
    /// Id of the table.
    pub(crate) table: String,
    /// Client device or program.
    pub(crate) platform: Option<String>,
    /// The link.
    pub(crate) network: Option<String>,
    /// Stack, protocol, codec and security.
    pub(crate) arm: Option<String>,
    /// What one sample is.
    pub(crate) workload: Option<String>,
    /// What the figure is.
    pub(crate) statistic: Option<String>,
    /// The repetition.
    pub(crate) run: Option<String>,
    /// The position on the figure's axis.
    pub(crate) param: Option<String>,
}

/// Reads a file of figures; `file` names it in errors.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Figure>, FindingsError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut read = || -> Result<Vec<Figure>, csv::Error> {
        let columns = reader.headers()?.clone();
        let figure = |row: Result<StringRecord, csv::Error>| {
            let row = row?;
            let line = row.position().map_or(0, csv::Position::line);
            let figure = row.deserialize(Some(&columns))?;
            Ok(Figure { line, ..figure })
        };
        reader.records().map(figure).collect()
    };
    read().map_err(|e| FindingsError::Data {
        file: file.to_owned(),
        message: e.to_string(),
    })
}

impl Selector {
    /// Returns the only figure that it names, with its value.
    pub(crate) fn find<'a>(&self, figures: &'a [Figure]) -> Result<(&'a Figure, f64), String> {
        let is =
            |wanted: &Option<String>, found: &String| wanted.as_ref().is_none_or(|w| w == found);
        let named = |f: &&Figure| {
            f.table == self.table
                && is(&self.platform, &f.platform)
                && is(&self.network, &f.network)
                && is(&self.arm, &f.arm)
                && is(&self.workload, &f.workload)
                && is(&self.statistic, &f.statistic)
                && is(&self.run, &f.run)
                && is(&self.param, &f.param_value)
        };
        let found: Vec<&Figure> = figures.iter().filter(named).collect();
        match found[..] {
            [one] => match one.value {
                Some(value) => Ok((one, value)),
                None => Err("the published figure has no value".to_owned()),
            },
            [] => Err("no published figure has these values".to_owned()),
            _ => Err(format!(
                "{} published figures have these values: name more of platform, network, arm, \
                 workload, statistic, run, param",
                found.len()
            )),
        }
    }
}

impl Figure {
    /// Returns the figure as its study printed it, or as recomputed from what it printed.
    pub(crate) fn words(&self, value: f64) -> String {
        let digits = digits(value);
        match self.unit {
            Unit::Ms => format!("{digits} ms"),
            Unit::Ratio => format!("{digits}x"),
            Unit::Percent => format!("{digits} %"),
            Unit::PerS => format!("{digits}/s"),
            Unit::Bytes => format!("{digits} B"),
            Unit::KbitS => format!("{digits} kbit/s"),
            Unit::Count => digits,
        }
    }
}

/// Returns at least three significant digits, without zeros at the end.
pub(crate) fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "study,table,platform,network,arm,workload,statistic,run,param,param_value,n,\
        value,unit,published,published_unit,basis,flag,source,note\n\
        s,rpc,,,gRPC,POST,p50,,,,,2.319,ms,2319,us,repository,ok,README,\n\
        s,rpc,,,Spark,POST,p50,,,,,10.223,ms,10223,us,repository,ok,README,\n\
        s,loss,,,H2,images,total time,,loss_percent,20,,,ms,,,document,missing,README,none\n";

    fn select(table: &str, arm: Option<&str>) -> Result<String, String> {
        let selector = Selector {
            table: table.into(),
            arm: arm.map(str::to_owned),
            ..Selector::default()
        };
        let figures = parse("x.csv", FILE).unwrap();
        let (figure, value) = selector.find(&figures)?;
        Ok(figure.words(value))
    }

    #[test]
    fn selectors_name_exactly_one_figure() {
        assert_eq!(select("rpc", Some("gRPC")), Ok("2.32 ms".into()));
        assert!(select("rpc", None).unwrap_err().starts_with("2 published"));
        assert!(
            select("rpc", Some("x"))
                .unwrap_err()
                .starts_with("no published")
        );
        assert!(select("loss", None).unwrap_err().contains("no value"));
    }

    #[test]
    fn figures_have_three_digits() {
        for (value, text) in [
            (1.626, "1.63"),
            (17_211.0, "17211"),
            (48.0, "48"),
            (56.85, "56.9"),
            (0.646, "0.646"),
        ] {
            assert_eq!(digits(value), text);
        }
    }

    #[test]
    fn figures_know_their_lines() {
        let figures = parse("x.csv", &FILE.replace("gRPC,POST", "gRPC,\"a\nPOST\"")).unwrap();
        let lines: Vec<u64> = figures.iter().map(|figure| figure.line).collect();
        assert_eq!(lines, [2, 4, 5]);
    }

    #[test]
    fn errors_name_the_file() {
        let error = parse("x.csv", "study\n1\n").unwrap_err().to_string();
        assert!(error.starts_with("x.csv: "), "{error}");
        let error = parse("x.csv", &FILE.replace(",ms,2319", ",x,2319"));
        let error = error.unwrap_err().to_string();
        assert!(error.contains("unknown variant `x`"), "{error}");
    }
}
