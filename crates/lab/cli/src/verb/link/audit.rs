//! `--audit`: link statistics and timing error, on standard error.

use link::Network;
use link::window::{Totals, Window};

use crate::out;

/// Prints the statistics of both directions, drops outside the model, and CPU time.
pub(crate) fn print(network: &Network, window: &Window) {
    out::error_lines(text(network, window).trim_end());
}

fn text(network: &Network, window: &Window) -> String {
    let mut out = format!(
        "{} for {:.3} s: {}\n",
        network.name,
        window.took_ns as f64 / 1e9,
        network.numbers()
    );
    for (name, totals) in [("up", &window.up), ("down", &window.down)] {
        out += &direction(name, totals);
    }
    let foreign = window.foreign_drops.total();
    out += &format!(
        "  drops outside the model: {foreign} · steal {:.2} % · clock step {:.3} ms\n",
        window.steal * 100.0,
        window.clock_step_ns as f64 / 1e6
    );
    if window.endpoint_receive_drops > 0 {
        out += &format!(
            "  dropped by full socket buffers of the command or its server: {}\n",
            window.endpoint_receive_drops
        );
    }
    let packets = window.up.lateness.packets + window.down.lateness.packets;
    out += &format!(
        "  link CPU time {:.3} s, {:.1} µs per packet\n",
        window.link_cpu_ns as f64 / 1e9,
        window.link_cpu_ns as f64 / 1e3 / packets.max(1) as f64
    );
    out
}

fn direction(name: &str, t: &Totals) -> String {
    let (sent, delivered, late) = (t.sent.total(), t.delivered.total(), &t.lateness);
    let d = &t.dropped;
    let in_flight = sent.packets.saturating_sub(delivered.packets + d.total());
    format!(
        "  {name:<4} {} packets ({} B) sent · {} delivered · {in_flight} in flight · \
         dropped: queue {} aqm {} loss {} gate {} policy {}\n       \
         lateness: p50 {:.1} p99 {:.1} max {:.1} µs\n",
        sent.packets,
        sent.bytes,
        delivered.packets,
        d.queue,
        d.aqm,
        d.loss,
        d.gate,
        d.policy,
        late.p50_ns as f64 / 1e3,
        late.p99_ns as f64 / 1e3,
        late.max_ns as f64 / 1e3,
    )
}
