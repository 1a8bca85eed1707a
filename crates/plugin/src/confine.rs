//! Takes from this process what an algorithm has no use for, before `sojourn check aqm` runs one of somebody else.
//!
//! A system call filter lets the process compute and answer, and nothing more. Reading a clock faults: `PR_SET_TSC` traps the
//! processor's counter, and the pages in which the kernel shows the time without a call (of the vDSO) are taken away. The first such
//! attempt writes one line to the report's descriptor, `asked NAME` or `clock`, and ends the process.
#![allow(unsafe_code)]

#[cfg(target_os = "linux")]
mod system;

use std::sync::atomic::{AtomicI32, Ordering};

/// What the process still has to do. Each stage allows less than those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Run the text of a Python module, which may read files and clocks; other calls fail with `EPERM`.
    Import,
    /// Load a library, whose constructors run: files can be read.
    Load,
    /// Measure processor time: of the clocks, that of this process.
    Cost,
    /// Decide.
    Run,
}

/// Where to tell of an attempt.
static REPORT: AtomicI32 = AtomicI32::new(2);

/// Confines the process to a stage.
///
/// # Errors
/// The system has no such filters.
pub fn confine(stage: Stage, report: i32) -> Result<(), String> {
    REPORT.store(report, Ordering::Relaxed);
    #[cfg(target_os = "linux")]
    return system::confine(stage, report);
    #[cfg(not(target_os = "linux"))]
    Err(format!("system call filters need Linux (stage {stage:?})"))
}

/// Makes the reading of a clock fault, for the rest of the process; returns whether the processor's counter is trapped, which
/// some kernels cannot do. Python takes its locks by a clock, so nothing of it runs afterwards.
#[must_use]
pub fn forget_time() -> bool {
    #[cfg(target_os = "linux")]
    return system::forget_time();
    #[cfg(not(target_os = "linux"))]
    false
}

/// Processor time of this process in ns: on Linux by a call, because the pages that answer without one may be gone. 0 on Windows.
#[must_use]
#[cfg(not(unix))]
pub fn processor_ns() -> u64 {
    0
}

/// Processor time of this process in ns: on Linux by a call, because the pages that answer without one may be gone. 0 on Windows.
#[must_use]
#[cfg(unix)]
pub fn processor_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes a `timespec` there.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_PROCESS_CPUTIME_ID, &mut time)
    };
    // SAFETY: as above.
    #[cfg(not(target_os = "linux"))]
    unsafe {
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time)
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Writes a text to the report; a handler of signals may call it.
pub fn say(text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the kernel reads as many bytes as there are.
        let wrote = unsafe { libc::write(REPORT.load(Ordering::Relaxed), rest.as_ptr().cast(), rest.len() as _) };
        match usize::try_from(wrote) {
            Ok(wrote) if wrote > 0 => rest = rest.get(wrote..).unwrap_or_default(),
            _ => return,
        }
    }
}

/// Ends the process at once: what would be done in the usual way is not allowed any more.
pub fn end(status: i32) -> ! {
    // SAFETY: no code of this process runs afterwards.
    unsafe { libc::_exit(status) }
}
