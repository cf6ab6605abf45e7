//! What no single key can be blamed for: settings that make no sense together. Files and overrides
//! are held to the same rules.

use crate::{OnClose, PathSpec, RateSpec};

/// A key that does not go with the others, as it is called in the file.
pub(super) struct Contradiction {
    pub(super) key: &'static str,
    pub(super) what: String,
    pub(super) way_out: &'static str,
}

/// The first contradiction in a direction, if there is one.
pub(super) fn contradiction(spec: &PathSpec, mtu: u32) -> Option<Contradiction> {
    let refuse = |key, what: String, way_out| Some(Contradiction { key, what, way_out });
    let queue = &spec.queue;
    let limits = spec.queue_limits();
    let has_queue = queue.time_ns.or(queue.bytes).or(queue.packets).is_some();
    let has_rate = spec.rate != RateSpec::Unlimited;
    let keeps = spec
        .gate
        .as_ref()
        .is_some_and(|gate| gate.on_close() == OnClose::Keep);

    if spec.jitter_ns > spec.delay_ns {
        let what = "the jitter is larger than the delay".to_owned();
        return refuse(
            "jitter_ms",
            what,
            "jitter goes either way: make it delay_ms at most",
        );
    }
    if spec.gate.is_some() && matches!(spec.rate, RateSpec::Trace(_)) {
        let what = "a trace has its own outages and heeds no gate".to_owned();
        return refuse(
            "gate",
            what,
            "leave out the gate, or put the outage into the trace",
        );
    }
    if queue.time_ns.is_some() && !has_rate {
        let what = "a queue in milliseconds needs a rate to be counted at".to_owned();
        return refuse(
            "queue_ms",
            what,
            "write rate_kbps too, or queue_packets instead",
        );
    }
    if (has_rate || keeps) && !has_queue {
        let (key, cause) = if has_rate {
            ("rate_kbps", "a rate")
        } else {
            ("gate", "a gate")
        };
        let what = format!("{cause} makes packets wait, and no queue says how many");
        return refuse(key, what, "write queue_ms, queue_packets or queue_bytes");
    }
    if has_queue && !has_rate && !keeps {
        let key = if queue.bytes.is_some() {
            "queue_bytes"
        } else {
            "queue_packets"
        };
        let what = "nothing ever waits in this queue".to_owned();
        return refuse(key, what, "write rate_kbps too, or leave the queue out");
    }
    if limits.bytes < u64::from(mtu) {
        let key = if queue.bytes == Some(limits.bytes) {
            "queue_bytes"
        } else {
            "queue_ms"
        };
        let what = format!(
            "the queue holds {} bytes, less than one packet of {mtu}",
            limits.bytes
        );
        return refuse(key, what, "make it larger, or write queue_packets");
    }
    None
}
