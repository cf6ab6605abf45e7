//! The energy of a phone's radio: a model, applied to the states that the radio of the emulated network was in.
//!
//! **A model, not a measurement.** A cell's record has the states of its network's radio over time, up to the last one
//! after the last packet ([`record::Cell::radio`]). [`Model::joules`] adds up, over the states, time times published
//! power ([`super::phones`]), and a published amount for each bit. The last state, idle, counts as zero: the phone pays
//! for it with or without requests. `docs/reference/energy.md` has the limits.

use record::{Network, RadioChange};

use super::phones::{PHONES, Phone};

/// The name of a promotion in logs.
const PROMOTING: &str = "promoting";

/// A phone on a network: the power of every state of its radio.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) phone: &'static Phone,
    /// In mW by state, in the order of the network's file.
    states: Vec<(String, f64)>,
    /// In mW by the state in which a promotion begins.
    promotions: Vec<(String, f64)>,
}

/// What crossed the link, in IP bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Sent by the phone.
    pub(crate) up_bytes: u64,
    /// Received by the phone.
    pub(crate) down_bytes: u64,
}

/// Returns the phones whose powers are published for the radio of a network, or why there is none.
pub(crate) fn models(network: &Network) -> Result<Vec<Model>, String> {
    let radio = Radio::of(network).ok_or("the network has no radio")?;
    let technology = radio.technology.as_deref();
    let technology = technology.ok_or("the network's radio has no `technology`")?;
    let mut phones = PHONES.iter().filter(|p| p.technology == technology);
    let Some(first) = phones.next() else {
        return Err(format!(
            "commute knows no published power of the states of a radio of technology `{technology}`"
        ));
    };
    let models = std::iter::once(first).chain(phones);
    models.map(|phone| Model::new(phone, &radio)).collect()
}

impl Model {
    fn new(phone: &'static Phone, radio: &Radio) -> Result<Model, String> {
        let unknown = |what: &str, name: &str| {
            format!("commute knows no published power of the {what} `{name}`")
        };
        let (mut states, mut promotions) = (Vec::new(), Vec::new());
        for (i, state) in radio.states.iter().enumerate() {
            let mw = match i + 1 == radio.states.len() {
                true => Some(0.0),
                false => phone.state_mw(&state.name, state.cycle_ms),
            };
            let mw = mw.ok_or_else(|| unknown("radio's state", &state.name))?;
            states.push((state.name.clone(), mw));
            if state.has_promotion {
                let mw = phone.promotion_mw(&state.name);
                let mw = mw.ok_or_else(|| unknown("promotion from", &state.name))?;
                promotions.push((state.name.clone(), mw));
            }
        }
        Ok(Model {
            phone,
            states,
            promotions,
        })
    }

    /// Returns the energy in J of a radio with these states and this traffic; its last state costs nothing. `None` where
    /// the log does not end in the last state or lacks a part.
    pub(crate) fn joules(&self, log: &[RadioChange], traffic: Traffic) -> Option<f64> {
        let (idle, _) = self.states.last()?;
        if log.last()?.state != *idle {
            return None;
        }
        // mW times ns are pJ. Rate times time is an amount: mW per Mbit/s are nJ per bit.
        let mut joules = 0.0;
        let mut before: Option<&str> = None;
        for pair in log.windows(2) {
            let [from, until] = pair else { continue };
            let mw = match from.state.as_str() {
                PROMOTING => power(&self.promotions, before?)?,
                name => power(&self.states, name)?,
            };
            joules += mw * until.at_ns.checked_sub(from.at_ns)? as f64 / 1e12;
            before = Some(&from.state);
        }
        let nj = |bytes: u64, nj_per_bit: f64| bytes as f64 * 8.0 * nj_per_bit;
        let data_nj = nj(traffic.up_bytes, self.phone.up_mw_per_mbps)
            + nj(traffic.down_bytes, self.phone.down_mw_per_mbps);
        Some(joules + data_nj / 1e9)
    }
}

fn power(powers: &[(String, f64)], name: &str) -> Option<f64> {
    let mut powers = powers.iter();
    powers.find(|(known, _)| known == name).map(|p| p.1)
}

/// Returns the name of the last state of a network's radio; `None` without a radio.
pub(crate) fn idle_state(network: &Network) -> Option<String> {
    Some(Radio::of(network)?.states.pop()?.name)
}

/// Returns for how long a radio was in other states than `idle`, its last one, in ns, as its log has it; `None` without
/// a log that ends in that state.
pub(crate) fn awake_ns(log: &[RadioChange], idle: &str) -> Option<u64> {
    if log.last()?.state != idle {
        return None;
    }
    let time = |pair: &[RadioChange]| match pair {
        [from, until] if from.state != idle => until.at_ns.saturating_sub(from.at_ns),
        _ => 0,
    };
    Some(log.windows(2).map(time).sum())
}

/// The radio of a recorded network.
struct Radio {
    technology: Option<String>,
    states: Vec<State>,
}

struct State {
    name: String,
    /// Between the moments at which the phone listens; 0 if it always does.
    cycle_ms: f64,
    has_promotion: bool,
}

impl Radio {
    /// Returns the radio of a network, if it has one.
    fn of(network: &Network) -> Option<Radio> {
        let table = network.toml.parse::<toml::Table>().ok()?;
        let radio = table.get("up")?.get("radio")?;
        let state = |table: &toml::Value| {
            let ns = |key| {
                table
                    .get(key)
                    .and_then(toml::Value::as_integer)
                    .unwrap_or(0)
            };
            Some(State {
                name: table.get("name")?.as_str()?.to_owned(),
                cycle_ms: ns("down_cycle_ns") as f64 / 1e6,
                has_promotion: ns("promotion_ns") > 0,
            })
        };
        let states = radio.get("states")?.as_array()?.iter().map(state);
        Some(Radio {
            technology: radio
                .get("technology")
                .and_then(toml::Value::as_str)
                .map(str::to_owned),
            states: states.collect::<Option<_>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use link::{Begins, Direction, NS_PER_MS, Packet, Path, RadioSpec, RadioStateSpec, Transport};

    use super::*;

    const MS: u64 = NS_PER_MS;

    /// Returns a network as a record has it.
    fn recorded(link: &link::Network) -> Network {
        Network {
            base: None,
            levels: Vec::new(),
            name: link.name.clone(),
            numbers: link.numbers(),
            basis: None,
            rtt_ns: link.rtt_ns(),
            down_bps: None,
            up_bps: None,
            toml: toml::to_string(link).unwrap(),
        }
    }

    fn with_radio(radio: RadioSpec) -> link::Network {
        let mut link = link::find("lte").unwrap();
        (link.up.radio, link.down.radio) = (Some(radio.clone()), Some(radio));
        link
    }

    /// Returns the log of the radio when the phone sends packets, each in bytes and at a time in ms.
    fn log(link: &link::Network, packets: &[(u64, u32)]) -> Vec<RadioChange> {
        let mut path = Path::new(&link.up, Direction::Up, 7);
        path.start(0);
        for &(at_ms, ip_bytes) in packets {
            while path.poll(at_ms * MS).is_some() {}
            let packet = Packet {
                token: 0,
                ip_bytes,
                transport: Transport::Udp,
                src_port: 40_000,
                dst_port: 443,
                flow: Some(0),
            };
            path.offer(at_ms * MS, packet);
        }
        let spec = link.up.radio.as_ref().unwrap();
        let log = path.radio().unwrap().log(u64::MAX);
        let change = |seen: &link::RadioChange| RadioChange {
            at_ns: seen.at_ns,
            state: seen.state.name(spec).to_owned(),
        };
        log.changes.iter().map(change).collect()
    }

    fn model(link: &link::Network, phone: &str) -> Model {
        let models = models(&recorded(link)).unwrap();
        models.into_iter().find(|m| m.phone.name == phone).unwrap()
    }

    /// Returns the energy without that of the data.
    fn joules(link: &link::Network, phone: &str, packets: &[(u64, u32)]) -> f64 {
        let log = log(link, packets);
        model(link, phone).joules(&log, Traffic::default()).unwrap()
    }

    /// Small packets take the bottleneck up to 2 ms, for which the states last longer.
    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 2e-3, "{found} {expected}");
    }

    #[test]
    fn one_packet_costs_what_the_sources_constants_give() {
        let (lte, aro, umts) = ("lte", "lte-aro", "3g-umts");
        for (network, phone, expected) in [
            // 0.2601 s of promotion, 0.4 s connected, 9.7 s of tail.
            (
                lte,
                "LTE phone of 2012",
                0.2601 * 1.2107 + 0.4 * 1.28804 + 9.7 * 1.06,
            ),
            // 2 ms of each 320 ms at 1.68 W.
            (
                lte,
                "Video Optimizer's LTE device",
                0.2601 * 1.21 + 0.4 * 1.2 + 9.7 * (1.06 + 0.62 * 2.0 / 320.0),
            ),
            // Video Optimizer's own times: 0.1 s of inactivity, 0.02 s of short and 10 s of long DRX.
            (
                aro,
                "Video Optimizer's LTE device",
                0.26 * 1.21 + 0.1 * 1.2 + 0.02 * 1.122 + 10.0 * 1.091,
            ),
            // The times of the same files: 2 s, 4 s and 10 s.
            (umts, "Samsung i997", 2.0 * 0.65 + 4.0 * 1.3 + 10.0 * 0.3),
            (
                umts,
                "Samsung Captivate",
                2.0 * 0.51 + 4.0 * 1.02 + 10.0 * 0.4,
            ),
            (umts, "HTC Inspire", 2.0 * 0.3 + 4.0 * 0.6 + 10.0 * 0.38),
            (umts, "LG Thrill", 2.0 * 0.305 + 4.0 * 0.61 + 10.0 * 0.25),
        ] {
            let link = link::find(network).unwrap();
            assert_close(joules(&link, phone, &[(500, 100)]), expected);
        }
    }

    /// With their own times, 11.576 s of tail at 1.06 W after 260.1 ms at 1.2107 W. Continuous reception, the first 0.1 s
    /// of the tail, has the power of a transfer here.
    #[test]
    fn one_packet_costs_what_huang_et_al_publish() {
        let state = |name: &str, after_ms: u64| RadioStateSpec {
            name: name.to_owned(),
            after_ns: after_ms * MS,
            ..RadioStateSpec::default()
        };
        let states = vec![
            state("connected", 0),
            RadioStateSpec {
                down_cycle_ns: 40 * MS,
                ..state("drx", 100)
            },
            RadioStateSpec {
                promotion_ns: 260_100_000,
                ..state("idle", 11_576)
            },
        ];
        let radio = RadioSpec::new(Begins::Idle, states).unwrap();
        let link = with_radio(radio.with_technology(Some(link::Technology::Lte)));
        let found = joules(&link, "LTE phone of 2012", &[(500, 100)]);
        assert_close(
            found,
            0.2601 * 1.2107 + 11.576 * 1.06 + 0.1 * (1.28804 - 1.06),
        );
    }

    #[test]
    fn a_promotion_has_the_power_of_the_state_that_it_begins_in() {
        let link = link::find("3g-umts").unwrap();
        // 2 s, 4 s in DCH after the bottleneck has carried the packet, FACH, 1.5 s from there at 0.8 W, and both tails.
        let found = joules(&link, "Samsung i997", &[(0, 1_000), (9_000, 1_000)]);
        let dch_s = 4.0 + 8.0 / 384.0;
        let to_fach_j = 2.0 * 0.65 + dch_s * 1.3 + (9.0 - 2.0 - dch_s) * 0.3;
        assert_close(found, to_fach_j + 1.5 * 0.8 + dch_s * 1.3 + 10.0 * 0.3);
        // A small packet needs no promotion, but keeps the radio in FACH.
        let found = joules(&link, "Samsung i997", &[(0, 1_000), (9_000, 100)]);
        assert_close(found, to_fach_j + 10.0 * 0.3);
    }

    #[test]
    fn packets_within_a_tail_share_it() {
        let link = link::find("lte").unwrap();
        let cost = |gap_ms| joules(&link, "LTE phone of 2012", &[(0, 100), (gap_ms, 100)]);
        let costs = [0, 300, 1_000, 5_000, 9_000, 11_000, 60_000].map(cost);
        assert!(costs.is_sorted(), "{costs:?}");
        // Asleep again, the second packet costs as much as the first.
        assert_close(costs[5], costs[6]);
        assert_close(
            costs[6],
            2.0 * joules(&link, "LTE phone of 2012", &[(0, 100)]),
        );
        assert_close(costs[2] - costs[0], 0.4 * 1.28804 + 0.34 * 1.06);
    }

    #[test]
    fn bits_cost_what_slopes_times_rates_give() {
        let link = link::find("lte").unwrap();
        let model = model(&link, "LTE phone of 2012");
        let log = log(&link, &[(0, 100)]);
        let of = |traffic| model.joules(&log, traffic).unwrap();
        let traffic = Traffic {
            up_bytes: 125_000,
            down_bytes: 250_000,
        };
        // 1 Mbit up, 2 Mbit down.
        let data_j = of(traffic) - of(Traffic::default());
        assert!(
            (data_j - (0.438_39 + 2.0 * 0.051_97)).abs() < 1e-9,
            "{data_j}"
        );
    }

    #[test]
    fn a_radio_that_stays_idle_costs_nothing() {
        for (name, _) in link::builtin() {
            let link = link::find(name).unwrap();
            for model in models(&recorded(&link)).unwrap_or_default() {
                let log = log(&link, &[]);
                assert_eq!(model.joules(&log, Traffic::default()), Some(0.0), "{name}");
                let idle = idle_state(&recorded(&link)).unwrap();
                assert_eq!(awake_ns(&log, &idle), Some(0));
            }
        }
    }

    #[test]
    fn every_built_in_network_has_models_or_a_reason() {
        for (name, _) in link::builtin() {
            let link = link::find(name).unwrap();
            let found = models(&recorded(&link));
            match link.up.radio.as_ref().map(RadioSpec::technology) {
                None => assert_eq!(found.unwrap_err(), "the network has no radio"),
                Some(Some(link::Technology::Nr)) => assert_eq!(
                    found.unwrap_err(),
                    "commute knows no published power of the states of a radio of technology `5g`"
                ),
                Some(_) => assert!(found.is_ok_and(|models| models.len() > 1), "{name}"),
            }
        }
    }

    #[test]
    fn unknown_powers_give_no_energy() {
        let lte = link::find("lte").unwrap();
        let radio = lte.up.radio.clone().unwrap();
        let reason = |radio: RadioSpec| models(&recorded(&with_radio(radio))).unwrap_err();
        assert_eq!(
            reason(radio.clone().with_technology(None)),
            "the network's radio has no `technology`"
        );
        let mut states = radio.states().to_vec();
        states[1].name = "nap".to_owned();
        let renamed = RadioSpec::new(Begins::Idle, states.clone()).unwrap();
        assert_eq!(
            reason(renamed.with_technology(radio.technology())),
            "commute knows no published power of the radio's state `nap`"
        );
        states[1].name = "drx".to_owned();
        states[1].promotion_ns = 20 * MS;
        let promoted = RadioSpec::new(Begins::Idle, states).unwrap();
        assert_eq!(
            reason(promoted.with_technology(radio.technology())),
            "commute knows no published power of the promotion from `drx`"
        );
    }

    /// Of a log that was cut, or that ends with the cell, the rest is not known.
    #[test]
    fn a_log_without_its_end_gives_no_energy() {
        let link = link::find("lte").unwrap();
        let model = model(&link, "LTE phone of 2012");
        let whole = log(&link, &[(0, 100)]);
        assert!(model.joules(&whole, Traffic::default()).is_some());
        for changes in [&whole[..0], &whole[..3]] {
            assert_eq!(model.joules(changes, Traffic::default()), None);
            assert_eq!(awake_ns(changes, "idle"), None);
        }
        let mut cut = whole;
        let last = cut.len() - 1;
        cut[last].state = "unrecorded".to_owned();
        assert_eq!(model.joules(&cut, Traffic::default()), None);
        assert_eq!(awake_ns(&cut, "idle"), None);
    }

    #[test]
    fn the_radio_is_awake_until_its_tail_ends() {
        let link = link::find("lte").unwrap();
        let awake = awake_ns(&log(&link, &[(500, 100)]), "idle").unwrap();
        assert_close(awake as f64 / 1e9, 0.2601 + 10.1);
    }
}
