//! Which of the host's processes get a processor first.

use crate::config::RunTable;
use rustix::process::setpriority_process;
use std::io;

/// The lowest real-time priority: before every ordinary process, after every other real-time thread.
const REAL_TIME: i32 = 1;

/// Gives the process the niceness of `run`; threads that begin later inherit it. What the system refuses is logged.
pub fn set_niceness(run: &RunTable) {
    let niceness = run.niceness;
    if let Err(error) = setpriority_process(None, niceness) {
        tracing::warn!(niceness, %error, "run.niceness needs root, CAP_SYS_NICE or Nice= in the systemd unit: on a busy host packets will be late");
    }
}

/// Gives the calling thread, and those that it starts, a real-time priority where `run` wants one for the packet thread.
/// The thread calls it while it has its privileges. Where it returns true, [`lower`] follows once the packet thread has begun.
/// What the system refuses is logged.
#[must_use]
pub fn raise(run: &RunTable) -> bool {
    if !run.real_time {
        return false;
    }
    let outcome = schedule(libc::SCHED_RR, REAL_TIME);
    if let Err(error) = &outcome {
        tracing::warn!(%error, "run.real_time needs root, CAP_SYS_NICE or LimitRTPRIO= in the systemd unit: on a busy host packets will be late");
    }
    outcome.is_ok()
}

/// Gives the calling thread the ordinary priority of its niceness.
pub fn lower() {
    if let Err(error) = schedule(libc::SCHED_OTHER, 0) {
        tracing::warn!(%error, "all threads keep a real-time priority");
    }
}

#[allow(unsafe_code)]
fn schedule(policy: libc::c_int, priority: i32) -> io::Result<()> {
    // The kernel's `sched_param` is one number. musl has the function, but it always fails.
    // SAFETY: the number is valid for the call, which only reads it; 0 is the calling thread.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, policy, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
