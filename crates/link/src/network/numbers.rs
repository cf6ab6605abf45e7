//! A network's numbers in one line.

use super::Network;
use crate::{LossSpec, NS_PER_MS, OnClose, PathSpec, RateSpec};

/// What stands between the parts of the line.
const DOT: &str = " · ";

pub(super) fn line(network: &Network) -> String {
    let Network { up, down, .. } = network;
    let mut parts = vec![rates(down, up), delays(network), losses(down, up)];
    parts.extend(both("queue", down, up, queue));
    parts.extend(both("reorder", down, up, reorder));
    parts.extend(both("gate", down, up, gate));
    parts.extend(both("policy", down, up, policy));
    if network.mtu != 1500 {
        parts.push(format!("MTU {}", network.mtu));
    }
    parts.join(DOT)
}

fn rates(down: &PathSpec, up: &PathSpec) -> String {
    let known = [down, up].map(|spec| spec.rate.mean_bps());
    let mega = known.iter().flatten().any(|&bps| bps >= 1_000_000);
    let (unit, per) = if mega {
        ("Mbit/s", 1e6)
    } else {
        ("kbit/s", 1e3)
    };
    let one = |spec: &PathSpec| match (&spec.rate, spec.rate.mean_bps()) {
        (RateSpec::Trace(_), Some(bps)) => format!("{} (trace)", short(bps as f64 / per)),
        (_, Some(bps)) => short(bps as f64 / per),
        (_, None) => "unlimited".to_owned(),
    };
    match known {
        [None, None] => "no rate limit".to_owned(),
        _ => format!("down {} up {} {unit}", one(down), one(up)),
    }
}

fn delays(network: &Network) -> String {
    let jitter_ns = [network.up.jitter_ns, network.down.jitter_ns];
    let mut text = format!("RTT {} ms", ms(network.rtt_ns()));
    if jitter_ns != [0, 0] {
        text += &format!(" ±{}", ms(jitter_ns.iter().sum()));
    }
    text
}

fn losses(down: &PathSpec, up: &PathSpec) -> String {
    both("loss", down, up, |spec| {
        let loss = spec.loss.as_ref()?;
        let percent = short(f64::from(loss.mean_ppb()) / 1e7);
        Some(match loss {
            LossSpec::Iid { .. } => format!("{percent} %"),
            LossSpec::Burst(b) => format!("{percent} % (fades of {} ms)", ms(b.bad_ns)),
            LossSpec::GilbertElliott(_) => format!("{percent} % (Gilbert-Elliott)"),
        })
    })
    .unwrap_or_else(|| "no loss".to_owned())
}

fn queue(spec: &PathSpec) -> Option<String> {
    let queue = &spec.queue;
    let limits = [
        queue.time_ns.map(|time_ns| format!("{} ms", ms(time_ns))),
        queue.packets.map(|packets| format!("{packets} packets")),
        queue.bytes.map(|bytes| format!("{bytes} bytes")),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    (!limits.is_empty()).then(|| limits.join(" or "))
}

fn reorder(spec: &PathSpec) -> Option<String> {
    let reorder = spec.reorder?;
    Some(format!(
        "{} % by {} ms",
        short(f64::from(reorder.ppb) / 1e7),
        ms(reorder.extra_ns)
    ))
}

fn gate(spec: &PathSpec) -> Option<String> {
    let gate = spec.gate.as_ref()?;
    let every = gate
        .every_ns()
        .map(|every_ns| format!(" every {} ms", ms(every_ns)));
    let fate = match gate.on_close() {
        OnClose::Keep => "queue kept",
        OnClose::Flush => "queue flushed",
    };
    Some(format!(
        "closed {} ms{} ({fate})",
        ms(gate.closed_ns()),
        every.unwrap_or_default()
    ))
}

fn policy(spec: &PathSpec) -> Option<String> {
    let policy = spec.policy.as_ref()?;
    let block = policy
        .block_after_ns
        .map(|after_ns| format!("UDP blocked after {} ms", ms(after_ns)));
    let police = policy
        .police
        .map(|p| format!("UDP {} kbit/s", short(p.rate_bps as f64 / 1e3)));
    let rules: Vec<String> = block.into_iter().chain(police).collect();
    Some(rules.join(" and "))
}

/// What a setting says of both directions: once if they agree.
fn both(
    label: &str,
    down: &PathSpec,
    up: &PathSpec,
    say: impl Fn(&PathSpec) -> Option<String>,
) -> Option<String> {
    match (say(down), say(up)) {
        (None, None) => None,
        (Some(down), Some(up)) if down == up => Some(format!("{label} {down}")),
        (Some(down), Some(up)) => Some(format!("{label} {down} down {up} up")),
        (Some(down), None) => Some(format!("{label} {down} down")),
        (None, Some(up)) => Some(format!("{label} {up} up")),
    }
}

fn ms(ns: u64) -> String {
    short(ns as f64 / NS_PER_MS as f64)
}

/// At most four decimals, none that say nothing.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> String {
        let text = format!("about = 'a'\nsource = 's'\n{text}");
        Network::parse("x.toml", &text).unwrap().numbers()
    }

    #[test]
    fn a_network_in_one_line() {
        let text = "[down]\nrate_kbps = 6300\ndelay_ms = 61.5\nloss_percent = 1.5\nqueue_ms = 100\n\
                    [up]\nrate_kbps = 9700\ndelay_ms = 61.5\nqueue_ms = 100";
        assert_eq!(
            numbers(text),
            "down 6.3 up 9.7 Mbit/s · RTT 123 ms · loss 1.5 % down · queue 100 ms"
        );
    }

    #[test]
    fn what_is_not_there_is_not_said() {
        assert_eq!(
            numbers("[up]\n[down]"),
            "no rate limit · RTT 0 ms · no loss"
        );
    }

    #[test]
    fn directions_that_differ_are_told_apart() {
        let text = "[up]\nrate_kbps = 14.4\nqueue_packets = 9\ndelay_ms = 40\njitter_ms = 5\n\
                    [down]\ntrace_ms = [0, 1000]\nqueue_packets = 5\nqueue_bytes = 3000\n\
                    delay_ms = 40\njitter_ms = 5";
        assert_eq!(
            numbers(text),
            "down 24 (trace) up 14.4 kbit/s · RTT 80 ms ±10 · no loss · \
             queue 5 packets or 3000 bytes down 9 packets up"
        );
    }

    #[test]
    fn everything_a_network_can_do_is_said() {
        let text = "mtu = 1400\n[up]\n[up.policy]\nudp_block_after_ms = 0\nudp_rate_kbps = 64\n\
                    udp_burst_bytes = 9000\n[down]\ndelay_ms = 5\n\
                    [down.gate]\nclosed_ms = [[10, 60]]\nevery_ms = 1000\nqueue = 'flush'\n\
                    [down.burst_loss]\ngood_ms = 950\nbad_ms = 50\n\
                    [down.reorder]\npercent = 1\nextra_ms = 5";
        assert_eq!(
            numbers(text),
            "no rate limit · RTT 5 ms · loss 5 % (fades of 50 ms) down · reorder 1 % by 5 ms down · \
             gate closed 50 ms every 1000 ms (queue flushed) down · \
             policy UDP blocked after 0 ms and UDP 64 kbit/s up · MTU 1400"
        );
    }
}
