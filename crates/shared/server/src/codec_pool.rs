//! The threads that decode and encode exchanges.
//!
//! They are not the runtime's threads, which would stop reading and answering everything else
//! meanwhile. No more messages are worked on than there are cores. So many large ones neither fill
//! the memory nor crowd out the runtime's threads. Small messages go the same way: otherwise a
//! codec would pay for the size of its messages with a wake-up.

use std::collections::HashMap;
use std::num::NonZero;
use std::panic;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use messages::{Codec, Coder};
use tokio::sync::Semaphore;
use tokio::task;

/// Runs codec work; clones share the threads.
#[derive(Clone)]
pub(crate) struct CodecPool {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Coders>>>,
}

/// Coders by codec. They keep zstd's contexts between messages, as its manual advises.
#[derive(Default)]
pub(crate) struct Coders(HashMap<Codec, Coder>);

impl Coders {
    pub(crate) fn coder(&mut self, codec: Codec) -> &mut Coder {
        self.0.entry(codec).or_insert_with(|| codec.coder())
    }
}

impl CodecPool {
    /// Creates a pool that does as much at a time as this process has cores.
    pub(crate) fn per_core() -> Self {
        Self::new(thread::available_parallelism().map_or(1, NonZero::get))
    }

    fn new(concurrency: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(concurrency)),
            idle: Arc::default(),
        }
    }

    /// Waits for its turn, then runs the work on another thread. Work that has begun is finished
    /// even if the caller gives up, and counts until then.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Coders) -> T + Send + 'static,
    ) -> T {
        let permit = self.permits.clone().acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        let pool = self.clone();
        let working = task::spawn_blocking(move || {
            let mut coders = pool.idle().pop().unwrap_or_default();
            let result = work(&mut coders);
            pool.idle().push(coders);
            drop(permit);
            result
        });
        working
            .await
            .unwrap_or_else(|error| panic::resume_unwind(error.into_panic()))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Coders>> {
        // Each use is a single operation, so a panic cannot leave it half changed.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const CONCURRENCY: usize = 2;

    /// On a runtime with a single thread, which would never end if the work were done on it.
    #[tokio::test]
    async fn work_is_bounded_and_leaves_the_runtime_free() {
        let pool = CodecPool::new(CONCURRENCY);
        let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
        let (release, released) = mpsc::channel::<()>();
        let released = Arc::new(Mutex::new(released));
        let tasks: Vec<_> = (0..2 * CONCURRENCY)
            .map(|_| {
                let (pool, started, released) = (pool.clone(), started.clone(), released.clone());
                tokio::spawn(async move {
                    let work = move |_: &mut Coders| {
                        started.send(()).unwrap();
                        released.lock().unwrap().recv().unwrap();
                    };
                    pool.run(work).await;
                })
            })
            .collect();
        for _ in 0..CONCURRENCY {
            starts.recv().await.unwrap();
        }
        // All others have asked for their turn by now, because this runtime runs tasks in order.
        assert!(starts.try_recv().is_err());
        assert_eq!(pool.permits.available_permits(), 0);
        for _ in 0..2 * CONCURRENCY {
            release.send(()).unwrap();
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(pool.permits.available_permits(), CONCURRENCY);
        assert!(pool.idle().len() <= CONCURRENCY);
    }

    #[tokio::test]
    async fn abandoned_work_holds_its_place_until_it_ends() {
        let pool = CodecPool::new(1);
        let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
        let (release, released) = mpsc::channel::<()>();
        let abandoned = tokio::spawn({
            let pool = pool.clone();
            async move {
                let work = move |_: &mut Coders| {
                    started.send(()).unwrap();
                    released.recv().unwrap();
                };
                pool.run(work).await;
            }
        });
        starts.recv().await.unwrap();
        abandoned.abort();
        assert!(abandoned.await.unwrap_err().is_cancelled());
        assert_eq!(pool.permits.available_permits(), 0);
        release.send(()).unwrap();
        pool.run(|_| ()).await;
    }
}
