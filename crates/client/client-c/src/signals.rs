//! Signals: the engine's threads must not receive SIGPIPE.

/// Runs a function that starts threads, so that they never get SIGPIPE. A thread that writes to a connection closed by
/// its peer gets the signal, which ends a process in C that does not ignore it. Rust's own `main` ignores it, and so do
/// the JVM and Mono; a library must not do so for a whole process.
#[cfg(unix)]
pub(crate) fn without_sigpipe<T>(run: impl FnOnce() -> T) -> T {
    use std::mem::MaybeUninit;

    let (mut pipe, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // SAFETY: `sigemptyset` initializes `pipe`, and `pthread_sigmask` fills `before`.
    let before = unsafe {
        libc::sigemptyset(pipe.as_mut_ptr());
        libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, pipe.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    };
    let _restore = Restore(before);
    run()
}

#[cfg(not(unix))]
pub(crate) fn without_sigpipe<T>(run: impl FnOnce() -> T) -> T {
    run()
}

/// Gives the thread its signals back, even if it panics.
#[cfg(unix)]
struct Restore(libc::sigset_t);

#[cfg(unix)]
impl Drop for Restore {
    fn drop(&mut self) {
        // SAFETY: the set is initialized, and the previous mask, which may be null, is not wanted.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}
