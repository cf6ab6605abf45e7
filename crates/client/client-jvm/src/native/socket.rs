//! The native methods of sockets.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use client::{Engine, Protocol};
use jni::objects::{JByteArray, JLongArray, JString};
use jni::sys::{jboolean, jint, jlong};

use crate::close_reason::CloseReason;
use crate::connection::{self, CallOptions, ConnectionContext, ResponseFacts, SocketState};
use crate::handles::Handles;
use crate::native::engine::ENGINES;
use crate::native::method::Failure;
use crate::native::origin::origin;
use crate::pipe::{self, AppEnd, Stopped};

/// Return values of reads and writes besides those of [`CloseKind`](crate::close_reason::CloseKind).
const TIMED_OUT: jint = -2;
const CLOSED: jint = -3;
const REFUSED: jint = -4;
/// Bytes that cross between the JVM and here at once.
const COPY: usize = 8 << 10;

static SOCKETS: Handles<Socket> = Handles::new();

struct Socket {
    engine: Weak<Engine>,
    pipe: AppEnd<CloseReason>,
    state: Arc<Mutex<SocketState>>,
    /// The message of the reason why the engine closed it, for an exception.
    end_message: Mutex<String>,
}

native! {
    /// Opens a socket to `https://host:port`; 0 if the engine has ended.
    fn Java_commute_client_Native_open(
        env,
        engine: jlong,
        host: JString<'a>,
        port: jint,
        connect_limit_ms: jint,
    ) -> jlong {
        let Some(engine) = ENGINES.get(engine) else {
            return Ok(0);
        };
        let host = host.try_to_string(env)?;
        let port = u16::try_from(port).map_err(|_| Failure(format!("{port} is not a port")))?;
        let options = CallOptions {
            connect_limit: milliseconds(connect_limit_ms),
            ..CallOptions::default()
        };
        let state = Arc::new(Mutex::new(SocketState {
            options,
            ..SocketState::default()
        }));
        let (app_end, engine_end) = pipe::pipe();
        let context = ConnectionContext {
            engine: Arc::downgrade(&engine),
            origin: origin(&host, port),
            state: Arc::clone(&state),
        };
        engine.spawn(connection::serve(context, engine_end));
        Ok(SOCKETS.add(Socket {
            engine: Arc::downgrade(&engine),
            pipe: app_end,
            state,
            end_message: Mutex::default(),
        }))
    }
}

native! {
    /// Sets how the next request is sent: how long it may wait for a connection, and whether it may be sent again. `pool`
    /// says in which of the app's pools the socket is.
    fn Java_commute_client_Native_setOptions(
        _,
        socket: jlong,
        connect_limit_ms: jint,
        resends: jboolean,
        pool: jint,
    ) {
        if let Some(socket) = SOCKETS.get(socket) {
            lock(&socket.state).options = CallOptions {
                connect_limit: milliseconds(connect_limit_ms),
                resends,
                pool,
            };
        }
        Ok(())
    }
}

native! {
    /// Waits until the engine is connected and returns 0, or why it is not.
    fn Java_commute_client_Native_connect(_, socket: jlong) -> jint {
        let Some(socket) = SOCKETS.get(socket) else {
            return Ok(CLOSED);
        };
        let connected = socket.pipe.connect();
        Ok(connected.map_or_else(|stopped| socket.stopped(stopped), |()| 0))
    }
}

native! {
    /// Waits for bytes and returns their number, or why there are none.
    fn Java_commute_client_Native_read(
        env,
        socket: jlong,
        into: JByteArray<'a>,
        offset: jint,
        length: jint,
        limit_ms: jint,
    ) -> jint {
        let Some(socket) = SOCKETS.get(socket) else {
            return Ok(CLOSED);
        };
        let length = usize::try_from(length).unwrap_or(0);
        match socket.pipe.read(length, milliseconds(limit_ms)) {
            Ok(bytes) => {
                into.set_region(env, offset, as_signed(&bytes))?;
                // No longer than `length`, which is a jint.
                Ok(jint::try_from(bytes.len()).unwrap_or(jint::MAX))
            }
            Err(stopped) => Ok(socket.stopped(stopped)),
        }
    }
}

native! {
    /// Writes all bytes and returns 0, or why they were not taken.
    fn Java_commute_client_Native_write(
        env,
        socket: jlong,
        from: JByteArray<'a>,
        offset: jint,
        length: jint,
    ) -> jint {
        let Some(socket) = SOCKETS.get(socket) else {
            return Ok(CLOSED);
        };
        let mut copy = [0_i8; COPY];
        let (mut at, end) = (offset, offset.saturating_add(length));
        while at < end {
            let count = COPY.min(usize::try_from(end - at).unwrap_or(0));
            let piece = &mut copy[..count];
            from.get_region(env, at, piece)?;
            if let Err(stopped) = socket.pipe.write(as_unsigned(piece)) {
                return Ok(socket.stopped(stopped));
            }
            at += jint::try_from(count).unwrap_or(jint::MAX);
        }
        Ok(0)
    }
}

native! {
    /// Closes a socket, which cancels its request. The engine closes its idle connections when the app closes the last idle
    /// socket of a pool, as `ConnectionPool.evictAll` does.
    fn Java_commute_client_Native_close(_, socket: jlong) {
        if let Some(socket) = SOCKETS.remove(socket) {
            socket.pipe.close();
            socket.close_last_idle();
        }
        Ok(())
    }
}

native! {
    /// Returns how the last response came, or how far the request under way got; null if none was sent. The order is that
    /// of `RouteReport.Fact`.
    fn Java_commute_client_Native_facts(env, socket: jlong) -> JLongArray<'a> {
        let Some(facts) = facts(socket) else {
            return Ok(JLongArray::null());
        };
        let (report, phases) = (&facts.report, &facts.report.phases);
        let protocol = match report.protocol {
            Protocol::H1 => 1,
            Protocol::H2 => 2,
            Protocol::H3 => 3,
        };
        let signed = |number: u64| jlong::try_from(number).unwrap_or(jlong::MAX);
        let time = |at: Option<u64>| at.map_or(-1, signed);
        let numbers = [
            protocol,
            facts.chunked_here.into(),
            report.reused.into(),
            report.resumed.into(),
            report.attempts.into(),
            signed(report.connection),
            report.local_port.into(),
            time(phases.dns_ns),
            time(phases.connect_ns),
            time(phases.tls_ns),
            time(phases.request_sent_ns),
            time(phases.first_byte_ns),
            time(facts.asked.and_then(|asked| {
                let ago = asked.elapsed().as_nanos();
                u64::try_from(ago).ok()
            })),
        ];
        let array = JLongArray::new(env, numbers.len())?;
        array.set_region(env, 0, &numbers)?;
        Ok(array)
    }
}

native! {
    /// Returns the reason for the route of the last response or request: a code, a line break, and a sentence.
    fn Java_commute_client_Native_why(env, socket: jlong) -> JString<'a> {
        let reason = facts(socket).map(|facts| facts.report.reason);
        let text = reason.map_or_else(String::new, |reason| format!("{}\n{reason}", reason.code()));
        Ok(env.new_string(text)?)
    }
}

native! {
    /// Returns why the engine ended a socket.
    fn Java_commute_client_Native_whyEnded(env, socket: jlong) -> JString<'a> {
        let socket = SOCKETS.get(socket);
        let message = socket.map(|socket| lock(&socket.end_message).clone());
        Ok(env.new_string(message.unwrap_or_default())?)
    }
}

impl Socket {
    fn stopped(&self, stopped: Stopped<CloseReason>) -> jint {
        match stopped {
            Stopped::TimedOut => TIMED_OUT,
            Stopped::Closed => CLOSED,
            Stopped::Refused => REFUSED,
            Stopped::Ended(end) => {
                let (was_sent, resends) = {
                    let state = lock(&self.state);
                    (state.progress.report().is_some(), state.options.resends)
                };
                let CloseReason { kind, message } = end.for_request(was_sent, resends);
                *lock(&self.end_message) = message;
                kind as jint
            }
        }
    }

    /// Closes the engine's idle connections if this socket was idle, and no other one of its engine and pool is.
    fn close_last_idle(&self) {
        let Some(pool) = self.idle_in() else {
            return;
        };
        let same = |other: &Self| Weak::ptr_eq(&self.engine, &other.engine);
        if SOCKETS.any(|other| same(other) && other.idle_in() == Some(pool)) {
            return;
        }
        if let Some(engine) = self.engine.upgrade() {
            engine.close_idle();
        }
    }

    /// Returns the pool where the socket is idle.
    fn idle_in(&self) -> Option<jint> {
        let state = lock(&self.state);
        state.idle.then_some(state.options.pool)
    }
}

fn facts(socket: jlong) -> Option<ResponseFacts> {
    let socket = SOCKETS.get(socket)?;
    let state = lock(&socket.state);
    let so_far = || Some(state.facts_of(state.progress.report()?, false));
    state.facts.clone().or_else(so_far)
}

/// Converts a limit in ms; 0 or less is none.
fn milliseconds(limit_ms: jint) -> Option<Duration> {
    let limit = u64::try_from(limit_ms).ok().filter(|limit| *limit > 0);
    limit.map(Duration::from_millis)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn as_signed(bytes: &[u8]) -> &[i8] {
    // SAFETY: u8 and i8 have the same size and alignment, and each value of one is one of the other.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

fn as_unsigned(bytes: &[i8]) -> &[u8] {
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests;
