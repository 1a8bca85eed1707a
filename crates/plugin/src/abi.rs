//! The types of `sojourn_aqm.h`, in its order; its comments say what they mean.

use std::ffi::{c_char, c_void};

/// The version of the interface.
pub const VERSION: u32 = 1;
/// `line_offset` of a state without one.
pub const NO_LINE: u32 = u32::MAX;

/// Answers.
pub mod answer {
    #![allow(missing_docs)]
    pub const ACCEPT: i32 = 1;
    pub const DROP: i32 = 2;
    pub const MARK: i32 = 3;
    pub const SEND: i32 = 4;
    pub const DONE: i32 = 5;
    pub const RAISED: i32 = -1;
    pub const LOOPED: i32 = -2;
}

/// A parameter's value: the member depends on its kind.
#[derive(Clone, Copy)]
#[repr(C)]
pub union Value {
    /// Times in ns, bytes, packets, rates in bit/s, counts, flags.
    pub whole: i64,
    /// Probabilities and numbers.
    pub real: f64,
}

/// A declared parameter.
#[repr(C)]
#[allow(missing_docs)]
pub struct Parameter {
    pub name: *const c_char,
    pub initial: *const c_char,
    pub doc: *const c_char,
    pub kind: i32,
}

/// A member of the state that users can watch.
#[repr(C)]
#[allow(missing_docs)]
pub struct Internal {
    pub name: *const c_char,
    pub offset: u64,
    pub kind: i32,
}

/// What the host does for an algorithm.
#[repr(C)]
#[allow(missing_docs)]
pub struct Host {
    pub uniform: extern "C" fn(*mut Queue) -> f64,
    pub chance: extern "C" fn(*mut Queue, f64) -> i32,
    pub waiting: extern "C" fn(*mut Queue, u64) -> *const Packet,
    pub exp: extern "C" fn(f64) -> f64,
    pub log: extern "C" fn(f64) -> f64,
    pub pow: extern "C" fn(f64, f64) -> f64,
}

/// The queue as an algorithm sees it.
#[repr(C)]
#[allow(missing_docs)]
pub struct Queue {
    pub now_ns: u64,
    pub rate_bit_s: u64,
    pub bytes: u64,
    pub packets: u64,
    pub oldest_ns: u64,
    pub host: *const Host,
}

/// The beginning of [`sojourn_aqm::Packet`].
#[repr(C)]
#[allow(missing_docs)]
pub struct Packet {
    pub enqueued_ns: u64,
    pub number: u64,
    pub handle: u32,
    pub flow: u32,
    pub source: u32,
    pub destination: u32,
    pub size_bytes: u32,
    pub window: u16,
    pub ecn: u8,
    pub dscp: u8,
}

// A packet is shown where it lies, so the interface follows its layout. Another layout is another version.
const _: () = {
    use std::mem::{offset_of, size_of};
    type Own = sojourn_aqm::Packet;
    assert!(size_of::<sojourn_units::Instant>() == 8 && size_of::<sojourn_aqm::Ecn>() == 1);
    assert!(offset_of!(Own, enqueued) == offset_of!(Packet, enqueued_ns));
    assert!(offset_of!(Own, serial) == offset_of!(Packet, number));
    assert!(offset_of!(Own, handle) == offset_of!(Packet, handle));
    assert!(offset_of!(Own, flow) == offset_of!(Packet, flow));
    assert!(offset_of!(Own, source) == offset_of!(Packet, source));
    assert!(offset_of!(Own, destination) == offset_of!(Packet, destination));
    assert!(offset_of!(Own, bytes) == offset_of!(Packet, size_bytes));
    assert!(offset_of!(Own, window) == offset_of!(Packet, window));
    assert!(offset_of!(Own, ecn) == offset_of!(Packet, ecn));
    assert!(offset_of!(Own, dscp) == offset_of!(Packet, dscp));
    assert!(size_of::<Packet>() <= size_of::<Own>());
};

/// The table that a library returns.
#[repr(C)]
#[allow(missing_docs)]
pub struct Table {
    pub version: u32,
    pub table_bytes: u32,
    pub name: *const c_char,
    pub title: *const c_char,
    pub summary: *const c_char,
    pub source: *const c_char,
    pub signals_on: *const c_char,
    pub limit: *const c_char,
    pub period: *const c_char,
    pub file: *const c_char,
    pub flags: u32,
    pub line_offset: u32,
    pub state_bytes: u64,
    pub state_align: u64,
    pub parameters: *const Parameter,
    pub parameters_len: u64,
    pub internals: *const Internal,
    pub internals_len: u64,
    pub init: Option<Configure>,
    pub set_params: Option<Configure>,
    pub enqueue: Option<Decide>,
    pub dequeue: Option<Decide>,
    pub update: Option<Update>,
}

// Pointers to what is never written.
#[allow(unsafe_code)]
// SAFETY: a table and what it points to are constant for the life of the process (`sojourn_aqm.h`).
unsafe impl Sync for Table {}

/// `init` and `set_params`.
pub type Configure = unsafe extern "C" fn(*mut c_void, *const Value) -> i32;
/// `enqueue` and `dequeue`.
pub type Decide = unsafe extern "C" fn(*mut c_void, *const Packet, *mut Queue) -> i32;
/// `update`.
pub type Update = unsafe extern "C" fn(*mut c_void, *mut Queue) -> i32;
