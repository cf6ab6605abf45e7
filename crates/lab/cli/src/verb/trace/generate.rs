//! `commute trace generate`.

use traces::{Fades, Model};

use super::{Output, length_us};
use crate::{exit, out};

/// Generate a trace from a model and a seed
///
/// The rate is log-normal and changes every 100 ms. The correlation of its logarithm falls to 1/e within the correlation
/// time. With --good and --bad, fades without delivery interrupt it: exponential times in two states. The mean rate is
/// that of the model, fades included; a short trace differs from it. The same options and seed give the same trace on
/// every machine.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    commute trace generate --mean 10Mbit/s --cv 0.5 --correlation 2s --duration 60s --out made.trace\n  \
    commute trace generate --mean 5Mbit/s --cv 0.8 --good 20s --bad 1500ms --duration 120s --seed 7 --out train.trace")]
pub(super) struct Args {
    /// Mean rate
    #[arg(long, value_name = "RATE", value_parser = rate_bps)]
    mean: f64,
    /// Coefficient of variation of the rate outside of fades: standard deviation by mean, 0 to 3
    #[arg(long, value_name = "NUMBER", default_value_t = 0.5)]
    cv: f64,
    /// Correlation time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = length_us)]
    correlation: u64,
    /// Mean time between fades
    #[arg(long, value_name = "TIME", value_parser = length_us, requires = "bad")]
    good: Option<u64>,
    /// Mean length of a fade
    #[arg(long, value_name = "TIME", value_parser = length_us, requires = "good")]
    bad: Option<u64>,
    /// Length of the trace
    #[arg(long, value_name = "TIME", value_parser = length_us)]
    duration: u64,
    /// Seed of the random draws
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    output: Output,
}

pub(super) fn run(args: &Args) -> anyhow::Result<u8> {
    args.output.check()?;
    let fades = args.good.zip(args.bad);
    let model = Model {
        mean_bps: args.mean,
        cv: args.cv,
        correlation_us: args.correlation,
        fades: fades.map(|(good_us, bad_us)| Fades { good_us, bad_us }),
        duration_us: args.duration,
    };
    let trace = traces::generate(&model, args.seed).map_err(|e| exit::usage(e.to_string()))?;
    // The format has no comments.
    out::note!(
        "note: the file does not hold its model: {model}; seed {}",
        args.seed
    );
    args.output.save(&trace)?;
    Ok(exit::PASS)
}

/// Parses a rate, in bits per second.
fn rate_bps(text: &str) -> Result<f64, String> {
    let bps = config::quantity(text, config::RATES);
    bps.ok_or("write a number and a unit, e.g. 10Mbit/s".to_owned())
}
