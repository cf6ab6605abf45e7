//! The circuit breaker: turns the engine off when too many requests fail in it and succeed without it.

/// Requests before the breaker may open.
const MIN_CALLS: u32 = 50;
/// The breaker opens when more than one in this many requests failed in the engine and succeeded without it.
const MAX_FALLBACKS_ONE_IN: u32 = 50;

/// Counts requests, and those that failed in the engine and succeeded in the app's own client.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CircuitBreaker {
    calls: u32,
    fallback_successes: u32,
}

impl CircuitBreaker {
    pub(crate) fn record_call(&mut self) {
        self.calls = self.calls.saturating_add(1);
    }

    pub(crate) fn record_fallback_success(&mut self) {
        self.fallback_successes = self.fallback_successes.saturating_add(1);
    }

    /// Reports whether the engine is off until the next process.
    pub(crate) fn is_open(self) -> bool {
        self.calls >= MIN_CALLS && self.fallback_successes > self.calls / MAX_FALLBACKS_ONE_IN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_above_two_percent_after_fifty_calls() {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..49 {
            breaker.record_call();
            breaker.record_fallback_success();
        }
        assert!(!breaker.is_open());
        breaker.record_call();
        assert!(breaker.is_open());
        let mut fine = CircuitBreaker::default();
        for i in 0..1_000 {
            fine.record_call();
            if i % 51 == 50 {
                fine.record_fallback_success();
            }
            assert!(!fine.is_open());
        }
    }
}
