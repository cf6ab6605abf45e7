//! An engine of the C interface: the client's engine, its calls, and their events.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use crate::abi::cm_status;
use crate::call::Call;
use crate::chains::PendingChains;
use crate::drive::{RequestArgs, Upload, connect, drive, request};
use crate::next_id;
use crate::queue::EventQueue;

const MAX_CALLS: usize = 16_384;

/// An engine.
pub(crate) struct Engine {
    pub(crate) queue: Arc<EventQueue>,
    pub(crate) chains: Arc<PendingChains>,
    poisoned: AtomicBool,
    state: Mutex<State>,
}

struct State {
    /// None once the engine is closed.
    client: Option<client::Engine>,
    calls: HashMap<u64, Arc<Call>>,
}

/// A running call. The call has ended once this is dropped.
pub(crate) struct RunningCall {
    pub(crate) engine: Arc<Engine>,
    pub(crate) call: Arc<Call>,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        // A call that nobody ended was ended by a panic, here or in the client.
        if !self.call.has_ended() {
            self.engine.poison();
        }
    }
}

impl Engine {
    pub(crate) fn new(
        client: client::Engine,
        queue: Arc<EventQueue>,
        chains: Arc<PendingChains>,
    ) -> Self {
        let state = State {
            client: Some(client),
            calls: HashMap::new(),
        };
        Self {
            queue,
            chains,
            poisoned: AtomicBool::new(false),
            state: Mutex::new(state),
        }
    }

    /// Starts a call. Its id is passed to `set_id` before its first event.
    pub(crate) fn submit(
        self: &Arc<Self>,
        args: RequestArgs,
        user: u64,
        set_id: impl FnOnce(u64),
    ) -> Result<cm_status, cm_status> {
        let streamed = matches!(args.body, Upload::Streamed(_));
        let (client, running) = self.begin(user, streamed, set_id)?;
        let (request, writer) = request(&client, args, &running.call.progress);
        client.spawn(async move { drive(&running.call, request, writer).await });
        Ok(cm_status::CM_OK)
    }

    /// Starts a call that only opens a connection to the origin of a URL.
    pub(crate) fn connect(
        self: &Arc<Self>,
        url: &str,
        user: u64,
        set_id: impl FnOnce(u64),
    ) -> Result<cm_status, cm_status> {
        let (client, running) = self.begin(user, false, set_id)?;
        let connected = client.connect(url);
        client.spawn(async move { connect(&running.call, connected).await });
        Ok(cm_status::CM_OK)
    }

    fn begin(
        self: &Arc<Self>,
        user: u64,
        streamed: bool,
        set_id: impl FnOnce(u64),
    ) -> Result<(client::Engine, RunningCall), cm_status> {
        let mut state = self.lock();
        let client = state.client.clone().ok_or(cm_status::CM_E_CLOSED)?;
        if state.calls.len() >= MAX_CALLS {
            return Err(cm_status::CM_E_TOO_MANY);
        }
        let id = next_id();
        let call = Call::new(id, user, streamed, Arc::clone(&self.queue));
        state.calls.insert(id, Arc::clone(&call));
        drop(state);
        set_id(id);
        let engine = Arc::clone(self);
        Ok((client, RunningCall { engine, call }))
    }

    pub(crate) fn call(&self, id: u64) -> Result<Arc<Call>, cm_status> {
        let call = self.lock().calls.get(&id).cloned();
        call.ok_or(cm_status::CM_E_NO_CALL)
    }

    /// Ends a call if it has not, and forgets it.
    pub(crate) fn release(&self, id: u64) -> cm_status {
        let Some(call) = self.lock().calls.remove(&id) else {
            return cm_status::CM_E_NO_CALL;
        };
        call.release();
        cm_status::CM_OK
    }

    /// Returns the client, which a closed engine has no more.
    pub(crate) fn client(&self) -> Result<client::Engine, cm_status> {
        self.lock().client.clone().ok_or(cm_status::CM_E_CLOSED)
    }

    /// Waits on the app's thread for something that the client does on its own.
    pub(crate) fn wait_for<T: Future<Output = ()> + Send + 'static>(
        &self,
        task: impl FnOnce(client::Engine) -> T,
    ) -> Result<cm_status, cm_status> {
        let client = self.client()?;
        if self.chains.wait_for_this_thread() {
            return Err(cm_status::CM_E_CHAIN_WAITS);
        }
        let (running, ended) = mpsc::channel::<()>();
        let task = task(client.clone());
        client.spawn(async move {
            task.await;
            drop(running);
        });
        // Nothing is sent: it ends with the task, however that ends.
        ended.recv().ok();
        Ok(cm_status::CM_OK)
    }

    /// Ends all calls, then the client's thread.
    pub(crate) fn close(&self) {
        let client = self.lock().client.take();
        self.chains.close();
        self.end_calls(cm_status::CM_E_CLOSED, "the engine was closed");
        self.queue.end(cm_status::CM_E_CLOSED);
        // The last one joins the thread.
        drop(client);
    }

    /// Ends all calls and events after a panic: nothing of this engine can be relied on.
    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
        self.chains.close();
        self.end_calls(cm_status::CM_E_PANIC, "a bug: the engine panicked");
        self.queue.end(cm_status::CM_E_PANIC);
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }

    fn end_calls(&self, status: cm_status, text: &str) {
        let calls: Vec<_> = self.lock().calls.values().cloned().collect();
        for call in calls {
            call.stop(status, text);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
