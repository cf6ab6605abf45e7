//! The resources that both ends used over time, counted from the first step.

use record::{Sample, Timeline};

/// Returns the samples with the CPU of each interval; none if no sample was taken.
pub(super) fn timeline(taken: &link::window::Timeline, origin_ns: u64) -> Option<Timeline> {
    let mut before = link::window::Sample::default();
    let mut samples = Vec::with_capacity(taken.samples.len());
    for sample in &taken.samples {
        samples.push(Sample {
            at_ns: sample.at_ns.saturating_sub(origin_ns),
            client_cpu_ns: sample.client_cpu_ns.saturating_sub(before.client_cpu_ns),
            server_cpu_ns: sample.server_cpu_ns.saturating_sub(before.server_cpu_ns),
            client_rss_bytes: sample.client_rss_bytes,
            server_rss_bytes: sample.server_rss_bytes,
        });
        // A process that is ending is in neither account for a moment: what it used counts once.
        before.client_cpu_ns = before.client_cpu_ns.max(sample.client_cpu_ns);
        before.server_cpu_ns = before.server_cpu_ns.max(sample.server_cpu_ns);
    }
    (!samples.is_empty()).then_some(Timeline {
        samples,
        sampler_cpu_ns: taken.sampler_cpu_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(at_ms: u64, client_ms: u64, server_ms: u64) -> link::window::Sample {
        link::window::Sample {
            at_ns: at_ms * 1_000_000,
            client_cpu_ns: client_ms * 1_000_000,
            server_cpu_ns: server_ms * 1_000_000,
            client_rss_bytes: at_ms,
            server_rss_bytes: 2 * at_ms,
        }
    }

    #[test]
    fn samples_hold_the_cpu_of_their_interval_and_count_from_the_first_step() {
        // At 300 ms, a process of the client's is ending.
        let samples = vec![
            taken(100, 20, 0),
            taken(200, 50, 5),
            taken(300, 10, 5),
            taken(400, 60, 9),
        ];
        let all = link::window::Timeline {
            samples,
            sampler_cpu_ns: 7,
        };
        let timeline = timeline(&all, 10_000_000).unwrap();
        let seen = timeline.samples.iter().map(|s| {
            let ms = |ns: u64| ns / 1_000_000;
            (
                ms(s.at_ns),
                ms(s.client_cpu_ns),
                ms(s.server_cpu_ns),
                s.client_rss_bytes,
            )
        });
        let expected = [
            (90, 20, 0, 100),
            (190, 30, 5, 200),
            (290, 0, 0, 300),
            (390, 10, 4, 400),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        assert_eq!(timeline.sampler_cpu_ns, 7);
    }

    #[test]
    fn no_sample_is_no_timeline() {
        assert_eq!(timeline(&link::window::Timeline::default(), 0), None);
    }
}
