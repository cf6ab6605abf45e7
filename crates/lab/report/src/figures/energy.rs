//! The cost of traffic for a phone's battery: a model of its radio, applied to when packets crossed the link.
//!
//! **A model, not a measurement.** A radio is expensive while it transfers, and stays so for a *tail*
//! after the last packet; before the first packet after a sleep it takes a *promotion*. All three have
//! published powers and times ([`LTE`], [`UMTS`], [`WIFI`]), each from two sources that do not agree, so
//! that a result is a range. What it leaves out: signal strength, screen and processor, other apps that keep
//! the radio awake, and 5G, for which no complete set of states could be found.
//!
//! [`joules`] is a pure function of [`Activity`], the bytes of each tenth of a second.

/// Length of the bins in which traffic is counted: the time after which LTE's radio leaves continuous
/// reception (Huang et al. 2012, Table 3).
pub(crate) const BIN_MS: u32 = 100;

/// The IP bytes that crossed the link within one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    /// Start of the bin, in ms, a multiple of [`BIN_MS`].
    pub(crate) at_ms: u32,
    /// Sent by the client.
    pub(crate) up_bytes: u64,
    /// Received by the client.
    pub(crate) down_bytes: u64,
}

/// A radio's states: powers in mW above those of a sleeping radio, times in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Radio {
    /// The technology, e.g. `LTE`.
    pub(crate) name: &'static str,
    /// Where the numbers are from.
    pub(crate) source: &'static str,
    /// The shortest round trip that its networks have.
    pub(crate) least_rtt_ns: u64,
    /// The highest rate to the phone.
    pub(crate) most_bps: u64,
    /// Power while transferring, without the part that grows with the rate.
    pub(crate) base_mw: f64,
    /// mW per Mbit/s sent.
    pub(crate) up_mw_per_mbps: f64,
    /// mW per Mbit/s received.
    pub(crate) down_mw_per_mbps: f64,
    /// Time to wake up.
    pub(crate) promotion_ms: f64,
    /// Power meanwhile.
    pub(crate) promotion_mw: f64,
    /// The states after the last packet, in order: how long, and at what mean power.
    pub(crate) tail: &'static [(f64, f64)],
}

const HUANG: &str = "Huang et al., MobiSys 2012, Tables 3 and 4";
const ARO: &str = "AT&T Video Optimizer's default profiles";

/// LTE's target for the user plane, 5 ms each way (3GPP TR 25.913, section 6.2.2). UMTS is slower.
const LEAST_RTT_NS: u64 = 10_000_000;

/// The peak of LTE's category 5 (3GPP TS 36.306, Table 4.1-1) and of HSPA+ with two carriers (TS 25.306).
const LTE_BPS: u64 = 300_000_000;
const UMTS_BPS: u64 = 42_000_000;

/// LTE by both sources.
pub(crate) const LTE: [Radio; 2] = [
    Radio {
        name: "LTE",
        source: HUANG,
        least_rtt_ns: LEAST_RTT_NS,
        most_bps: LTE_BPS,
        base_mw: 1288.04,
        up_mw_per_mbps: 438.39,
        down_mw_per_mbps: 51.97,
        promotion_ms: 260.1,
        promotion_mw: 1210.7,
        tail: &[(11_576.0, 1060.0)],
    },
    Radio {
        name: "LTE",
        source: ARO,
        least_rtt_ns: LEAST_RTT_NS,
        most_bps: LTE_BPS,
        base_mw: 1200.0,
        up_mw_per_mbps: 438.39,
        down_mw_per_mbps: 51.97,
        promotion_ms: 260.0,
        promotion_mw: 1210.0,
        tail: &[(10_120.0, 1060.0)],
    },
];

/// 3G (UMTS) by both sources: the tail is first a dedicated channel, then a shared one.
pub(crate) const UMTS: [Radio; 2] = [
    Radio {
        name: "3G",
        source: HUANG,
        least_rtt_ns: LEAST_RTT_NS,
        most_bps: UMTS_BPS,
        base_mw: 817.88,
        up_mw_per_mbps: 868.98,
        down_mw_per_mbps: 122.12,
        promotion_ms: 582.1,
        promotion_mw: 659.4,
        tail: &[(8_088.0, 803.9), (824.0, 601.3)],
    },
    Radio {
        name: "3G",
        source: ARO,
        least_rtt_ns: LEAST_RTT_NS,
        most_bps: UMTS_BPS,
        base_mw: 1300.0,
        up_mw_per_mbps: 0.0,
        down_mw_per_mbps: 0.0,
        promotion_ms: 2_000.0,
        promotion_mw: 650.0,
        tail: &[(4_000.0, 1300.0), (10_000.0, 300.0)],
    },
];

/// Wi-Fi by both sources.
pub(crate) const WIFI: [Radio; 2] = [
    Radio {
        name: "Wi-Fi",
        source: HUANG,
        least_rtt_ns: 0,
        most_bps: u64::MAX,
        base_mw: 132.86,
        up_mw_per_mbps: 283.17,
        down_mw_per_mbps: 137.01,
        promotion_ms: 79.1,
        promotion_mw: 124.4,
        tail: &[(238.1, 119.3)],
    },
    Radio {
        name: "Wi-Fi",
        source: ARO,
        least_rtt_ns: 0,
        most_bps: u64::MAX,
        base_mw: 403.0,
        up_mw_per_mbps: 0.0,
        down_mw_per_mbps: 0.0,
        promotion_ms: 0.0,
        promotion_mw: 0.0,
        tail: &[(250.0, 403.0)],
    },
];

impl Radio {
    /// Reports whether a network with this round trip and mean rate can be one of the radio's. Without a rate it cannot.
    pub(crate) fn carries(&self, rtt_ns: u64, down_bps: Option<u64>) -> bool {
        rtt_ns >= self.least_rtt_ns && down_bps.is_some_and(|bps| bps <= self.most_bps)
    }
}

/// What traffic cost, in joules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Joules {
    /// Waking up.
    pub(crate) promotion_j: f64,
    /// While packets crossed.
    pub(crate) transfer_j: f64,
    /// Awake without packets.
    pub(crate) tail_j: f64,
}

impl Joules {
    /// Returns the sum.
    pub(crate) fn total_j(&self) -> f64 {
        self.promotion_j + self.transfer_j + self.tail_j
    }
}

/// Returns what traffic cost a radio that slept before it and is left alone after it. `activity` has one
/// entry for each bin with traffic, in order of time.
pub(crate) fn joules(activity: &[Activity], radio: &Radio) -> Joules {
    let mut total = Joules::default();
    let mut awake_until_ms: Option<f64> = None;
    for bin in activity {
        let at_ms = f64::from(bin.at_ms);
        let idle_ms = awake_until_ms.map(|end_ms| at_ms - end_ms);
        total.tail_j += idle_ms.map_or(0.0, |ms| tail_j(radio, ms));
        if idle_ms.is_none_or(|ms| ms >= tail_ms(radio)) {
            total.promotion_j += radio.promotion_ms * radio.promotion_mw / 1e6;
        }
        // A rate times its time is an amount: mW per Mbit/s are mJ per Mbit.
        let mbit = |bytes: u64| bytes as f64 * 8.0 / 1e6;
        total.transfer_j += f64::from(BIN_MS) * radio.base_mw / 1e6
            + radio.up_mw_per_mbps * mbit(bin.up_bytes) / 1e3
            + radio.down_mw_per_mbps * mbit(bin.down_bytes) / 1e3;
        awake_until_ms = Some(at_ms + f64::from(BIN_MS));
    }
    if awake_until_ms.is_some() {
        total.tail_j += tail_j(radio, f64::INFINITY);
    }
    total
}

fn tail_ms(radio: &Radio) -> f64 {
    radio.tail.iter().map(|(ms, _)| ms).sum()
}

/// Returns the energy in J of this long without packets: that of the tail's states one after the other, then none for
/// sleep.
fn tail_j(radio: &Radio, mut idle_ms: f64) -> f64 {
    let mut joules = 0.0;
    for &(ms, mw) in radio.tail {
        joules += idle_ms.clamp(0.0, ms) * mw / 1e6;
        idle_ms -= ms;
    }
    joules
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bin(at_ms: u32, up_bytes: u64, down_bytes: u64) -> Activity {
        Activity {
            at_ms,
            up_bytes,
            down_bytes,
        }
    }

    fn assert_close(measured: f64, expected: f64) {
        assert!((measured - expected).abs() < 1e-6, "{measured} {expected}");
    }

    /// By hand: two bins a second apart over LTE, then nothing.
    /// Nothing is said of energy on a network that no such radio has.
    #[test]
    fn a_radio_carries_only_networks_of_its_kind() {
        let mobile = (50_000_000, Some(10_200_000));
        for (network, carried) in [
            (mobile, [true, true, true]),
            // A local network, a round trip that no mobile network has, and a rate beyond 3G's.
            ((1_000_000, None), [false, false, false]),
            ((1_000_000, Some(10_200_000)), [false, false, true]),
            ((50_000_000, Some(100_000_000)), [true, false, true]),
        ] {
            let (rtt_ns, down_bps) = network;
            let of = [LTE[0], UMTS[1], WIFI[0]].map(|radio| radio.carries(rtt_ns, down_bps));
            assert_eq!(of, carried, "{network:?}");
        }
    }

    #[test]
    fn a_trace_costs_what_the_hand_computes() {
        let cost = joules(&[bin(0, 125_000, 0), bin(1_100, 0, 250_000)], &LTE[0]);
        // 0.2601 s at 1.2107 W, once: the second bin comes within the tail.
        assert_close(cost.promotion_j, 0.314_903_07);
        // Two bins of 0.1 s at 1.28804 W, 1 Mbit up at 438.39 mJ, 2 Mbit down at 51.97 mJ each.
        assert_close(cost.transfer_j, 0.257_608 + 0.438_39 + 0.103_94);
        // One second between the bins and 11.576 s after them, at 1.06 W.
        assert_close(cost.tail_j, 1.06 + 12.270_56);
        assert_close(cost.total_j(), 0.314_903_07 + 0.799_938 + 13.330_56);
    }

    #[test]
    fn after_the_tail_the_radio_sleeps_and_must_wake_again() {
        let apart = [bin(0, 100, 100), bin(60_000, 100, 100)];
        let once = joules(&apart[..1], &UMTS[0]);
        assert_close(joules(&apart, &UMTS[0]).total_j(), 2.0 * once.total_j());
        // 8.088 s at 803.9 mW, then 0.824 s at 601.3 mW.
        assert_close(once.tail_j, 6.501_943_2 + 0.495_471_2);
    }

    #[test]
    fn no_traffic_costs_nothing() {
        for radio in [LTE, UMTS, WIFI].as_flattened() {
            assert_close(joules(&[], radio).total_j(), 0.0);
        }
    }

    /// Traffic that is spread out costs more than the same traffic at once, up to a tail each.
    #[test]
    fn gaps_cost_energy_until_the_radio_sleeps() {
        for radio in [LTE, UMTS, WIFI].as_flattened() {
            let cost = |gap_ms| {
                let bins = [bin(0, 1_000, 1_000), bin(BIN_MS + gap_ms, 1_000, 1_000)];
                joules(&bins, radio).total_j()
            };
            let costs = [0, 100, 200, 1_000, 5_000, 20_000, 40_000].map(cost);
            assert!(costs.is_sorted(), "{} {costs:?}", radio.source);
            assert_close(costs[5], costs[6]);
        }
    }
}
