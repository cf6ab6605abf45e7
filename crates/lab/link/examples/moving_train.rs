//! Prints `networks/moving-train.toml`: a rate that wanders as a train moves between cells, with two
//! tunnels. Everything in it is assumed, and drawn from a fixed seed.
//!
//! `cargo run -p commute-link --example moving_train > networks/moving-train.toml`

#![expect(
    clippy::disallowed_macros,
    reason = "a program prints; the library must not"
)]

use std::fmt::Write as _;

/// The trace repeats after this; one cell of the game-api study takes 3 to 10 s.
const PERIOD_MS: u32 = 15_000;
/// How long the rate stays the same.
const STEP_MS: u32 = 100;
/// Without a signal.
const TUNNELS_MS: [(u32, u32); 2] = [(2_000, 3_200), (9_000, 10_500)];
/// The fastest rate that the game-api study saw over 4G.
const DOWN_KBPS: f64 = 10_200.0;
const UP_KBPS: f64 = 5_000.0;
/// The rate stays within these parts of its best.
const LOWEST: f64 = 0.15;
/// Correlation of one step with the next: fades of about a second.
const MEMORY: f64 = 0.9;
/// IP bytes of one delivery opportunity.
const OPPORTUNITY_BITS: f64 = 1500.0 * 8.0;
const SEED: u64 = 121;

const HEAD: &str = r##"#:schema ../docs/network.schema.json
about = "A phone on a moving train: a rate that wanders, and two tunnels"
source = """\
    Assumed as a whole; the game-api study says no more than that it was measured on a moving train. \
    Made by crates/lab/link/examples/moving_train.rs: the rates of 4g-tether at best, a share of them from \
    15 to 100 % that wanders with fades of about a second, tunnels without a signal from 2.0 to 3.2 s and \
    from 9.0 to 10.5 s of every 15 s, in which packets wait. 25 ms in each direction, queues of 1 s, no \
    loss, since LTE retransmits what the radio loses. Every cell begins at the start of the trace."""
basis = "assumed"
"##;

fn main() {
    print!("{}", network());
}

/// Returns the file's text.
fn network() -> String {
    let shares = shares();
    let mut text = HEAD.to_owned();
    for (direction, kbps) in [("down", DOWN_KBPS), ("up", UP_KBPS)] {
        let times: Vec<String> = times_ms(&shares, kbps).iter().map(u32::to_string).collect();
        // Writing to a string never fails.
        _ = write!(
            text,
            "\n[{direction}]\ndelay_ms = 25\nqueue_ms = 1000\ntrace_ms = [\n"
        );
        for line in times.chunks(20) {
            _ = writeln!(text, "    {},", line.join(", "));
        }
        text += "]\n";
    }
    text
}

/// Returns the share of the best rate in each step.
fn shares() -> Vec<f64> {
    let mut state = SEED;
    let mut level = 0.5;
    (0..PERIOD_MS / STEP_MS)
        .map(|_| {
            level = MEMORY * level + (1.0 - MEMORY) * (4.0 * uniform(&mut state) - 1.5);
            LOWEST + (1.0 - LOWEST) * f64::clamp(level, 0.0, 1.0)
        })
        .collect()
}

/// Returns when 1500 bytes can pass.
fn times_ms(shares: &[f64], best_kbps: f64) -> Vec<u32> {
    let in_tunnel = |ms: u32| {
        TUNNELS_MS
            .iter()
            .any(|&(from, to)| (from..to).contains(&ms))
    };
    let mut bits = 0.0;
    let mut times = Vec::new();
    for ms in 1..=PERIOD_MS {
        if in_tunnel(ms) {
            continue;
        }
        // kbit/s are bits per millisecond.
        bits += best_kbps * shares[((ms - 1) / STEP_MS) as usize];
        while bits >= OPPORTUNITY_BITS {
            bits -= OPPORTUNITY_BITS;
            times.push(ms);
        }
    }
    // The last time is the period.
    times.push(PERIOD_MS);
    times
}

/// Returns the next number of SplitMix64, from 0 to 1.
fn uniform(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as f64 / u64::MAX as f64
}

#[cfg(test)]
mod tests {
    /// The built-in network is what this program prints.
    #[test]
    fn the_network_is_up_to_date() {
        assert!(super::network() == include_str!("../../../../networks/moving-train.toml"));
    }
}
