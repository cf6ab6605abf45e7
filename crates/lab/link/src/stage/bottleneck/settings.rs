//! The bottleneck's settings: rate, queue and gate in a network file and in its one-line summary.

use config::{Bytes, ConfigError, Kbps, Ms};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use crate::{
    closings::OnClose,
    gate::Gate,
    spec::{PathSpec, QueueSpec, RateSpec},
    stage::{Contradiction, TraceText, bottleneck::aqm, contradiction},
    table::{LENGTH_MS, MOMENT_MS, RATE_KBPS, Table, bps, ns},
    text::{clip, decimal, ms},
    trace::Trace,
};

/// `[down.gate]`
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GateKeys {
    /// When the direction is closed: pairs of times, each in ms or as text. Required.
    #[schemars(with = "Option<Vec<[Ms; 2]>>")]
    closed_ms: Option<Vec<Spanned<Vec<Ms>>>>,
    /// Period with which the list repeats, in ms or as text.
    every_ms: Option<Ms>,
    /// What happens to the queue then. Required.
    queue: Option<OnClose>,
}

impl GateKeys {
    pub(crate) fn read(self, table: &Table<'_>) -> Result<Gate, ConfigError> {
        let ms = |list: &Vec<Ms>| list.iter().map(|ms| f64::from(*ms)).collect::<Vec<_>>();
        let interval = |interval: &Spanned<Vec<Ms>>| match ms(interval.get_ref())[..] {
            [from_ms, to_ms] if MOMENT_MS.contains(&from_ms) && MOMENT_MS.contains(&to_ms) => {
                Ok((ns(from_ms), ns(to_ms)))
            }
            _ => {
                let message = "write [from, to] in milliseconds, from 0 to 3600000";
                Err(table.error_in("closed_ms", &interval.span(), message))
            }
        };
        let closed = table.required("closed_ms", self.closed_ms, "closed_ms = [[1000, 1050]]")?;
        let closed_ns = closed.iter().map(interval).collect::<Result<_, _>>()?;
        let every_ms = table.within("every_ms", self.every_ms, &LENGTH_MS)?;
        let example = "queue = \"keep\" or queue = \"flush\"";
        let on_close = table.required("queue", self.queue, example)?;
        Gate::new(closed_ns, every_ms.map(ns), on_close).map_err(|e| table.error("closed_ms", e))
    }
}

/// Reads the limits of the queue.
pub(crate) fn queue(
    time_ms: Option<Ms>,
    packets: Option<u32>,
    bytes: Option<Bytes>,
    table: &Table<'_>,
) -> Result<QueueSpec, ConfigError> {
    let bytes = table.within("queue_bytes", bytes, &(1..=u32::MAX.into()))?;
    let packets = table.within("queue_packets", packets, &(1..=u32::MAX))?;
    Ok(QueueSpec {
        time_ns: table.within("queue_ms", time_ms, &LENGTH_MS)?.map(ns),
        bytes,
        packets: packets.map(u64::from),
    })
}

/// Reads the rate, which may be a trace, in the file or in one of its own.
pub(crate) fn rate(
    rate_kbps: Option<Kbps>,
    trace: Option<String>,
    trace_ms: Option<Vec<u32>>,
    table: &Table<'_>,
    trace_text: TraceText<'_>,
) -> Result<RateSpec, ConfigError> {
    table.at_most_one(&[
        ("rate_kbps", rate_kbps.is_some()),
        ("trace", trace.is_some()),
        ("trace_ms", trace_ms.is_some()),
    ])?;
    if let Some(kbps) = table.within("rate_kbps", rate_kbps, &RATE_KBPS)? {
        return Ok(RateSpec::constant(bps(kbps)));
    }
    if let Some(file) = trace {
        let text = trace_text(&file).map_err(|reason| {
            let hint = "name a file in the Mahimahi format, one time in ms per line";
            table.error("trace", format!("{reason}; {hint}"))
        })?;
        return Trace::parse(&text)
            .map(RateSpec::Trace)
            .map_err(|e| table.error("trace", format!("{}: {e}", clip(&file))));
    }
    let Some(times_ms) = trace_ms else {
        return Ok(RateSpec::Unlimited);
    };
    Trace::new(times_ms)
        .map(RateSpec::Trace)
        .map_err(|e| table.error("trace_ms", e))
}

/// Refuses a rate without a queue, a queue without a rate, and other contradictions of the three.
pub(super) fn check(spec: &PathSpec, mtu: u32) -> Result<(), Contradiction> {
    spec.aqm.as_ref().map_or(Ok(()), aqm::check)?;
    let queue = &spec.queue;
    let has_queue = *queue != QueueSpec::default();
    let closings = spec.closings();
    let gate_keeps = closings.is_some_and(|closings| closings.any(OnClose::Keep));
    if spec.gate.is_some() && spec.handovers.is_some() {
        let message = "a gate cannot be combined with handovers; make its outages handovers with a long interruption";
        return contradiction("gate", message);
    }
    let waits_for = match &spec.rate {
        RateSpec::Constant { .. } => Some("rate_kbps"),
        RateSpec::Trace(_) => Some("trace_ms"),
        RateSpec::Unlimited if gate_keeps => Some("gate"),
        RateSpec::Unlimited => None,
    };
    if closings.is_some() && matches!(spec.rate, RateSpec::Trace(_)) {
        let message = "a trace has its own outages, so it takes no gate and no handovers; remove them, or put \
                       the outages into the trace";
        return contradiction("gate", message);
    }
    if queue.time_ns.is_some() && spec.rate == RateSpec::Unlimited {
        let message = "queue_ms needs a rate; write rate_kbps too, or queue_packets instead";
        return contradiction("queue_ms", message);
    }
    match waits_for {
        Some(key) if !has_queue => {
            let cause = match (key, &spec.handovers) {
                ("gate", None) => "gate",
                ("gate", Some(_)) => "handover",
                _ => "rate",
            };
            let message = format!(
                "a {cause} makes packets wait, so it needs a queue; write queue_ms, queue_packets \
                 or queue_bytes"
            );
            return contradiction(key, message);
        }
        None if has_queue => {
            let key = match queue.bytes {
                Some(_) => "queue_bytes",
                None => "queue_packets",
            };
            let message = "nothing ever waits in this queue; write rate_kbps too, or remove it";
            return contradiction(key, message);
        }
        None if spec.aqm.is_some() => {
            let message = "nothing ever waits; write rate_kbps and a queue too, or remove aqm";
            return contradiction("aqm", message);
        }
        _ => {}
    }
    let limits = spec.queue_limits();
    if limits.bytes < u64::from(mtu) {
        let key = match queue.bytes {
            Some(bytes) if bytes == limits.bytes => "queue_bytes",
            _ => "queue_ms",
        };
        let message = format!(
            "the queue holds {} bytes, less than one packet of {mtu}; make it larger, or write \
             queue_packets instead",
            limits.bytes
        );
        return contradiction(key, message);
    }
    Ok(())
}

/// Returns the rates of both directions in one unit.
pub(crate) fn rates(down: &PathSpec, up: &PathSpec) -> String {
    let known = [down, up].map(|spec| spec.rate.mean_bps());
    let mega = known.iter().flatten().any(|&bps| bps >= 1_000_000);
    let (unit, bps_per_unit) = match mega {
        true => ("Mbit/s", 1e6),
        false => ("kbit/s", 1e3),
    };
    let one = |spec: &PathSpec| match (&spec.rate, spec.rate.mean_bps()) {
        (RateSpec::Trace(_), Some(bps)) => {
            format!("{} (trace)", decimal(bps as f64 / bps_per_unit))
        }
        (_, Some(bps)) => decimal(bps as f64 / bps_per_unit),
        (_, None) => "unlimited".to_owned(),
    };
    match known {
        [None, None] => "no rate limit".to_owned(),
        _ => format!("down {} up {} {unit}", one(down), one(up)),
    }
}

/// Returns the limits of the queue, if it has any, and its management.
pub(crate) fn queue_summary(spec: &PathSpec) -> Option<String> {
    let queue = &spec.queue;
    let limits = [
        queue.time_ns.map(|time_ns| format!("{} ms", ms(time_ns))),
        queue.packets.map(|packets| format!("{packets} packets")),
        queue.bytes.map(|bytes| format!("{bytes} bytes")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    let aqm = aqm::summary(spec).map_or_else(String::new, |aqm| format!(" {aqm}"));
    (!limits.is_empty()).then(|| limits.join(" or ") + &aqm)
}

/// Returns when the gate is closed and what happens to the queue then, or the handovers.
pub(super) fn gate_summary(spec: &PathSpec) -> Option<(&'static str, String)> {
    let Some(gate) = spec.gate.as_ref() else {
        return Some(("handovers", spec.handovers.as_ref()?.summary()));
    };
    let every = gate
        .every_ns()
        .map(|every_ns| format!(" every {} ms", ms(every_ns)));
    let queue = match gate.on_close() {
        OnClose::Keep => "queue kept",
        OnClose::Flush => "queue flushed",
    };
    let text = format!(
        "closed {} ms{} ({queue})",
        ms(gate.closed_ns()),
        every.unwrap_or_default()
    );
    Some(("gate", text))
}
