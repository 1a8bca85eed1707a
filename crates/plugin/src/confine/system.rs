//! The filter, the clocks, and what is told of an attempt.

use super::{end, say, Stage};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq};
use seccompiler::{apply_filter_all_threads, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp};
use seccompiler::{SeccompCondition, SeccompFilter, SeccompRule, TargetArch};
use std::collections::hash_map::RandomState;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::fs;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// See [`super::confine`].
pub fn confine(stage: Stage, report: i32) -> Result<(), String> {
    let wrong = |why: &dyn ToString| format!("the system refuses a system call filter: {}", why.to_string());
    let program = program(stage, report).map_err(|error| wrong(&error))?;
    // Once: a filter denies it later.
    if stage != Stage::Import && !TOLD.swap(true, Ordering::Relaxed) {
        told_of(libc::SIGSYS)?;
        told_of(libc::SIGSEGV)?;
    }
    apply_filter_all_threads(&program).map_err(|error| wrong(&error))
}

/// See [`super::forget_time`].
pub fn forget_time() -> bool {
    // The standard library draws its keys once a thread, by a call that the filter denies.
    drop(RandomState::new());
    forget_pages();
    // SAFETY: an option of this thread, without pointers.
    unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV, 0, 0, 0) == 0 }
}

/// What an algorithm needs: memory, and an end.
const RUN: &[i64] = &[
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigreturn,
    // A signal of the filter cannot be blocked: it ends the process then.
    libc::SYS_rt_sigprocmask,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// What the loader of libraries needs besides.
const LOAD: &[i64] = &[
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_lseek,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_getcwd,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
];

/// What Python modules do when they are imported.
const IMPORT: &[i64] = &[
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_getdents64,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_fcntl,
    libc::SYS_ioctl,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_pipe2,
    libc::SYS_ppoll,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getrusage,
    libc::SYS_times,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_rt_sigaction,
    libc::SYS_sigaltstack,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_getaffinity,
    libc::SYS_getcpu,
    libc::SYS_wait4,
    libc::SYS_memfd_create,
    libc::SYS_ftruncate,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_select,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getdents,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_time,
];

/// An argument by its number, and what it must be.
type Condition = (u8, SeccompCmpOp, i32);

/// Opened to be read: no other access, and nothing made or cut off.
const fn reads(argument: u8) -> Condition {
    (argument, MaskedEq((libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC) as u64), libc::O_RDONLY)
}

fn program(stage: Stage, report: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    let files = matches!(stage, Stage::Import | Stage::Load);
    for call in RUN.iter().chain(LOAD.iter().filter(|_| files)) {
        rules.insert(*call, Vec::new());
    }
    for call in IMPORT.iter().filter(|_| stage == Stage::Import) {
        rules.insert(*call, Vec::new());
    }
    let no_code: Condition = (2, MaskedEq(libc::PROT_EXEC as u64), 0);
    let mut conditional = vec![
        (libc::SYS_write, (0, Eq, report)),
        (libc::SYS_mmap, no_code.clone()),
        (libc::SYS_mprotect, no_code),
        (libc::SYS_openat, reads(2)),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, reads(1)),
        (libc::SYS_clone, (0, MaskedEq(libc::CLONE_THREAD as u64), libc::CLONE_THREAD)),
        // Limits can be asked for: the third argument, new ones, is none.
        (libc::SYS_prlimit64, (2, Eq, 0)),
        (libc::SYS_clock_gettime, (0, Eq, libc::CLOCK_PROCESS_CPUTIME_ID)),
        // Another filter on top of this one.
        (libc::SYS_seccomp, (0, Eq, libc::SECCOMP_SET_MODE_FILTER as i32)),
        (libc::SYS_prctl, (0, Eq, libc::PR_SET_NO_NEW_PRIVS)),
    ];
    conditional.retain(|(call, _)| match *call {
        libc::SYS_write | libc::SYS_mmap | libc::SYS_mprotect => true,
        libc::SYS_clone | libc::SYS_prlimit64 => stage == Stage::Import,
        libc::SYS_clock_gettime | libc::SYS_seccomp | libc::SYS_prctl => stage != Stage::Run,
        // Those that open files.
        _ => files,
    });
    for (call, (argument, compare, value)) in conditional {
        // Without conditions it is allowed already.
        if rules.get(&call).is_some_and(Vec::is_empty) {
            continue;
        }
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, compare, u64::from(value as u32))?;
        rules.entry(call).or_default().push(SeccompRule::new(vec![condition])?);
    }
    let denied = if stage == Stage::Import { SeccompAction::Errno(libc::EPERM as u32) } else { SeccompAction::Trap };
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    SeccompFilter::new(rules, denied, SeccompAction::Allow, arch)?.try_into()
}

/// Whether attempts are told of.
static TOLD: AtomicBool = AtomicBool::new(false);
/// Where the kernel showed the time.
static TIME_BEGIN: AtomicUsize = AtomicUsize::new(0);
static TIME_END: AtomicUsize = AtomicUsize::new(0);

/// Takes away the pages in which the kernel shows the time; the code that reads them stays, because the loader of libraries looks
/// at its names. Where the kernel does not let them go, the counter alone is trapped.
fn forget_pages() {
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
    let (mut first, mut last) = (usize::MAX, 0);
    for line in maps.lines().filter(|line| line.contains("[vvar")) {
        let ends = line.split(' ').next().and_then(|range| range.split_once('-'));
        let Some((begin, end)) = ends else { continue };
        let (Ok(begin), Ok(end)) = (usize::from_str_radix(begin, 16), usize::from_str_radix(end, 16)) else { continue };
        (first, last) = (first.min(begin), last.max(end));
        // SAFETY: whole mappings of this process that no Rust value is in. Code that still calls into them faults, which is wanted.
        unsafe { libc::munmap(begin as *mut c_void, end - begin) };
    }
    TIME_BEGIN.store(first, Ordering::Relaxed);
    TIME_END.store(last, Ordering::Relaxed);
}

fn told_of(signal: c_int) -> Result<(), String> {
    // SAFETY: a structure of numbers, for which zero is a value.
    let mut action: libc::sigaction = unsafe { zeroed() };
    action.sa_sigaction = tell as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
    // A second fault of the same kind ends the process by the signal.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESETHAND;
    // SAFETY: the structure is whole, and `tell` only makes calls that a handler may make.
    let status = unsafe { libc::sigaction(signal, &action, null_mut()) };
    if status == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error().to_string())
    }
}

/// Says what was attempted, and ends the process. What is neither a call nor a clock happens again, and ends it by the signal.
extern "C" fn tell(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let texts: [&str; 3] = if signal == libc::SIGSYS {
        ["asked ", name(asked(info)), "\n"]
    } else if is_clock(info, context) {
        ["clock", "", "\n"]
    } else {
        return;
    };
    texts.into_iter().for_each(say);
    end(1)
}

/// The number of the call behind a SIGSYS: `si_syscall` of the kernel's structure, behind a pointer (asm-generic/siginfo.h).
fn asked(info: *const libc::siginfo_t) -> i64 {
    // SAFETY: the kernel gave a structure of 128 bytes, in which this number is at 24.
    i64::from(unsafe { info.cast::<i32>().add(6).read() })
}

/// Whether a fault comes from reading a clock.
fn is_clock(info: *const libc::siginfo_t, context: *const c_void) -> bool {
    // SAFETY: the kernel gave the structure of a fault.
    let (code, at) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // Where the kernel faults without an address: a trapped instruction, or an address that is none.
    const SI_KERNEL: i32 = 0x80;
    let shown = TIME_BEGIN.load(Ordering::Relaxed)..TIME_END.load(Ordering::Relaxed);
    (code != SI_KERNEL && shown.contains(&at)) || (code == SI_KERNEL && reads_counter(context))
}

#[cfg(target_arch = "x86_64")]
fn reads_counter(context: *const c_void) -> bool {
    // SAFETY: the kernel gave a `ucontext_t`, and the instruction that it points to was just executed.
    let code = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        (context.uc_mcontext.gregs[libc::REG_RIP as usize] as *const [u8; 2]).read()
    };
    // rdtsc, and the first two bytes of rdtscp.
    code == [0x0f, 0x31] || code == [0x0f, 0x01]
}

#[cfg(not(target_arch = "x86_64"))]
fn reads_counter(_context: *const c_void) -> bool {
    // Nothing else is trapped without an address there.
    true
}

/// Names of calls, for a message.
macro_rules! names {
    ($($(#[$only:meta])* $call:ident $text:literal)*) => {
        fn name(call: i64) -> &'static str {
            match call {
                $($(#[$only])* libc::$call => $text,)*
                _ => "another call",
            }
        }
    };
}

names! {
    SYS_openat "openat (a file)"
    SYS_openat2 "openat2 (a file)"
    SYS_read "read (a file)"
    SYS_pread64 "pread64 (a file)"
    SYS_write "write (a file or a terminal)"
    SYS_writev "writev (a file or a terminal)"
    SYS_close "close (a file)"
    SYS_newfstatat "newfstatat (a file)"
    SYS_fstat "fstat (a file)"
    SYS_statx "statx (a file)"
    SYS_faccessat "faccessat (a file)"
    SYS_faccessat2 "faccessat2 (a file)"
    SYS_readlinkat "readlinkat (a file)"
    SYS_unlinkat "unlinkat (a file)"
    SYS_mkdirat "mkdirat (a file)"
    SYS_ioctl "ioctl (a device)"
    SYS_memfd_create "memfd_create (memory as a file)"
    SYS_mmap "mmap (memory with code)"
    SYS_mprotect "mprotect (memory with code)"
    SYS_clone "clone (a process or a thread)"
    SYS_clone3 "clone3 (a process or a thread)"
    SYS_execve "execve (a program)"
    SYS_execveat "execveat (a program)"
    SYS_kill "kill (a signal)"
    SYS_tgkill "tgkill (a signal)"
    SYS_ptrace "ptrace (a process)"
    SYS_getpid "getpid (the process)"
    SYS_gettid "gettid (the process)"
    SYS_getppid "getppid (the process)"
    SYS_getuid "getuid (the user)"
    SYS_geteuid "geteuid (the user)"
    SYS_uname "uname (the machine)"
    SYS_sysinfo "sysinfo (the machine)"
    SYS_sched_getaffinity "sched_getaffinity (the machine)"
    SYS_getcpu "getcpu (the machine)"
    SYS_getrusage "getrusage (a clock)"
    SYS_times "times (a clock)"
    SYS_clock_gettime "clock_gettime (a clock)"
    SYS_gettimeofday "gettimeofday (a clock)"
    SYS_clock_nanosleep "clock_nanosleep (a clock)"
    SYS_nanosleep "nanosleep (a clock)"
    SYS_timer_create "timer_create (a clock)"
    SYS_setitimer "setitimer (a clock)"
    SYS_timerfd_create "timerfd_create (a clock)"
    SYS_getrandom "getrandom (chance)"
    SYS_socket "socket (a network)"
    SYS_socketpair "socketpair (a network)"
    SYS_connect "connect (a network)"
    SYS_sendto "sendto (a network)"
    SYS_prctl "prctl (the process)"
    SYS_seccomp "seccomp (the process)"
    SYS_prlimit64 "prlimit64 (the process)"
    SYS_rt_sigaction "rt_sigaction (a signal)"
    SYS_perf_event_open "perf_event_open (a clock)"
    SYS_bpf "bpf (the kernel)"
    SYS_io_uring_setup "io_uring_setup (files)"
    SYS_unshare "unshare (a namespace)"
    SYS_process_vm_readv "process_vm_readv (a process)"
    SYS_process_vm_writev "process_vm_writev (a process)"
    #[cfg(target_arch = "x86_64")] SYS_open "open (a file)"
    #[cfg(target_arch = "x86_64")] SYS_stat "stat (a file)"
    #[cfg(target_arch = "x86_64")] SYS_access "access (a file)"
    #[cfg(target_arch = "x86_64")] SYS_readlink "readlink (a file)"
    #[cfg(target_arch = "x86_64")] SYS_fork "fork (a process)"
    #[cfg(target_arch = "x86_64")] SYS_vfork "vfork (a process)"
    #[cfg(target_arch = "x86_64")] SYS_time "time (a clock)"
    #[cfg(target_arch = "x86_64")] SYS_alarm "alarm (a clock)"
    #[cfg(target_arch = "x86_64")] SYS_arch_prctl "arch_prctl (the process)"
}
