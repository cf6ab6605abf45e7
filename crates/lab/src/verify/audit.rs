//! Decides whether a cell was noisy. The same bounds apply with and without root.

use pump::Window;
use record::{Audit, Call};

/// The absolute part of a verdict's default margin, max(2 ms, 5 %).
const DEFAULT_MARGIN_NS: u64 = 2_000_000;
/// A few wake-ups on a busy core.
const MIN_WAIT_BOUND_NS: u64 = 250_000;
const MAX_STEAL: f64 = 0.01;
/// One late packet out of forty is not a pattern.
const MIN_LATE_PACKETS: u64 = 3;
/// NTP slews at most 500 ppm, so a cell of a few seconds moves far less than this.
const MAX_CLOCK_STEP_NS: u64 = 10_000_000;

/// The bounds of one cell.
pub(crate) struct Bounds {
    /// How long driver and server together may have waited for a core in the window.
    pub(crate) wait_ns: u64,
    /// The share of the window in which driver or server wanted a core, 0 to 1.
    pub(crate) demand: f64,
}

impl Bounds {
    /// Allows each call the larger of 0.25 ms and a tenth of its margin. The margin is the study's,
    /// by default the larger of 2 ms and 5 % of the call's time.
    pub(crate) fn new(calls: &[Call], margin_ns: Option<u64>, window: &Window) -> Bounds {
        let allowed_ns = |call: &Call| {
            let default_ns = DEFAULT_MARGIN_NS.max(call.end_ns / 20);
            MIN_WAIT_BOUND_NS.max(margin_ns.unwrap_or(default_ns) / 10)
        };
        let (client, server) = (&window.client, &window.server);
        let wanted_ns =
            client.cpu_ns + client.run_queue_wait_ns + server.cpu_ns + server.run_queue_wait_ns;
        Bounds {
            wait_ns: calls.iter().map(allowed_ns).sum(),
            demand: (wanted_ns as f64 / window.took_ns.max(1) as f64).min(1.0),
        }
    }
}

/// Returns every objection with its figures; none when the cell is clean.
pub(crate) fn objections(audit: &Audit, bounds: &Bounds) -> Vec<String> {
    let mut out = Vec::new();
    // Threads of one cell that wait for each other are not interference: a runtime's compiler and
    // its application do so in every cell, and the report shows it as a cost. Only the time that
    // other programs ran while the cell wanted a core counts, assuming that they run at any time
    // with equal probability.
    let caused_by_others_ns = match audit.other_cpu_ns {
        Some(ns) => (ns as f64 * bounds.demand) as u64,
        None => u64::MAX,
    };
    if audit.run_queue_wait_ns.min(caused_by_others_ns) > bounds.wait_ns {
        let others = match audit.other_cpu_ns {
            Some(ns) => format!("while other programs ran for {:.2} ms ", ms(ns)),
            None => String::new(),
        };
        out.push(format!(
            "driver and server waited {:.2} ms for a core {others}(limit {:.2} ms)",
            ms(audit.run_queue_wait_ns),
            ms(bounds.wait_ns)
        ));
    }
    if audit.steal > MAX_STEAL {
        out.push(format!(
            "the hypervisor took {:.1} % of the CPU (limit 1 %)",
            audit.steal * 100.0
        ));
    }
    if audit.late_packets >= MIN_LATE_PACKETS && audit.late_packets * 100 > audit.packets {
        out.push(format!(
            "{} of {} packets left more than {:.2} ms late (limit 1 %)",
            audit.late_packets,
            audit.packets,
            ms(audit.late_bound_ns)
        ));
    }
    if audit.foreign_drops > 0 {
        out.push(format!(
            "{} packets were dropped outside the model",
            audit.foreign_drops
        ));
    }
    if audit.foreign_frames > 0 {
        out.push(format!(
            "{} frames were not TCP, UDP or ICMP errors",
            audit.foreign_frames
        ));
    }
    if audit.clock_step_ns > MAX_CLOCK_STEP_NS {
        out.push(format!(
            "the wall clock stepped by {:.2} ms",
            ms(audit.clock_step_ns)
        ));
    }
    out
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        wait_ns: 2_500_000,
        demand: 0.25,
    };

    fn quiet() -> Audit {
        Audit {
            packets: 200,
            late_bound_ns: 1_000_000,
            ..Audit::default()
        }
    }

    #[test]
    fn each_bound_is_exact() {
        type Set = fn(&mut Audit, u64);
        let cases: [(Set, u64, u64); 6] = [
            (|a, v| a.run_queue_wait_ns = v, 2_500_000, 2_500_001),
            (|a, v| a.steal = v as f64 / 1000.0, 10, 11),
            (|a, v| a.late_packets = v, 2, 3),
            (|a, v| a.foreign_drops = v, 0, 1),
            (|a, v| a.foreign_frames = v, 0, 1),
            (|a, v| a.clock_step_ns = v, 10_000_000, 10_000_001),
        ];
        for (i, (set, inside, outside)) in cases.into_iter().enumerate() {
            let mut audit = quiet();
            set(&mut audit, inside);
            assert!(objections(&audit, &BOUNDS).is_empty(), "case {i} inside");
            set(&mut audit, outside);
            assert_eq!(objections(&audit, &BOUNDS).len(), 1, "case {i} outside");
        }
    }

    #[test]
    fn waiting_counts_only_while_other_programs_ran() {
        let waited = |other_cpu_ns| Audit {
            run_queue_wait_ns: 400_000_000,
            other_cpu_ns,
            ..quiet()
        };
        assert!(objections(&waited(Some(10_000_000)), &BOUNDS).is_empty());
        assert_eq!(objections(&waited(Some(10_000_008)), &BOUNDS).len(), 1);
        assert_eq!(objections(&waited(None), &BOUNDS).len(), 1);
    }

    fn call(end_ns: u64) -> Call {
        Call {
            id: 1,
            group: "echo".into(),
            connection: 1,
            first: true,
            state: record::State::ColdConnection,
            proof: record::Proof::Server,
            protocol: "h2".into(),
            start_ns: 0,
            dns_ns: None,
            connect_ns: None,
            tls_ns: None,
            request_sent_ns: None,
            first_byte_ns: None,
            end_ns,
            request_bytes: 0,
            response_bytes: 0,
            result: record::CallResult::Ok,
            server_hits: 1,
            server_ns: None,
            exchange: None,
        }
    }

    fn bounds(calls: &[Call], margin_ns: Option<u64>) -> Bounds {
        Bounds::new(calls, margin_ns, &Window::default())
    }

    #[test]
    fn each_call_may_wait_a_tenth_of_its_margin() {
        // 0.25 ms for the short call, a tenth of 5 % for the long one.
        let calls = [call(50_000_000), call(400_000_000)];
        assert_eq!(bounds(&calls, None).wait_ns, 250_000 + 2_000_000);
        assert_eq!(bounds(&calls, Some(10_000_000)).wait_ns, 2 * 1_000_000);
        assert_eq!(bounds(&[], None).wait_ns, 0);
    }

    #[test]
    fn demand_is_the_share_of_time_a_core_was_wanted() {
        let mut window = Window {
            took_ns: 1_000,
            ..Window::default()
        };
        (window.client.cpu_ns, window.server.run_queue_wait_ns) = (200, 50);
        assert_eq!(Bounds::new(&[], None, &window).demand, 0.25);
        window.server.cpu_ns = 5_000;
        assert_eq!(Bounds::new(&[], None, &window).demand, 1.0);
    }

    #[test]
    fn few_late_packets_among_many_are_not_noise() {
        let audit = Audit {
            packets: 1000,
            late_packets: 10,
            ..quiet()
        };
        assert!(objections(&audit, &BOUNDS).is_empty());
    }
}
