//! The namespaces, mounts and files of the init process.

use std::fs;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::facts::Side;
use crate::protocol::CONTROL_FD;
use crate::{mounts, sys};

/// The files that resolvers read, of which a bench has its own.
pub(super) const RESOLVER_FILES: [&str; 3] = [HOSTS, "/etc/nsswitch.conf", "/etc/resolv.conf"];
const HOSTS: &str = "/etc/hosts";

/// Takes over the control socket that the owner passed.
pub(super) fn control_socket() -> Option<UnixStream> {
    let number = std::env::var(CONTROL_FD).ok()?.parse().ok()?;
    let is_socket = fs::metadata(format!("/proc/self/fd/{number}"))
        .is_ok_and(|m| std::os::unix::fs::FileTypeExt::is_socket(&m.file_type()));
    if !is_socket {
        return None;
    }
    // SAFETY: the owner passed this descriptor for this purpose; nothing else here uses it.
    let inherited = unsafe { OwnedFd::from_raw_fd(number) };
    // Move it above the standard descriptors, close-on-exec.
    let fd = rustix::io::fcntl_dupfd_cloexec(&inherited, 3).ok()?;
    // `number` is closed below like any other, or replaced by /dev/null.
    std::mem::forget(inherited);
    if number == 0 {
        let null = fs::OpenOptions::new().read(true).open("/dev/null").ok()?;
        sys::place_fd(std::os::fd::AsFd::as_fd(&null), 0).ok()?;
    }
    close_all_but(Some(std::os::fd::AsRawFd::as_raw_fd(&fd))).ok()?;
    Some(UnixStream::from(fd))
}

/// Moves into new namespaces and becomes process 1 there; the original process only waits for it.
/// Returns whether a user namespace was needed.
///
/// Must be called while the process has a single thread.
pub(super) fn enter_namespaces() -> Result<bool, String> {
    let rootless = unshare()?;
    // Signals from the terminal to the owner's process group must not reach this process.
    rustix::process::setpgid(None, None)
        .map_err(|e| format!("cannot create a process group: {e}"))?;
    become_init().map_err(|e| e.to_string())?;
    Ok(rootless)
}

/// Moves into new namespaces: user (if needed), mounts, network, IPC, and PID, which only children enter. Returns whether
/// a user namespace was needed. The network is empty.
///
/// Must be called while the process has a single thread.
pub(crate) fn unshare() -> Result<bool, String> {
    let rootless = !can_administer();
    if rootless {
        let (uid, gid) = (
            rustix::process::getuid().as_raw(),
            rustix::process::getgid().as_raw(),
        );
        sys::unshare(libc::CLONE_NEWUSER).map_err(|e| user_namespace_refused(&e))?;
        let map = || -> io::Result<()> {
            fs::write("/proc/self/setgroups", "deny")?;
            fs::write("/proc/self/uid_map", format!("{uid} {uid} 1"))?;
            fs::write("/proc/self/gid_map", format!("{gid} {gid} 1"))
        };
        map().map_err(|e| user_namespace_refused(&e))?;
    }
    let spaces = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWNET | libc::CLONE_NEWIPC;
    sys::unshare(spaces).map_err(|e| {
        if rootless {
            user_namespace_refused(&e)
        } else {
            format!("cannot create namespaces: {e}")
        }
    })?;
    Ok(rootless)
}

/// Goes on in a child, which is process 1 if a PID namespace was made. The calling process waits for it, and exits with
/// its status.
///
/// Must be called while the process has a single thread.
pub(crate) fn become_init() -> io::Result<()> {
    // Listed now: the child may mount a /proc that has no entry for this process, which shares its mounts.
    let open = above_standard()?;
    let cannot_fork = |e| io::Error::other(format!("cannot fork: {e}"));
    let Some(child) = sys::fork().map_err(cannot_fork)? else {
        return Ok(());
    };
    // A copy of the control socket would hide from the owner that init has ended.
    close(open);
    let pid = rustix::process::Pid::from_raw(child);
    loop {
        match rustix::process::waitpid(pid, rustix::process::WaitOptions::empty()) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(Some((_, status))) => sys::exit_now(status.exit_status().unwrap_or(1)),
            _ => sys::exit_now(1),
        }
    }
}

/// Closes every descriptor above the standard ones except `keep`. The owner may have inherited some
/// from its shell, and they would reach the programs under test.
///
/// # Errors
///
/// Fails, with all of them open, if /proc does not list them.
pub(crate) fn close_all_but(keep: Option<i32>) -> io::Result<()> {
    let mut numbers = above_standard()?;
    numbers.retain(|number| Some(*number) != keep);
    close(numbers);
    Ok(())
}

/// Returns the descriptors above the standard ones. The list includes that of its own folder, which is closed by then.
fn above_standard() -> io::Result<Vec<i32>> {
    let dir = "/proc/self/fd";
    let mut numbers: Vec<i32> = Vec::new();
    let entries = fs::read_dir(dir);
    for entry in entries.map_err(|e| io::Error::other(format!("cannot list {dir}: {e}")))? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<i32>().ok()));
    }
    numbers.retain(|number| *number > 2);
    Ok(numbers)
}

fn close(numbers: Vec<i32>) {
    for number in numbers {
        // SAFETY: called where no object owns a descriptor that is used or dropped later, except one that is kept.
        unsafe { libc::close(number) };
    }
}

/// Mounts a private /proc, which has only the processes of the caller's PID namespace. The caller's mounts become private.
pub(crate) fn mount_proc() -> Result<(), String> {
    let private = libc::MS_REC | libc::MS_PRIVATE;
    mounts::mount(Path::new("none"), Path::new("/"), c"", private, c"")
        .map_err(|e| format!("cannot make mounts private: {e}"))?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mounts::mount(Path::new("proc"), Path::new("/proc"), c"proc", flags, c"").map_err(|e| {
        format!(
            "cannot mount a private /proc: {e}; in a container, run it with an unmasked /proc \
             (docker: --security-opt systempaths=unconfined)"
        )
    })
}

/// Mounts a private /proc and private files for name resolution. Names are looked up in the hosts
/// file only, so no DNS query leaves an endpoint.
pub(super) fn mount_private_files(names: &[String]) -> Result<(), String> {
    mount_proc()?;
    let none = c"";
    // Mounted only until its files are bind-mounted.
    let stage = Path::new("/tmp");
    mounts::mount(Path::new("bench"), stage, c"tmpfs", 0, c"mode=755")
        .map_err(|e| format!("cannot mount a tmpfs: {e}"))?;
    for (target, text) in private_files(names) {
        if !Path::new(target).exists() {
            if target == HOSTS {
                return Err(format!(
                    "{HOSTS}, which a bench replaces by its own, does not exist: create an empty one"
                ));
            }
            // Resolvers do without.
            continue;
        }
        let source = stage.join(target.trim_start_matches('/').replace('/', "-"));
        fs::write(&source, text)
            .and_then(|()| mounts::mount(&source, Path::new(target), none, libc::MS_BIND, none))
            .map_err(|e| format!("cannot mount a private {target}: {e}"))?;
    }
    mounts::unmount_lazily(stage).map_err(|e| format!("cannot unmount a tmpfs: {e}"))
}

/// Returns the path and text of each private file.
fn private_files(names: &[String]) -> [(&'static str, String); 3] {
    let server = Side::Server.addresses();
    let mut hosts = "127.0.0.1 localhost\n::1 localhost\n".to_owned();
    for name in names {
        hosts += &format!("{} {name}\n{} {name}\n", server.v4, server.v6);
    }
    let switch = "passwd: files\ngroup: files\nhosts: files\n".to_owned();
    // For resolvers that ignore nsswitch.conf; nothing listens there.
    let resolver = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n".to_owned();
    let [hosts_file, switch_file, resolver_file] = RESOLVER_FILES;
    [
        (hosts_file, hosts),
        (switch_file, switch),
        (resolver_file, resolver),
    ]
}

/// Returns whether the process has every capability that building a bench and confining programs needs. Without them, a
/// user namespace gives them.
pub fn can_administer() -> bool {
    const SETGID: u32 = 6;
    const SETUID: u32 = 7;
    const SETPCAP: u32 = 8;
    const NET_ADMIN: u32 = 12;
    const NET_RAW: u32 = 13;
    const SYS_CHROOT: u32 = 18;
    const SYS_ADMIN: u32 = 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
        .unwrap_or(0);
    let needed = [
        SETGID, SETUID, SETPCAP, NET_ADMIN, NET_RAW, SYS_CHROOT, SYS_ADMIN,
    ];
    needed.iter().all(|bit| effective >> bit & 1 == 1)
}

/// Names the setting of this machine that forbids user namespaces.
fn user_namespace_refused(error: &io::Error) -> String {
    let sysctl = |name: &str| {
        fs::read_to_string(format!("/proc/sys/{name}"))
            .map(|v| v.trim().to_owned())
            .ok()
    };
    let reason = if sysctl("user/max_user_namespaces").as_deref() == Some("0") {
        "user.max_user_namespaces is 0: raise it with `sysctl user.max_user_namespaces=10000`"
    } else if sysctl("kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        "allow them with `sysctl kernel.unprivileged_userns_clone=1`"
    } else if sysctl("kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        "AppArmor restricts them: give the program a profile with `userns,`, or \
         `sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
    } else {
        "a container or security module may forbid them (docker: --security-opt \
         seccomp=unconfined); or run as root"
    };
    format!("cannot create a user namespace ({error}), which is needed without root: {reason}")
}
