//! The memory folder of each engine. Two engines in one folder would overwrite each other's file.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Folders in use, each with an object that lives as long as its engine.
pub(crate) struct MemoryFolders<T>(Mutex<BTreeMap<String, Weak<T>>>);

impl<T> MemoryFolders<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Gives a folder to an engine, unless another one has it that has not ended.
    pub(crate) fn claim(&self, folder: &str, engine: &Arc<T>) -> bool {
        let mut folders = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        folders.retain(|_, owner| owner.strong_count() > 0);
        let free = !folders.contains_key(folder);
        if free {
            folders.insert(folder.to_owned(), Arc::downgrade(engine));
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_one_engine_at_a_time() {
        let folders = MemoryFolders::new();
        let (first, second) = (Arc::new(1), Arc::new(2));
        assert!(folders.claim("a", &first));
        assert!(!folders.claim("a", &second));
        assert!(folders.claim("b", &second));
        let last_request = Arc::clone(&first);
        drop(first);
        assert!(!folders.claim("a", &second), "it has not ended");
        drop(last_request);
        assert!(folders.claim("a", &second));
    }
}
