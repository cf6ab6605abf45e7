//! A network's numbers in one line. Each part is in the file of its stage.

use super::{Basis, Network, file::DEFAULT_MTU};
use crate::{
    nat::NatSpec,
    radio::RadioSpec,
    stage::{self, bottleneck::settings, delay, loss},
};

/// Between the parts of the line.
const SEPARATOR: &str = " · ";

pub(super) fn line(network: &Network) -> String {
    let Network { up, down, .. } = network;
    let both = [down, up];
    let loss = join("loss", both.map(loss::summary));
    let mut parts = vec![
        settings::rates(down, up),
        delay::round_trip(down, up),
        loss.unwrap_or_else(|| "no loss".to_owned()),
    ];
    parts.extend(join("queue", both.map(settings::queue_summary)));
    parts.extend(stage::summaries().filter_map(|summary| {
        let texts = both.map(summary);
        let label = texts.iter().flatten().next()?.0;
        join(label, texts.map(|text| Some(text?.1)))
    }));
    parts.extend(down.radio.as_ref().map(RadioSpec::summary));
    parts.extend(network.nat.as_ref().map(NatSpec::summary));
    if network.mtu != DEFAULT_MTU {
        parts.push(format!("MTU {}", network.mtu));
    }
    parts.extend(network.basis.map(basis));
    parts.join(SEPARATOR)
}

/// Returns what is measured or derived. A loss and a queue may be assumed, or set by a sweep.
fn basis(basis: Basis) -> String {
    match basis {
        Basis::Measured | Basis::Derived => format!("rates and RTT {}", basis.name()),
        Basis::Assumed => basis.name().to_owned(),
    }
}

/// Joins the texts of down and up, into one if they are equal.
fn join(label: &str, texts: [Option<String>; 2]) -> Option<String> {
    match texts {
        [None, None] => None,
        [Some(down), Some(up)] if down == up => Some(format!("{label} {down}")),
        [Some(down), Some(up)] => Some(format!("{label} {down} down {up} up")),
        [Some(down), None] => Some(format!("{label} {down} down")),
        [None, Some(up)] => Some(format!("{label} {up} up")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Overrides;

    fn numbers(text: &str) -> String {
        let text = format!("about = 'a'\nsource = 's'\n{text}");
        Network::parse("x.toml", &text).unwrap().numbers()
    }

    #[test]
    fn equal_directions_are_printed_once() {
        let text = "[down]\nrate_kbps = 6300\ndelay_ms = 61.5\nloss_percent = 1.5\nqueue_ms = 100\n\
                    [up]\nrate_kbps = 9700\ndelay_ms = 61.5\nqueue_ms = 100";
        assert_eq!(
            numbers(text),
            "down 6.3 up 9.7 Mbit/s · RTT 123 ms · loss 1.5 % down · queue 100 ms"
        );
    }

    #[test]
    fn the_basis_comes_last() {
        let text = "about = 'a'\nsource = 's'\nbasis = 'assumed'\n[up]\n[down]";
        assert_eq!(
            Network::parse("x.toml", text).unwrap().numbers(),
            "no rate limit · RTT 0 ms · no loss · assumed"
        );
    }

    /// Only rates and round trips need to be measured, and only a change of these removes the basis.
    #[test]
    fn the_basis_is_not_that_of_a_loss_or_a_queue() {
        let text = "about = 'a'\nsource = 's'\nbasis = 'measured'\n\
                    [down]\nrate_kbps = 6300\nqueue_ms = 100\n[up]";
        let mut overrides = Overrides::default();
        for (name, value) in [("loss-down", "15%"), ("queue", "400ms")] {
            overrides.set(name, value).unwrap();
        }
        let network = Network::parse("x.toml", text).unwrap();
        let changed = network.with_overrides(&overrides).unwrap().numbers();
        assert!(
            changed.ends_with(" · loss 15 % down · queue 400 ms down · rates and RTT measured"),
            "{changed}"
        );
    }

    #[test]
    fn unset_parts_are_not_printed() {
        assert_eq!(
            numbers("[up]\n[down]"),
            "no rate limit · RTT 0 ms · no loss"
        );
    }

    #[test]
    fn different_directions_are_printed_separately() {
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
    fn management_is_printed_with_its_queue_and_its_settings_if_they_are_unusual() {
        let text = "[up]\nrate_kbps = 1000\nqueue_ms = 100\naqm = { kind = 'fq-codel', target_ms = 6 }\n\
                    [down]\nrate_kbps = 1000\nqueue_ms = 1000\naqm = { kind = 'codel' }";
        assert_eq!(
            numbers(text),
            "down 1 up 1 Mbit/s · RTT 0 ms · no loss · \
             queue 1000 ms CoDel down 100 ms FQ-CoDel (target 6 ms, interval 100 ms) up"
        );
    }

    #[test]
    fn ranges_of_reordering_and_fixed_fades_are_printed() {
        let text = "[up.reorder]\npercent = 100\njitter_ms = 8\n\
                    [down.reorder]\npercent = 1\nextra_ms = 5\njitter_ms = 2.5\n\
                    [down.burst_loss]\ngood_ms = 950\nbad_ms = 50\nbad_length = 'fixed'";
        assert_eq!(
            numbers(&format!("[up]\n[down]\n{text}")),
            "no rate limit · RTT 0 ms · loss 5 % (fades of exactly 50 ms) down · \
             reorder 1 % by 5 to 7.5 ms down 100 % by 0 to 8 ms up"
        );
    }

    #[test]
    fn every_part_is_printed() {
        let text = "mtu = 1400\n[up]\n[up.policy]\nudp_block_after_ms = 0\nudp_rate_kbps = 64\n\
                    udp_burst_bytes = 9000\n[down]\ndelay_ms = 5\n\
                    [down.gate]\nclosed_ms = [[10, 60]]\nevery_ms = 1000\nqueue = 'flush'\n\
                    [down.burst_loss]\ngood_ms = 950\nbad_ms = 50\n\
                    [down.reorder]\npercent = 1\nextra_ms = 5\n\
                    [nat]\nrebind_at_ms = [9000, 2000]\nudp_idle_ms = 30000";
        assert_eq!(
            numbers(text),
            "no rate limit · RTT 5 ms · loss 5 % (fades of 50 ms) down · reorder 1 % by 5 ms down · \
             gate closed 50 ms every 1000 ms (queue flushed) down · \
             policy UDP blocked after 0 ms and UDP 64 kbit/s up · \
             NAT drops all at 2000, 9000 ms, idle UDP after 30000 ms · MTU 1400"
        );
    }
}
