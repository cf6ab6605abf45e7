//! Records that the app has asked for and not reported yet.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use route::{Origin, RESOLUTION_DELAY};
use tokio::sync::watch;

/// How long a record is expected, as long as a name server is waited for. Addresses wait shorter.
const PATIENCE: Duration = Duration::from_secs(1);
/// Records that are expected at a time; more are not waited for.
const MAX_EXPECTED: usize = 64;

/// The records, by origin. A record that has come drops its sender, which wakes those that wait for it.
#[derive(Debug, Default)]
pub(crate) struct ExpectedRecords(HashMap<Origin, (Instant, watch::Sender<()>)>);

impl ExpectedRecords {
    /// Notes that the app has asked for a record.
    pub(crate) fn expect(&mut self, origin: Origin, now: Instant) {
        self.0
            .retain(|_, (since, _)| now.saturating_duration_since(*since) < PATIENCE);
        if self.0.len() < MAX_EXPECTED {
            self.0
                .entry(origin)
                .or_insert_with(|| (now, watch::Sender::new(())));
        }
    }

    /// Notes that a record has come, or that there is none.
    pub(crate) fn end(&mut self, origin: &Origin) {
        self.0.remove(origin);
    }

    /// Returns a future that ends when no record is expected any more, after 50 ms at most.
    pub(crate) fn wait(&self, origin: &Origin, now: Instant) -> impl Future<Output = ()> + use<> {
        let expected = self
            .0
            .get(origin)
            .filter(|(since, _)| now.saturating_duration_since(*since) < PATIENCE);
        let expected = expected.map(|(_, sender)| sender.subscribe());
        async move {
            if let Some(mut expected) = expected {
                let ended = expected.changed();
                tokio::time::timeout(RESOLUTION_DELAY, ended).await.ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn waits(records: &ExpectedRecords, name: &str, after: Duration) -> bool {
        let (origin, began) = (Origin::new(name, 443), Instant::now());
        let wait = records.wait(&origin, began + after);
        // A wait that has nothing to wait for ends when it is polled first.
        let ended = tokio::time::timeout(Duration::ZERO, wait).await;
        ended.is_err()
    }

    #[tokio::test]
    async fn only_records_that_were_asked_for_just_now_are_waited_for() {
        let mut records = ExpectedRecords::default();
        let origin = Origin::new("a.example", 443);
        records.expect(origin.clone(), Instant::now());
        assert!(waits(&records, "a.example", Duration::ZERO).await);
        assert!(!waits(&records, "b.example", Duration::ZERO).await);
        assert!(!waits(&records, "a.example", Duration::from_secs(2)).await);
        records.end(&origin);
        assert!(!waits(&records, "a.example", Duration::ZERO).await);
    }

    #[tokio::test]
    async fn a_wait_ends_with_the_record_or_after_50_ms() {
        let mut records = ExpectedRecords::default();
        let (origin, now) = (Origin::new("a.example", 443), Instant::now());
        records.expect(origin.clone(), now);
        records.wait(&origin, now).await;
        assert!(now.elapsed() >= RESOLUTION_DELAY);
        let wait = records.wait(&origin, now);
        records.end(&origin);
        let ended = tokio::time::timeout(Duration::ZERO, wait).await;
        assert!(ended.is_ok());
    }

    #[test]
    fn there_are_no_more_than_64_at_a_time() {
        let mut records = ExpectedRecords::default();
        let now = Instant::now();
        for number in 0..100 {
            records.expect(Origin::new(&format!("{number}.example"), 443), now);
        }
        assert_eq!(records.0.len(), MAX_EXPECTED);
        records.expect(Origin::new("later.example", 443), now + PATIENCE);
        assert_eq!(records.0.len(), 1);
    }
}
