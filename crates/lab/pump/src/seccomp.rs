//! System calls that a program under test may not make.
//!
//! They are denied with an error, never with a signal, so that runtimes fall back: glibc from `clone3` to `clone`, whose
//! flags a filter can read, and libuv from io_uring to epoll. The filters are compiled before the fork and installed by
//! the child, which may only make system calls.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use crate::sys::check;

/// System calls that kernels may lack, too: programs do without. io_uring, BPF, perf and userfaultfd are large parts of
/// the kernel. The kernel's keys belong to a user and outlive a cell. The flags of `clone3` are behind a pointer, which no
/// filter can follow.
const ABSENT: [libc::c_long; 10] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_clone3,
];
/// The families of sockets that programs may open. Others, e.g. AF_VSOCK, are part of no network namespace.
const FAMILIES: [libc::c_int; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];
/// Numbers of the x32 ABI have this bit besides those of x86-64.
#[cfg(target_arch = "x86_64")]
const X32: libc::c_long = 0x4000_0000;

/// Filters for a child to install.
pub(crate) struct Filters(Vec<BpfProgram>);

impl Filters {
    /// Compiles the filters.
    pub(crate) fn compile() -> io::Result<Filters> {
        let absent = ABSENT.map(|call| (call, Vec::new())).into();
        let denied = denied().map_err(io::Error::other)?;
        Ok(Filters(vec![
            compile(absent, libc::ENOSYS)?,
            compile(denied, libc::EPERM)?,
        ]))
    }

    /// Installs the filters for the calling thread and everything that it starts, for good. The thread must have given
    /// up new privileges. Makes only system calls, as a forked child must.
    pub(crate) fn install(&self) -> io::Result<()> {
        for program in &self.0 {
            let filter = libc::sock_fprog {
                len: program.len() as libc::c_ushort,
                // The kernel only reads it.
                filter: program.as_ptr().cast_mut().cast(),
            };
            // SAFETY: the program lives through the call and has this length. The crate's instructions have the layout
            // of the kernel's, `struct sock_filter`. The flag keeps Linux before 5.16 from slowing the program down.
            let returned = unsafe {
                libc::syscall(
                    libc::SYS_seccomp,
                    libc::SECCOMP_SET_MODE_FILTER,
                    libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                    &filter,
                )
            };
            check(returned as libc::c_int)?;
        }
        Ok(())
    }
}

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

/// Returns the system calls that are denied for some arguments.
fn denied() -> Result<Rules, BackendError> {
    let argument = |number, operation, value| {
        SeccompCondition::new(number, SeccompCmpArgLen::Dword, operation, value)
    };
    let flag = libc::CLONE_NEWUSER as u64;
    let new_user = || -> Result<Vec<SeccompRule>, BackendError> {
        let condition = argument(0, SeccompCmpOp::MaskedEq(flag), flag)?;
        Ok(vec![SeccompRule::new(vec![condition])?])
    };
    let other_family = FAMILIES
        .into_iter()
        .map(|family| argument(0, SeccompCmpOp::Ne, family as u64))
        .collect::<Result<_, _>>()?;
    Ok(Rules::from([
        (libc::SYS_clone, new_user()?),
        (libc::SYS_unshare, new_user()?),
        (libc::SYS_socket, vec![SeccompRule::new(other_family)?]),
    ]))
}

/// Compiles a filter that denies these system calls with this error and allows all others.
fn compile(rules: Rules, error: libc::c_int) -> io::Result<BpfProgram> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    #[cfg(target_arch = "x86_64")]
    let rules = rules
        .into_iter()
        .flat_map(|(call, rules)| [(call, rules.clone()), (call | X32, rules)])
        .collect();
    let denied = SeccompAction::Errno(error as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, arch);
    filter
        .and_then(BpfProgram::try_from)
        .map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_compile() {
        let filters = Filters::compile().expect("every rule is valid");
        assert!(filters.0.iter().all(|program| program.len() > 4));
    }
}
