//! How often the packet thread has taken a turn, and its processor time: what shows a turn that does not end.

use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::Duration;

/// Turns of the packet thread, and the clock of its processor time; -1 before it has one.
static TURNS: AtomicU64 = AtomicU64::new(0);
static CLOCK: AtomicI32 = AtomicI32::new(-1);

/// The packet thread takes its next turn.
#[inline]
pub fn turned() {
    // One thread writes.
    TURNS.store(TURNS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
}

/// Turns so far.
pub fn count() -> u64 {
    TURNS.load(Ordering::Relaxed)
}

/// The calling thread is the packet thread.
#[allow(unsafe_code)]
pub fn on_packet_thread() {
    let mut clock = -1;
    // SAFETY: the calling thread, which runs, and a place for the answer.
    let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
    if failed == 0 {
        CLOCK.store(clock, Ordering::Release);
    }
}

/// Processor time of the packet thread.
#[allow(unsafe_code)]
pub fn spent() -> Option<Duration> {
    let clock = CLOCK.load(Ordering::Acquire);
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the answer; a clock that is none, or that of a thread which has ended, is refused.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let whole = u64::try_from(time.tv_sec).ok()?;
    (failed == 0 && clock != -1).then(|| Duration::new(whole, u32::try_from(time.tv_nsec).unwrap_or(0)))
}
