//! Objects that the JVM knows by number. A number is never given twice, so that a stale one finds
//! nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

pub(crate) struct Handles<T>(LazyLock<RwLock<HashMap<i64, Arc<T>>>>);

/// The next number; 0 is none.
static NEXT: AtomicI64 = AtomicI64::new(1);

impl<T> Handles<T> {
    pub(crate) const fn new() -> Self {
        Self(LazyLock::new(RwLock::default))
    }

    pub(crate) fn add(&self, thing: T) -> i64 {
        let handle = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut things = self.0.write().unwrap_or_else(PoisonError::into_inner);
        things.insert(handle, Arc::new(thing));
        handle
    }

    pub(crate) fn get(&self, handle: i64) -> Option<Arc<T>> {
        let things = self.0.read().unwrap_or_else(PoisonError::into_inner);
        things.get(&handle).cloned()
    }

    pub(crate) fn any(&self, is_it: impl Fn(&T) -> bool) -> bool {
        let things = self.0.read().unwrap_or_else(PoisonError::into_inner);
        things.values().any(|thing| is_it(thing))
    }

    pub(crate) fn remove(&self, handle: i64) -> Option<Arc<T>> {
        let mut things = self.0.write().unwrap_or_else(PoisonError::into_inner);
        things.remove(&handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_number_finds_nothing() {
        let handles = Handles::new();
        let first = handles.add("first");
        assert_eq!(handles.remove(first).as_deref(), Some(&"first"));
        let second = handles.add("second");
        assert_ne!(first, second);
        assert!(handles.get(first).is_none() && handles.remove(0).is_none());
        assert_eq!(handles.get(second).as_deref(), Some(&"second"));
    }
}
