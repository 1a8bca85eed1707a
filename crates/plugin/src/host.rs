//! What the host does for an algorithm while it decides.
#![allow(unsafe_code)]

use crate::abi::{Host, Packet, Queue};
use sojourn_aqm::Random;

/// Packets that an algorithm may look at in one call.
pub const MAX_PACKETS_READ: u32 = 64;

pub static HOST: Host = Host { uniform, chance, waiting, exp, log, pow };

/// Names and addresses of these functions, for an algorithm that is compiled while the program runs.
#[must_use]
pub fn host_functions() -> [(&'static str, usize); 6] {
    [
        ("uniform", HOST.uniform as usize),
        ("chance", HOST.chance as usize),
        ("waiting", HOST.waiting as usize),
        ("exp", HOST.exp as usize),
        ("log", HOST.log as usize),
        ("pow", HOST.pow as usize),
    ]
}

/// What went wrong in a call besides its answer. As wide as its neighbour, so that both are cleared in one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CallFault {
    Nothing = 0,
    NoRandom,
    NotANumber,
    TooManyLooks,
}

impl CallFault {
    /// Keeps the first.
    fn note(&mut self, what: Self) {
        if *self == Self::Nothing {
            *self = what;
        }
    }
}

/// A [`Queue`] with what the host needs for the algorithm's questions behind it.
#[repr(C)]
pub struct CallContext<'a> {
    pub seen: Queue,
    pub random: Option<&'a mut dyn Random>,
    pub queue: &'a sojourn_aqm::Queue,
    pub looks: u32,
    pub wrong: CallFault,
}

/// The whole of what an algorithm was given a part of.
///
/// # Safety
/// `queue` is what [`CallContext::seen`] of a call that has not returned lies at.
unsafe fn context_of<'a>(queue: *mut Queue) -> &'a mut CallContext<'a> {
    // SAFETY: `seen` is the first member of a `repr(C)` structure, which no one else uses during the call.
    unsafe { &mut *queue.cast::<CallContext<'a>>() }
}

extern "C" fn uniform(queue: *mut Queue) -> f64 {
    // SAFETY: an algorithm passes on the pointer that it got (`sojourn_aqm.h`).
    let asked = unsafe { context_of(queue) };
    match &mut asked.random {
        Some(random) => random.uniform(),
        None => {
            asked.wrong.note(CallFault::NoRandom);
            0.5
        }
    }
}

extern "C" fn chance(queue: *mut Queue, p: f64) -> i32 {
    // SAFETY: as in `uniform`.
    let asked = unsafe { context_of(queue) };
    if p.is_nan() {
        asked.wrong.note(CallFault::NotANumber);
        return 0;
    }
    if p <= 0.0 || p >= 1.0 {
        return i32::from(p >= 1.0);
    }
    match &mut asked.random {
        Some(random) => i32::from(random.is_below(p)),
        None => i32::from(uniform(queue) < p),
    }
}

extern "C" fn waiting(queue: *mut Queue, index: u64) -> *const Packet {
    // SAFETY: as in `uniform`.
    let asked = unsafe { context_of(queue) };
    if asked.looks >= MAX_PACKETS_READ {
        asked.wrong.note(CallFault::TooManyLooks);
        return std::ptr::null();
    }
    asked.looks += 1;
    let index = usize::try_from(index).unwrap_or(usize::MAX);
    asked.queue.get(index).map_or(std::ptr::null(), |packet| std::ptr::from_ref(packet).cast())
}

extern "C" fn exp(x: f64) -> f64 {
    libm::exp(x)
}

extern "C" fn log(x: f64) -> f64 {
    libm::log(x)
}

extern "C" fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}
