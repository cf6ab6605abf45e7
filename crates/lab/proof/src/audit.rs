//! Decides whether a cell was noisy. The same bounds apply to every cell, with and without root.
//!
//! Only causes outside the cell count. A stack that keeps the cores busy, waits for them or reads its
//! socket slowly shows its own result; noise found by such signs would depend on the arm, and
//! repeating noisy cells would choose between arms.

use link::window::Window;
use record::Audit;

/// The default relative margin of a verdict: even a cell that wants every core is slowed down by no more. Most cells
/// are idle most of the time. They are delayed only when other programs occupy all cores at the moment of a wake-up. At
/// this share that is rare: on two cores one wake-up in 400, for a few ms.
const MAX_OTHER_SHARE: f64 = 0.05;
const MAX_STEAL: f64 = 0.01;
/// Together with [`MAX_LATE_SHARE`]: one late packet out of forty is not a pattern.
const MIN_LATE_PACKETS: u64 = 3;
const MAX_LATE_SHARE: f64 = 0.01;
/// NTP slews at most 500 ppm, so a cell of a few seconds moves far less than this.
const MAX_CLOCK_STEP_NS: u64 = 10_000_000;
/// From here on a cell leaves so little of the cores that its times say more about them than about
/// its stack. The rest of the time goes to the lab itself and the kernel, which no process is
/// charged for.
const SATURATED_SHARE: f64 = 0.85;
/// A cell that takes half of the cores can make the link late by itself: the link's threads share
/// the last core with the threads that receive for the endpoints.
const LINK_DELAYING_SHARE: f64 = 0.5;

/// Adds to the figures of an audit the share of the machine that the cell took, and that others
/// took.
pub fn add_shares(audit: &mut Audit, window: &Window, cores: u32) {
    let capacity_ns = (window.took_ns.max(1) as f64) * f64::from(cores.max(1));
    let share = |ns: u64| ns as f64 / capacity_ns;
    let (client, server) = (&window.client, &window.server);
    let kernel_ns = client.kernel_cpu_ns.unwrap_or(0) + server.kernel_cpu_ns.unwrap_or(0);
    audit.own_cpu_share = share(client.cpu_ns + server.cpu_ns + kernel_ns + window.link_cpu_ns);
    audit.other_cpu_share = window.other_cpu_ns.map(share);
    audit.saturated = audit.own_cpu_share >= SATURATED_SHARE
        || (is_late(audit)
            && audit.own_cpu_share >= LINK_DELAYING_SHARE
            && !others_are_busy(audit)
            && audit.steal <= MAX_STEAL);
}

/// Returns every objection with its figures; none when the cell is clean.
pub fn objections(audit: &Audit) -> Vec<String> {
    let mut out = machine_objections(audit);
    out.extend(other_objections(audit));
    out
}

/// Returns the objections that are left where the machine may be busy with something else.
pub fn other_objections(audit: &Audit) -> Vec<String> {
    let mut out = Vec::new();
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

fn machine_objections(audit: &Audit) -> Vec<String> {
    let mut out = Vec::new();
    if others_are_busy(audit) {
        out.push(format!(
            "other programs took {:.1} % of the CPU (limit {:.0} %)",
            audit.other_cpu_share.unwrap_or(0.0) * 100.0,
            MAX_OTHER_SHARE * 100.0
        ));
    }
    if audit.steal > MAX_STEAL {
        out.push(format!(
            "the hypervisor took {:.1} % of the CPU (limit {:.0} %)",
            audit.steal * 100.0,
            MAX_STEAL * 100.0
        ));
    }
    if is_late(audit) && !audit.saturated {
        out.push(format!(
            "{} of {} packets left more than {:.2} ms late (limit {:.0} %)",
            audit.late_packets,
            audit.packets,
            ms(audit.late_bound_ns),
            MAX_LATE_SHARE * 100.0
        ));
    }
    out
}

/// Reports whether other programs used too much CPU time. Where their CPU time is invisible, late packets are the only
/// sign of them.
fn others_are_busy(audit: &Audit) -> bool {
    (audit.other_cpu_share).is_some_and(|share| share > MAX_OTHER_SHARE)
}

fn is_late(audit: &Audit) -> bool {
    audit.late_packets >= MIN_LATE_PACKETS
        && audit.late_packets as f64 > audit.packets as f64 * MAX_LATE_SHARE
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

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
            (|a, v| a.other_cpu_share = Some(v as f64 / 1000.0), 50, 51),
            (|a, v| a.steal = v as f64 / 1000.0, 10, 11),
            (|a, v| a.late_packets = v, 2, 3),
            (|a, v| a.foreign_drops = v, 0, 1),
            (|a, v| a.foreign_frames = v, 0, 1),
            (|a, v| a.clock_step_ns = v, 10_000_000, 10_000_001),
        ];
        for (i, (set, inside, outside)) in cases.into_iter().enumerate() {
            let mut audit = quiet();
            set(&mut audit, inside);
            assert!(objections(&audit).is_empty(), "case {i} inside");
            set(&mut audit, outside);
            assert_eq!(objections(&audit).len(), 1, "case {i} outside");
        }
    }

    #[test]
    fn few_late_packets_among_many_are_not_noise() {
        let late = |late_packets| Audit {
            packets: 1000,
            late_packets,
            ..quiet()
        };
        assert!(objections(&late(10)).is_empty());
        assert_eq!(objections(&late(11)).len(), 1);
    }

    /// A stack that needs ten times the CPU of another, and waits for it, is as clean.
    #[test]
    fn a_cells_own_demand_and_waits_are_not_noise() {
        for (cpu_ns, wait_ns) in [(20_000_000, 3_000_000), (200_000_000, 400_000_000)] {
            let mut window = window(cpu_ns);
            window.client.run_queue_wait_ns = wait_ns;
            let mut audit = Audit {
                run_queue_wait_ns: wait_ns,
                ..quiet()
            };
            add_shares(&mut audit, &window, 2);
            assert_eq!(audit.other_cpu_share, Some(0.015));
            assert!(objections(&audit).is_empty());
        }
    }

    fn window(client_cpu_ns: u64) -> Window {
        let mut window = Window {
            took_ns: 1_000_000_000,
            other_cpu_ns: Some(30_000_000),
            link_cpu_ns: 100_000_000,
            ..Window::default()
        };
        window.client.cpu_ns = client_cpu_ns;
        window.client.kernel_cpu_ns = Some(50_000_000);
        window.server.cpu_ns = 50_000_000;
        window
    }

    fn audited(window: &Window, late_packets: u64) -> Audit {
        let mut audit = Audit {
            late_packets,
            steal: window.steal,
            ..quiet()
        };
        add_shares(&mut audit, window, 2);
        audit
    }

    #[test]
    fn a_cell_that_takes_all_cores_is_saturated_and_not_noisy() {
        let below = audited(&window(1_499_000_000), 0);
        assert!(!below.saturated && below.own_cpu_share < SATURATED_SHARE);
        let above = audited(&window(1_500_000_000), 100);
        assert_eq!(above.own_cpu_share, 0.85);
        assert!(above.saturated && objections(&above).is_empty());
    }

    #[test]
    fn a_late_link_is_blamed_on_the_cell_only_if_it_was_busy_and_others_were_not() {
        let busy = window(800_000_000);
        assert!(!audited(&busy, 0).saturated);
        let late = audited(&busy, 100);
        assert!(late.saturated && objections(&late).is_empty());
        let idle = audited(&window(799_000_000), 100);
        assert!(!idle.saturated);
        assert_eq!(objections(&idle).len(), 1);
        let mut noisy = busy.clone();
        noisy.other_cpu_ns = Some(101_000_000);
        assert!(!audited(&noisy, 100).saturated);
        assert_eq!(objections(&audited(&noisy, 100)).len(), 2);
        let mut stolen = busy;
        stolen.steal = 0.02;
        assert!(!audited(&stolen, 100).saturated);
    }

    #[test]
    fn invisible_programs_are_no_objection() {
        let mut hidden = window(1_000_000);
        hidden.other_cpu_ns = None;
        let audit = audited(&hidden, 0);
        assert_eq!(audit.other_cpu_share, None);
        assert!(objections(&audit).is_empty());
        assert_eq!(objections(&audited(&hidden, 100)).len(), 1);
    }
}
