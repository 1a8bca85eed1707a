//! Gives up what the process no longer needs, once its ports, sockets and store are open.

use nix::unistd::{geteuid, initgroups, setresgid, setresuid, User};
use seccompiler::{apply_filter_all_threads, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp};
use seccompiler::{SeccompCondition, SeccompFilter, SeccompRule, TargetArch};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::path::Path;

/// Why privileges could not be given up; the process must not go on.
#[derive(Debug, thiserror::Error)]
pub enum HardeningError {
    /// Nobody has that name.
    #[error("user {0:?}: not known to this system; `useradd --system {0}` makes it")]
    User(String),
    /// The system refused.
    #[error("{what}: {why}")]
    Refused {
        /// What was asked for.
        what: &'static str,
        /// Its answer.
        why: String,
    },
}

fn refused<E: ToString>(what: &'static str) -> impl FnOnce(E) -> HardeningError {
    move |error| HardeningError::Refused { what, why: error.to_string() }
}

/// Becomes `user` when the process is root's (another user stays), keeps no capability, can gain none, and may from now on
/// only make the system calls that [`ALLOWED`] lists; others fail with `EPERM`. `files` become the user's.
///
/// Ports need no capability once they are open: sending, receiving, statistics and the detachment of an XDP program at the
/// end go by descriptors. Call it before other threads are started: capabilities belong to a thread. Where some are
/// (DPDK's), `elsewhere` has each of them call [`drop_capabilities`].
///
/// # Errors
/// The user is not known, or the system refuses.
pub fn lock_down(
    user: &str,
    files: &[&Path],
    elsewhere: impl FnOnce() -> Result<(), HardeningError>,
) -> Result<(), HardeningError> {
    if geteuid().is_root() {
        become_user(user, files)?;
    }
    elsewhere()?;
    drop_capabilities()?;
    // Sets no_new_privs, which goes to all threads with the filter.
    apply_filter_all_threads(&filter()?).map_err(refused("system call filter"))
}

/// Leaves the calling thread no capability.
///
/// # Errors
/// The system refuses.
pub fn drop_capabilities() -> Result<(), HardeningError> {
    for set in [caps::CapSet::Ambient, caps::CapSet::Effective, caps::CapSet::Permitted, caps::CapSet::Inheritable] {
        caps::clear(None, set).map_err(refused("capabilities"))?;
    }
    Ok(())
}

fn become_user(name: &str, files: &[&Path]) -> Result<(), HardeningError> {
    let unknown = || HardeningError::User(name.to_owned());
    let user = User::from_name(name).map_err(refused("user"))?.ok_or_else(unknown)?;
    for file in files.iter().filter(|file| file.exists()) {
        nix::unistd::chown(*file, Some(user.uid), Some(user.gid)).map_err(refused("owner of files"))?;
    }
    // Only while it may: the bounding set.
    for capability in caps::all() {
        if caps::has_cap(None, caps::CapSet::Bounding, capability).unwrap_or(false) {
            caps::drop(None, caps::CapSet::Bounding, capability).map_err(refused("bounding set"))?;
        }
    }
    let name = CString::new(name).map_err(|_| unknown())?;
    initgroups(&name, user.gid).map_err(refused("groups"))?;
    setresgid(user.gid, user.gid, user.gid).map_err(refused("group"))?;
    setresuid(user.uid, user.uid, user.uid).map_err(refused("user"))
}

/// What a running process asks of the system.
pub const ALLOWED: &[i64] = &[
    // Memory and threads.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_tgkill,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    // Time and chance.
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_timerfd_settime,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    // Ports and the control interfaces, on sockets that are open or accepted.
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_shutdown,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_ppoll,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_ioctl,
    // Files: the store, captures, the configuration at a reload.
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_openat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlinkat,
    libc::SYS_getcwd,
    libc::SYS_fcntl,
    libc::SYS_dup,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_unlinkat,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
];

/// Older spellings of the same.
#[cfg(target_arch = "x86_64")]
const OLDER: &[i64] = &[
    libc::SYS_poll,
    libc::SYS_select,
    libc::SYS_epoll_wait,
    libc::SYS_open,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_access,
    libc::SYS_readlink,
    libc::SYS_unlink,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];

fn filter() -> Result<BpfProgram, HardeningError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(OLDER).map(|call| (*call, Vec::new())).collect();
    // Of prctl, the name of a thread alone; of sockets, those on which a port asks whether its interface is still there.
    for (call, first) in [(libc::SYS_prctl, libc::PR_SET_NAME), (libc::SYS_socket, libc::AF_UNIX)] {
        let only = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, first as u64)
            .and_then(|condition| SeccompRule::new(vec![condition]))
            .map_err(refused("system call filter"))?;
        rules.insert(call, vec![only]);
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(refused("system call filter"))?;
    SeccompFilter::new(rules, SeccompAction::Errno(libc::EPERM as u32), SeccompAction::Allow, arch)
        .and_then(BpfProgram::try_from)
        .map_err(refused("system call filter"))
}
