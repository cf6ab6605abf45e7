//! Wrappers of the system calls that no safe crate offers.
//!
//! The other `unsafe` of this crate is in [`crate::datapath::ring`], [`crate::datapath::socket`],
//! [`crate::mounts`], [`crate::capabilities`], [`crate::confinement`], [`crate::seccomp`] and, in three places,
//! [`crate::init`].

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Converts the -1 of a system call into an error.
pub(crate) fn check(returned: libc::c_int) -> io::Result<libc::c_int> {
    if returned < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(returned)
    }
}

/// Returns CLOCK_MONOTONIC, the clock of every time in this crate.
pub(crate) fn monotonic_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// Returns CLOCK_REALTIME, which only serves to convert arrival stamps and to detect clock steps.
pub(crate) fn realtime_ns() -> u64 {
    clock_ns(libc::CLOCK_REALTIME).unwrap_or(0)
}

/// Returns the CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// Returns the CPU time of a process, including its exited threads.
pub(crate) fn process_cpu_ns(pid: i32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is valid for the write; the call keeps no pointer.
    let returned = unsafe { libc::clock_getcpuclockid(pid, &mut clock) };
    if returned == 0 { clock_ns(clock) } else { None }
}

fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is valid for the write; the call keeps no pointer.
    let returned = unsafe { libc::clock_gettime(clock, &mut t) };
    (returned == 0).then(|| t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64)
}

/// Moves the caller into new namespaces (`CLONE_NEW*`).
pub(crate) fn unshare(flags: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointer; only `CLONE_NEW*` flags are passed, so no memory or
    // descriptor table is unshared under Rust's feet.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Moves the calling thread into a network namespace.
pub(crate) fn enter_netns(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes no pointer; a network namespace is a property of the thread alone.
    check(unsafe { libc::setns(fd.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Moves the calling process, which must have a single thread, into a mount namespace. Its working directory becomes the
/// root.
pub(crate) fn enter_mounts(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes no pointer.
    check(unsafe { libc::setns(fd.as_raw_fd(), libc::CLONE_NEWNS) }).map(drop)
}

/// Moves the calling process into an IPC namespace.
pub(crate) fn enter_ipc(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: takes no pointer.
    check(unsafe { libc::setns(fd.as_raw_fd(), libc::CLONE_NEWIPC) }).map(drop)
}

/// Changes the working directory of the calling process. Allocates nothing.
pub(crate) fn change_dir(path: &CStr) -> io::Result<()> {
    // SAFETY: the string lives through the call and ends in NUL.
    check(unsafe { libc::chdir(path.as_ptr()) }).map(drop)
}

/// Writes all of `bytes` to a descriptor in one call. Allocates nothing.
pub(crate) fn write(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads at most the slice's length from it.
    let written = unsafe { libc::write(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
    check(written as libc::c_int).map(drop)
}

/// Forks a process that has a single thread. Returns the child's id in the parent and `None` in the
/// child.
pub(crate) fn fork() -> io::Result<Option<i32>> {
    // SAFETY: the caller has one thread, so the child's copy of memory is consistent.
    let pid = check(unsafe { libc::fork() })?;
    Ok((pid != 0).then_some(pid))
}

/// Ends the process without running destructors or exit handlers.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: takes no pointer and does not return.
    unsafe { libc::_exit(code) }
}

/// Reduces the timer slack of this thread from the default 50 us to 1 ns, so that sleeps end on
/// time.
pub(crate) fn tighten_timer_slack() {
    // SAFETY: takes no pointer. It cannot fail with these arguments.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

/// Pins a thread (0: the caller) to the last core it may run on, unless that is its only one.
///
/// Keeps real-time threads off the other cores: the scheduler prefers to wake a program on the core
/// of its waker, where it would wait behind such a thread.
pub(crate) fn pin_to_last_core(tid: i32) -> io::Result<()> {
    restrict_cores(tid, |cores| &cores[cores.len() - 1..])
}

/// Keeps the calling thread off the last core it may run on, unless that is its only one.
pub(crate) fn keep_off_last_core() -> io::Result<()> {
    restrict_cores(0, |cores| &cores[..cores.len() - 1])
}

/// Restricts a thread to what `choose` returns of its cores, unless there is only one.
fn restrict_cores(tid: i32, choose: fn(&[usize]) -> &[usize]) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let thread = rustix::process::Pid::from_raw(tid);
    let allowed = sched_getaffinity(thread)?;
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|core| allowed.is_set(*core))
        .collect();
    if cores.len() < 2 {
        return Ok(());
    }
    let mut chosen = CpuSet::new();
    choose(&cores).iter().for_each(|core| chosen.set(*core));
    Ok(sched_setaffinity(thread, &chosen)?)
}

/// Returns the cores that the calling thread may run on.
pub(crate) fn allowed_cores() -> io::Result<rustix::thread::CpuSet> {
    Ok(rustix::thread::sched_getaffinity(None)?)
}

/// Lets the calling thread run on these cores.
pub(crate) fn run_on(cores: &rustix::thread::CpuSet) -> io::Result<()> {
    Ok(rustix::thread::sched_setaffinity(None, cores)?)
}

/// Returns the number of cores of the machine, 1 if it cannot be read.
pub(crate) fn cores() -> u64 {
    // SAFETY: takes no pointer.
    let cores = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u64::try_from(cores).unwrap_or(1).max(1)
}

/// Puts a thread (0: the caller) into SCHED_FIFO.
pub(crate) fn make_realtime(tid: i32, priority: i32) -> io::Result<()> {
    // The system call, since musl's function always fails. The kernel's `sched_param` is the priority alone.
    // SAFETY: `priority` lives through the call.
    let done = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            tid,
            libc::SCHED_FIFO,
            &raw const priority,
        )
    };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Waits until a descriptor is readable or the timeout expires (`None`: no timeout). Returns which
/// are readable: none after a timeout or a signal.
pub(crate) fn wait_readable<const N: usize>(
    fds: [BorrowedFd<'_>; N],
    timeout: Option<Duration>,
) -> io::Result<[bool; N]> {
    let mut polled = fds.map(|fd| libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    let timeout = timeout.map(|t| libc::timespec {
        tv_sec: t.as_secs() as _,
        tv_nsec: libc::c_long::from(t.subsec_nanos()),
    });
    let timeout = timeout.as_ref().map_or(std::ptr::null(), |t| t as *const _);
    // SAFETY: the array and the timeout live through the call, and N is the array's length.
    let n = unsafe { libc::ppoll(polled.as_mut_ptr(), N as _, timeout, std::ptr::null()) };
    match check(n) {
        Ok(_) => Ok(polled.map(|p| p.revents != 0)),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok([false; N]),
        Err(e) => Err(e),
    }
}

/// Blocks until the other end of a socket is closed.
pub(crate) fn wait_hangup(fd: BorrowedFd<'_>) {
    loop {
        let mut polled = libc::pollfd {
            fd: fd.as_raw_fd(),
            events: libc::POLLRDHUP,
            revents: 0,
        };
        // SAFETY: one `pollfd`, which lives through the call.
        let n = unsafe { libc::poll(&mut polled, 1, -1) };
        if n > 0 && polled.revents != 0 {
            return;
        }
    }
}

/// A child that exited or was stopped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChildStatus {
    pub(crate) pid: i32,
    /// In the encoding of `waitpid`.
    pub(crate) status: i32,
    /// CPU time of the child and of the children it waited for.
    pub(crate) cpu_ns: u64,
}

/// Collects one child that exited or was stopped, if there is one.
pub(crate) fn reap() -> Option<ChildStatus> {
    let mut status = 0;
    // SAFETY: `rusage` is plain data for which zeros are valid.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both out-pointers are valid for the call.
    let pid = unsafe { libc::wait4(-1, &mut status, libc::WNOHANG | libc::WUNTRACED, &mut used) };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    (pid > 0).then(|| ChildStatus {
        pid,
        status,
        cpu_ns: ns(used.ru_utime) + ns(used.ru_stime),
    })
}

/// Blocks SIGCHLD in this thread and in those that it starts later, for [`wait_child_signal`].
pub(crate) fn block_child_signal() {
    let set = child_signal();
    // SAFETY: `set` lives through the call; no old set is asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) };
}

/// Waits for SIGCHLD, which must be blocked.
pub(crate) fn wait_child_signal() {
    let set = child_signal();
    // SAFETY: `set` lives through the call; no details are asked for.
    unsafe { libc::sigwaitinfo(&set, std::ptr::null_mut()) };
}

fn child_signal() -> libc::sigset_t {
    // SAFETY: `sigset_t` is plain data, initialised by `sigemptyset` before use.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGCHLD);
        set
    }
}

/// Sends a signal to a process or, with a negative id, a process group.
pub(crate) fn kill(pid: i32, signal: i32) -> io::Result<()> {
    // SAFETY: takes no pointer.
    check(unsafe { libc::kill(pid, signal) }).map(drop)
}

/// Returns whether this PID namespace has processes besides its init, the caller. Zombies count.
pub(crate) fn have_others() -> io::Result<bool> {
    match kill(-1, 0) {
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => Ok(false),
        other => other.map(|()| true),
    }
}

/// Kills all processes of this PID namespace but its init, the caller. None can escape by a fork: the kernel signals all
/// while none is made, and a fork with a signal pending fails.
pub(crate) fn kill_others() -> io::Result<()> {
    // Without this check it would be every process of the machine.
    if std::process::id() != 1 {
        return Err(io::Error::other("not the init of a PID namespace"));
    }
    match kill(-1, libc::SIGKILL) {
        Err(e) if e.raw_os_error() != Some(libc::ESRCH) => Err(e),
        _ => Ok(()),
    }
}

/// Prepares a forked child for exec: the terminal if it is to run in the foreground, otherwise none, and default signal
/// handling. The child leads a process group either way.
///
/// A program that keeps the controlling terminal can type commands into the user's shell (`TIOCSTI`). A session of its
/// own takes the terminal away from it, also from `/dev/tty`.
///
/// Everything here is async-signal-safe, as the forking process has many threads.
pub(crate) fn prepare_exec(foreground: bool) -> io::Result<()> {
    // SAFETY: plain system calls on this process; the set is initialised before use.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut none);
        // A background process that takes the terminal is stopped by SIGTTOU, unless blocked.
        let mut ttou = none;
        libc::sigaddset(&mut ttou, libc::SIGTTOU);
        libc::sigprocmask(libc::SIG_SETMASK, &ttou, std::ptr::null_mut());
        if !foreground {
            check(libc::setsid())?;
        } else {
            check(libc::setpgid(0, 0))?;
            for fd in 0..3 {
                if libc::tcsetpgrp(fd, libc::getpgrp()) == 0 {
                    break;
                }
            }
        }
        for signal in [libc::SIGPIPE, libc::SIGTTOU, libc::SIGTTIN, libc::SIGTSTP] {
            libc::signal(signal, libc::SIG_DFL);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &none, std::ptr::null_mut());
    }
    Ok(())
}

/// Duplicates a descriptor to `number`, inherited across exec.
pub(crate) fn place_fd(from: BorrowedFd<'_>, number: i32) -> io::Result<()> {
    // SAFETY: takes no pointer; run in a child about to exec, where nothing in Rust owns
    // the number that is replaced.
    check(unsafe { libc::dup2(from.as_raw_fd(), number) }).map(drop)
}

/// Gives the terminal of `fd` to a process group of the same session, even from the background.
pub(crate) fn give_terminal(fd: BorrowedFd<'_>, group: i32) -> io::Result<()> {
    // SAFETY: plain system calls; SIGTTOU is blocked around the one that would otherwise stop
    // a process in the background.
    unsafe {
        let mut ttou: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut ttou);
        libc::sigaddset(&mut ttou, libc::SIGTTOU);
        libc::pthread_sigmask(libc::SIG_BLOCK, &ttou, &mut old);
        let given = check(libc::tcsetpgrp(fd.as_raw_fd(), group));
        libc::pthread_sigmask(libc::SIG_SETMASK, &old, std::ptr::null_mut());
        given.map(drop)
    }
}

/// Returns the process group of the caller.
pub(crate) fn own_group() -> i32 {
    // SAFETY: takes no pointer and cannot fail.
    unsafe { libc::getpgrp() }
}

/// Returns whether the caller's process group has the terminal of `fd`.
pub(crate) fn has_terminal(fd: BorrowedFd<'_>) -> bool {
    // SAFETY: takes no pointer.
    unsafe { libc::tcgetpgrp(fd.as_raw_fd()) == own_group() }
}

/// Makes one device request (`SIOC*`) with a `struct ifreq` that points to `data`.
pub(crate) fn device_request<T>(
    socket: BorrowedFd<'_>,
    request: libc::c_ulong,
    interface: &str,
    data: &mut T,
) -> io::Result<()> {
    // SAFETY: `ifreq` is plain data for which zeros are valid.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= ifreq.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in ifreq.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    ifreq.ifr_ifru.ifru_data = (data as *mut T).cast();
    // SAFETY: `ifreq` and the data it points to live through the call; the caller passes a
    // type laid out as the request expects, with room for the answer.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &mut ifreq) }).map(drop)
}

/// Pages memory in and locks it. Fails beyond RLIMIT_MEMLOCK.
pub(crate) fn lock_memory(memory: &[u8]) -> io::Result<()> {
    // SAFETY: the range is that of a live slice; locking changes no content.
    check(unsafe { libc::mlock(memory.as_ptr().cast(), memory.len()) }).map(drop)
}

/// Reads an integer socket option.
pub(crate) fn socket_option(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
) -> io::Result<u32> {
    let mut value: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is the size of `value`.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw mut value).cast(),
            &mut length,
        )
    })?;
    u32::try_from(value).map_err(io::Error::other)
}
