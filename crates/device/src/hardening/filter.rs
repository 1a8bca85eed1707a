//! What a running process may ask of the system.

use super::{refused, HardeningError};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{sock_filter, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition};
use seccompiler::{SeccompFilter, SeccompRule, TargetArch};
use std::collections::BTreeMap;

/// Calls with any arguments. `CONDITIONAL` has those whose arguments matter.
pub const ALLOWED: &[i64] = &[
    // Memory and threads.
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_setaffinity,
    // RLIMIT_RTPRIO bounds what it can ask for.
    libc::SYS_sched_setscheduler,
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
    // Ports and the control interfaces.
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
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
    // Files: the store, the token, captures, the configuration at a reload.
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
    libc::SYS_mkdirat,
    libc::SYS_renameat2,
    libc::SYS_fchmodat,
    libc::SYS_getdents64,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
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
    libc::SYS_mkdir,
    libc::SYS_rename,
    libc::SYS_chmod,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[i64] = &[];

/// Flags of `clone` that make namespaces. The one of time is none of `clone`'s: there its bit belongs to the signal.
const NAMESPACES: i32 = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// An argument by its number, and what it must be.
type Condition = (u8, SeccompCmpOp, i32);

const fn with(argument: u8, bits: i32) -> Condition {
    (argument, MaskedEq(bits as u32 as u64), bits)
}

const fn without(argument: u8, bits: i32) -> Condition {
    (argument, MaskedEq(bits as u32 as u64), 0)
}

const fn is(argument: u8, value: i32) -> Condition {
    (argument, Eq, value)
}

/// The kind of a socket without its flags.
const KIND: u64 = 0xf;

/// Calls that are allowed when all conditions of one of their lines hold.
const CONDITIONAL: &[(i64, &[Condition])] = &[
    // Threads, but no processes and no namespaces.
    (libc::SYS_clone, &[with(0, libc::CLONE_THREAD), without(0, NAMESPACES)]),
    // No memory that can be executed.
    (libc::SYS_mmap, &[without(2, libc::PROT_EXEC)]),
    (libc::SYS_mprotect, &[without(2, libc::PROT_EXEC)]),
    // The name of a thread.
    (libc::SYS_prctl, &[is(0, libc::PR_SET_NAME)]),
    // Unix sockets: the control interface, the service manager, a port that asks whether its interface is still there.
    // TCP listens; `connect` is not allowed, nor is to connect by sending.
    (libc::SYS_socket, &[is(0, libc::AF_UNIX)]),
    (libc::SYS_socket, &[is(0, libc::AF_INET), (1, MaskedEq(KIND), libc::SOCK_STREAM)]),
    (libc::SYS_socket, &[is(0, libc::AF_INET6), (1, MaskedEq(KIND), libc::SOCK_STREAM)]),
    (libc::SYS_socketpair, &[is(0, libc::AF_UNIX)]),
    (libc::SYS_sendto, &[without(3, libc::MSG_FASTOPEN)]),
    (libc::SYS_sendmsg, &[without(2, libc::MSG_FASTOPEN)]),
    (libc::SYS_sendmmsg, &[without(3, libc::MSG_FASTOPEN)]),
    // Sockets that do not block; whether an interface is still there, and whether it has a carrier.
    #[cfg(not(feature = "dpdk"))]
    (libc::SYS_ioctl, &[is(1, libc::FIONBIO as i32)]),
    #[cfg(not(feature = "dpdk"))]
    (libc::SYS_ioctl, &[is(1, libc::SIOCGIFNAME as i32)]),
    #[cfg(not(feature = "dpdk"))]
    (libc::SYS_ioctl, &[is(1, libc::SIOCGIFFLAGS as i32)]),
    // DPDK's drivers ask their devices, each in its way.
    #[cfg(feature = "dpdk")]
    (libc::SYS_ioctl, &[]),
];

/// The filter: what is not allowed fails with `EPERM` and goes on.
pub(super) fn program() -> Result<BpfProgram, HardeningError> {
    let wrong = "system call filter";
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(OLDER).map(|call| (*call, Vec::new())).collect();
    for (call, conditions) in CONDITIONAL {
        let place = rules.entry(*call).or_default();
        let conditions = conditions.iter().map(|(argument, compare, value)| {
            SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, compare.clone(), u64::from(*value as u32))
        });
        let conditions: Vec<_> = conditions.collect::<Result<_, _>>().map_err(refused(wrong))?;
        if !conditions.is_empty() {
            place.push(SeccompRule::new(conditions).map_err(refused(wrong))?);
        }
    }
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(refused(wrong))?;
    let denied = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, denied, SeccompAction::Allow, arch).and_then(BpfProgram::try_from);
    let mut program = before(arch);
    // Its jumps are relative.
    program.extend(filter.map_err(refused(wrong))?);
    Ok(program)
}

/// What the library's program cannot say, in front of it (linux/filter.h, linux/seccomp.h): calls in the numbering of another
/// architecture fail too, where the library ends the process; and `clone3`, whose flags lie in memory where no filter sees
/// them, is answered `ENOSYS`, on which C libraries take `clone`. Calls of x32 have a bit in their numbers that none of the
/// allowed has.
fn before(arch: TargetArch) -> BpfProgram {
    const LOAD: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    // Offsets in `struct seccomp_data`.
    const NUMBER: u32 = 0;
    const ARCH: u32 = 4;
    // EM_... | __AUDIT_ARCH_64BIT | __AUDIT_ARCH_LE
    let audit = 0xc000_0000
        | match arch {
            TargetArch::x86_64 => 62,
            TargetArch::aarch64 => 183,
            TargetArch::riscv64 => 243,
        };
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let errno = |error: i32| libc::SECCOMP_RET_ERRNO | error as u32;
    vec![
        line(LOAD, 0, 0, ARCH),
        line(JUMP_EQUAL, 1, 0, audit),
        line(RETURN, 0, 0, errno(libc::EPERM)),
        line(LOAD, 0, 0, NUMBER),
        line(JUMP_EQUAL, 0, 1, libc::SYS_clone3 as u32),
        line(RETURN, 0, 0, errno(libc::ENOSYS)),
    ]
}
