//! The keys of a network file, table by table, with their units and ranges.

use super::{
    Network, NetworkError,
    contradiction::contradiction,
    error::clip,
    read::{At, Source, Table, as_number},
};
use crate::{
    BurstSpec, Gate, GilbertElliottSpec, LossSpec, NS_PER_MS, OnClose, PathSpec, PoliceSpec,
    PolicySpec, QueueSpec, RateSpec, ReorderSpec, Trace,
};

/// Smallest MTU that carries IPv6 (RFC 8200, section 5): the lab speaks both versions.
const MTU: std::ops::RangeInclusive<u32> = 1280..=9000;
/// Ethernet's, for networks that say nothing.
const DEFAULT_MTU: u32 = 1500;

/// 100 bit/s to 100 Gbit/s.
const RATE_KBPS: std::ops::RangeInclusive<f64> = 0.1..=100_000_000.0;
const DELAY_MS: std::ops::RangeInclusive<f64> = 0.0..=60_000.0;
/// Fades: so long that their sojourns can be counted out over an idle hour without a stall.
const FADE_MS: std::ops::RangeInclusive<f64> = 1.0..=3_600_000.0;
/// Lengths of queues, turns and hold-backs: a microsecond to an hour.
const LENGTH_MS: std::ops::RangeInclusive<f64> = 0.001..=3_600_000.0;
const MOMENT_MS: std::ops::RangeInclusive<f64> = 0.0..=3_600_000.0;
const PERCENT: std::ops::RangeInclusive<f64> = 0.0..=100.0;
/// Of what happens at all.
const SOME_PERCENT: std::ops::RangeInclusive<f64> = 0.0001..=100.0;

/// Fetches the text of a trace by its name.
type TraceText<'a> = &'a dyn Fn(&str) -> Result<String, String>;

pub(super) fn network(
    file: &str,
    text: &str,
    trace_text: TraceText<'_>,
) -> Result<Network, NetworkError> {
    Source { file, text }.read(|t| {
        let about = t.need("about", t.text("about")?, "about = \"what it stands for\"")?;
        let source = t.need(
            "source",
            t.text("source")?,
            "source = \"where the numbers are from\"",
        )?;
        let mtu = t.whole("mtu", MTU)?.map_or(DEFAULT_MTU, |at| at.value);
        let direction = |key| {
            let spec = t.table(key, |d| path_spec(d, mtu, trace_text))?;
            t.need(
                key,
                spec,
                &format!("[{key}], with nothing in it if it impairs nothing"),
            )
        };
        Ok(Network {
            name: name_of(file).to_owned(),
            about: about.value,
            source: source.value,
            mtu,
            up: direction("up")?.value,
            down: direction("down")?.value,
        })
    })
}

/// The file's name without folder and ending.
fn name_of(file: &str) -> &str {
    let file = file.rsplit('/').next().unwrap_or(file);
    file.strip_suffix(".toml").unwrap_or(file)
}

fn path_spec(t: &Table<'_>, mtu: u32, trace_text: TraceText<'_>) -> Result<PathSpec, NetworkError> {
    let spec = PathSpec {
        policy: t.table("policy", |p| policy(p, mtu))?.map(|at| at.value),
        gate: t.table("gate", gate)?.map(|at| at.value),
        queue: QueueSpec {
            time_ns: t.number("queue_ms", LENGTH_MS)?.map(ns),
            bytes: t
                .whole("queue_bytes", 1..=u32::MAX)?
                .map(|at| at.value.into()),
            packets: t
                .whole("queue_packets", 1..=u32::MAX)?
                .map(|at| at.value.into()),
        },
        rate: rate(t, trace_text)?,
        loss: loss(t)?,
        delay_ns: t.number("delay_ms", DELAY_MS)?.map_or(0, ns),
        jitter_ns: t.number("jitter_ms", DELAY_MS)?.map_or(0, ns),
        reorder: t.table("reorder", reorder)?.map(|at| at.value),
    };
    match contradiction(&spec, mtu) {
        Some(c) => Err(t.error(t.place_of(c.key), c.what, c.way_out)),
        None => Ok(spec),
    }
}

fn rate(t: &Table<'_>, trace_text: TraceText<'_>) -> Result<RateSpec, NetworkError> {
    let rate_kbps = t.number("rate_kbps", RATE_KBPS)?;
    let file = t.text("trace")?;
    let times_ms = t.list("trace_ms", |value| {
        as_number(value)
            .filter(|n| n.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(n))
            .map(|n| n as u32)
            .ok_or("write whole milliseconds, one for each 1500 bytes")
    })?;
    only_one(t, &["rate_kbps", "trace", "trace_ms"])?;
    if let Some(kbps) = rate_kbps {
        return Ok(RateSpec::constant(bps(kbps)));
    }
    let (place, trace) = match (file, times_ms) {
        (Some(At { place, value: name }), _) => {
            let text = trace_text(&name).map_err(|why| {
                t.error(
                    place,
                    why,
                    "name a file in the Mahimahi format, a time in ms a line",
                )
            })?;
            (place, Trace::parse(&text))
        }
        (_, Some(At { place, value })) => (place, Trace::new(value)),
        _ => return Ok(RateSpec::Unlimited),
    };
    trace
        .map(RateSpec::Trace)
        .map_err(|e| t.error(place, e.to_string(), "correct the trace"))
}

fn loss(t: &Table<'_>) -> Result<Option<LossSpec>, NetworkError> {
    let iid = t
        .number("loss_percent", PERCENT)?
        .map(|at| LossSpec::Iid { ppb: ppb(at) });
    let burst = t.table("burst_loss", |b| {
        Ok(LossSpec::Burst(BurstSpec {
            good_ns: ns(b.need("good_ms", b.number("good_ms", FADE_MS)?, "good_ms = 950")?),
            bad_ns: ns(b.need("bad_ms", b.number("bad_ms", FADE_MS)?, "bad_ms = 50")?),
            loss_ppb: b
                .number("loss_percent", SOME_PERCENT)?
                .map_or(1_000_000_000, ppb),
        }))
    })?;
    let chain = t.table("gilbert_elliott", |g| {
        let step = |key, example| g.need(key, g.number(key, SOME_PERCENT)?, example).map(ppb);
        Ok(LossSpec::GilbertElliott(GilbertElliottSpec {
            to_bad_ppb: step("p_percent", "p_percent = 0.5, the chance to turn bad")?,
            to_good_ppb: step("r_percent", "r_percent = 20, the chance to turn good")?,
            good_loss_ppb: g.number("good_loss_percent", PERCENT)?.map_or(0, ppb),
            bad_loss_ppb: g
                .number("bad_loss_percent", PERCENT)?
                .map_or(1_000_000_000, ppb),
        }))
    })?;
    only_one(t, &["loss_percent", "burst_loss", "gilbert_elliott"])?;
    let other = burst.or(chain).map(|at| at.value);
    Ok(iid.filter(|loss| loss.mean_ppb() > 0).or(other))
}

fn policy(t: &Table<'_>, mtu: u32) -> Result<PolicySpec, NetworkError> {
    let block_after_ns = t.number("udp_block_after_ms", MOMENT_MS)?.map(ns);
    let rate_kbps = t.number("udp_rate_kbps", RATE_KBPS)?;
    let burst_bytes = t.whole("udp_burst_bytes", mtu..=u32::MAX)?;
    let after_ms = t.number("udp_rate_after_ms", MOMENT_MS)?;
    let ports = t.list("udp_ports", |value| {
        as_number(value)
            .filter(|n| n.fract() == 0.0 && (1.0..=65535.0).contains(n))
            .map(|n| n as u16)
            .ok_or("write a port from 1 to 65535")
    })?;
    let police = match rate_kbps {
        Some(kbps) => Some(PoliceSpec {
            rate_bps: bps(kbps),
            burst_bytes: t
                .need(
                    "udp_burst_bytes",
                    burst_bytes,
                    "udp_burst_bytes = 30000 beside udp_rate_kbps",
                )?
                .value
                .into(),
            after_ns: after_ms.map_or(0, ns),
        }),
        None if burst_bytes.is_some() || after_ms.is_some() => {
            let place = t
                .place_of("udp_burst_bytes")
                .max(t.place_of("udp_rate_after_ms"));
            return Err(t.error(
                place,
                "UDP is policed at no rate",
                "write udp_rate_kbps too",
            ));
        }
        None => None,
    };
    if block_after_ns.is_none() && police.is_none() {
        let way_out = "write udp_block_after_ms or udp_rate_kbps";
        return Err(t.error(t.place_of(""), "the policy does nothing", way_out));
    }
    Ok(PolicySpec {
        block_after_ns,
        police,
        udp_ports: ports.map_or_else(Vec::new, |at| at.value),
    })
}

fn gate(t: &Table<'_>) -> Result<Gate, NetworkError> {
    const PAIR: &str = "write [from, to] in milliseconds, from 0 to 3600000";
    let closed = t.list("closed_ms", |value| {
        let pair = value.as_array().ok_or(PAIR)?;
        let at = |i: usize| -> Result<u64, &'static str> {
            let ms = pair.get(i).and_then(|v| as_number(v.get_ref()));
            let ms = ms.filter(|ms| MOMENT_MS.contains(ms)).ok_or(PAIR)?;
            Ok(ns(At {
                place: 0,
                value: ms,
            }))
        };
        if pair.len() == 2 {
            Ok((at(0)?, at(1)?))
        } else {
            Err(PAIR)
        }
    })?;
    let closed = t.need("closed_ms", closed, "closed_ms = [[1000, 1050]]")?;
    let every_ns = t.number("every_ms", LENGTH_MS)?.map(ns);
    let queue = t.need(
        "queue",
        t.text("queue")?,
        "queue = \"keep\" or queue = \"flush\"",
    )?;
    let on_close = match queue.value.as_str() {
        "keep" => OnClose::Keep,
        "flush" => OnClose::Flush,
        other => {
            let what = format!("the queue cannot {:?}", clip(other));
            return Err(t.error(queue.place, what, "write \"keep\" or \"flush\""));
        }
    };
    Gate::new(closed.value, every_ns, on_close)
        .map_err(|e| t.error(closed.place, e.to_string(), "correct closed_ms or every_ms"))
}

fn reorder(t: &Table<'_>) -> Result<ReorderSpec, NetworkError> {
    let percent = t.need("percent", t.number("percent", SOME_PERCENT)?, "percent = 1")?;
    let extra_ms = t.need("extra_ms", t.number("extra_ms", LENGTH_MS)?, "extra_ms = 5")?;
    Ok(ReorderSpec {
        ppb: ppb(percent),
        extra_ns: ns(extra_ms),
    })
}

/// Refuses keys that exclude each other.
fn only_one(t: &Table<'_>, keys: &[&str]) -> Result<(), NetworkError> {
    let there: Vec<&str> = keys.iter().copied().filter(|key| t.has(key)).collect();
    match there[..] {
        [first, .., last] => {
            let what = format!("{first} and {last} exclude each other");
            Err(t.error(t.place_of(last), what, "keep one of them"))
        }
        _ => Ok(()),
    }
}

fn ns(ms: At<f64>) -> u64 {
    (ms.value * NS_PER_MS as f64).round() as u64
}

fn bps(kbps: At<f64>) -> u64 {
    (kbps.value * 1000.0).round() as u64
}

fn ppb(percent: At<f64>) -> u32 {
    (percent.value * 10_000_000.0).round() as u32
}
