//! Was the cell disturbed? The rule of the house, the same as root and rootless.

use record::Audit;

/// What the audit is held against.
pub(crate) struct Bounds {
    /// Calls of the cell.
    pub(crate) calls: u64,
    /// The study's margin.
    pub(crate) margin_ns: u64,
}

/// Every objection with its figures; empty when the cell is clean.
pub(crate) fn objections(audit: &Audit, bounds: &Bounds) -> Vec<String> {
    let mut out = Vec::new();
    let per_call_ns = audit.run_queue_wait_ns / bounds.calls.max(1);
    let wait_bound_ns = MIN_WAIT_BOUND_NS.max(bounds.margin_ns / 10);
    if per_call_ns > wait_bound_ns {
        out.push(format!(
            "driver and server waited {:.2} ms a call for a core (bound {:.2} ms)",
            ms(per_call_ns),
            ms(wait_bound_ns)
        ));
    }
    if audit.steal > MAX_STEAL {
        out.push(format!(
            "the hypervisor took {:.1} % of the CPU (bound 1 %)",
            audit.steal * 100.0
        ));
    }
    if audit.late_packets >= MIN_LATE_PACKETS && audit.late_packets * 100 > audit.packets {
        out.push(format!(
            "{} of {} packets left more than {:.2} ms late (bound 1 %)",
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

/// The absolute part of the default margin, max(2 ms, 5 %) (DESIGN 7).
pub(crate) const DEFAULT_MARGIN_NS: u64 = 2_000_000;
/// DESIGN 4: the larger of 0.25 ms and a tenth of the study's margin, per call.
const MIN_WAIT_BOUND_NS: u64 = 250_000;
const MAX_STEAL: f64 = 0.01;
/// One late packet of forty is no pattern.
const MIN_LATE_PACKETS: u64 = 3;
/// NTP slews at most 500 ppm; a cell of seconds moves far less than this by slewing.
const MAX_CLOCK_STEP_NS: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        calls: 10,
        margin_ns: 2_000_000,
    };

    fn quiet() -> Audit {
        Audit {
            packets: 200,
            late_bound_ns: 1_000_000,
            ..Audit::default()
        }
    }

    #[test]
    fn both_sides_of_each_bound() {
        type Set = fn(&mut Audit, u64);
        let cases: [(Set, u64, u64); 6] = [
            (|a, v| a.run_queue_wait_ns = v, 2_500_000, 2_500_010),
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
    fn a_wide_margin_widens_the_bound() {
        let audit = Audit {
            run_queue_wait_ns: 9_000_000,
            ..quiet()
        };
        let wide = Bounds {
            margin_ns: 10_000_000,
            ..BOUNDS
        };
        assert!(objections(&audit, &wide).is_empty());
    }

    #[test]
    fn late_packets_need_a_share_as_well() {
        let audit = Audit {
            packets: 1000,
            late_packets: 10,
            ..quiet()
        };
        assert!(objections(&audit, &BOUNDS).is_empty());
    }
}
