//! The other side: an algorithm in Rust that becomes a shared library, without unsafe code of its own.
//!
//! The crate is a `cdylib`, implements [`Plugin`] for the state of an instance, and ends with [`export!`](crate::export).
//! `sojourn new aqm NAME --language rust` writes one.
#![allow(unsafe_code)]

use crate::abi::{self, answer, Table, NO_LINE, VERSION};
use std::ffi::{c_void, CStr};
use std::marker::PhantomData;
use std::ptr::null;

pub use crate::abi::{Internal, Packet, Parameter, Value};

/// What to do with an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Arrival {
    /// It joins the queue.
    Accept = answer::ACCEPT,
    /// It is dropped.
    Drop = answer::DROP,
    /// It is marked and joins the queue; only an ECN-capable one.
    Mark = answer::MARK,
}

/// What to do with the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Head {
    /// It is sent.
    Send = answer::SEND,
    /// It is dropped, and the next one is looked at.
    Drop = answer::DROP,
    /// It is marked and sent; only an ECN-capable one.
    Mark = answer::MARK,
}

/// The kinds of parameters, `SOJOURN_TIME` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Kind {
    /// In ns.
    Time = 1,
    /// On the wire.
    Bytes = 2,
    /// A number of them.
    Packets = 3,
    /// In bit/s.
    Rate = 4,
    /// From 0 to 1.
    Probability = 5,
    /// A finite number, 0 or more.
    Number = 6,
    /// A whole number.
    Count = 7,
    /// 0 or 1.
    Flag = 8,
}

/// Declares a parameter: name, kind, default with its unit, and what it does with the source of the default.
#[must_use]
pub const fn parameter(name: &'static CStr, kind: Kind, initial: &'static CStr, doc: &'static CStr) -> Parameter {
    Parameter { name: name.as_ptr(), initial: initial.as_ptr(), doc: doc.as_ptr(), kind: kind as i32 }
}

/// Declares an `f64` of the state as an internal: its offset is `offset_of!(MyPie, probability)`.
#[must_use]
pub const fn internal(name: &'static CStr, offset: usize) -> Internal {
    Internal { name: name.as_ptr(), offset: offset as u64, kind: 1 }
}

/// The values of the parameters, in the order of their declaration.
#[derive(Clone, Copy)]
pub struct Values<'a>(&'a [Value]);

impl Values<'_> {
    /// Of a time in ns, bytes, packets, a rate in bit/s, a count or a flag.
    #[must_use]
    pub fn whole(&self, index: usize) -> i64 {
        // SAFETY: both members of the union take any 64 bits.
        self.0.get(index).map_or(0, |value| unsafe { value.whole })
    }

    /// Of a probability or a number.
    #[must_use]
    pub fn real(&self, index: usize) -> f64 {
        // SAFETY: as above.
        self.0.get(index).map_or(0.0, |value| unsafe { value.real })
    }
}

/// The queue during a call.
// A pointer, because the host finds more behind what the algorithm sees, where a reference to that part may not reach.
pub struct Queue<'a>(*mut abi::Queue, PhantomData<&'a mut abi::Queue>);

impl Queue<'_> {
    fn seen(&self) -> &abi::Queue {
        // SAFETY: what the host gave, valid as long as this value.
        unsafe { &*self.0 }
    }

    fn host(&self) -> &abi::Host {
        // SAFETY: the host's table of functions is constant.
        unsafe { &*self.seen().host }
    }

    /// The present instant.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.seen().now_ns
    }

    /// Of the link that the queue feeds.
    #[must_use]
    pub fn rate_bit_s(&self) -> u64 {
        self.seen().rate_bit_s
    }

    /// Bytes that wait.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.seen().bytes
    }

    /// Packets that wait.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.seen().packets
    }

    /// When the head joined; now, if nothing waits.
    #[must_use]
    pub fn oldest_ns(&self) -> u64 {
        self.seen().oldest_ns
    }

    /// Uniform in [0, 1).
    #[must_use]
    pub fn uniform(&mut self) -> f64 {
        (self.host().uniform)(self.0)
    }

    /// True with probability `p`.
    #[must_use]
    pub fn chance(&mut self, p: f64) -> bool {
        (self.host().chance)(self.0, p) != 0
    }

    /// The waiting packet at an index, from the head; at most 64 in a call.
    #[must_use]
    pub fn waiting(&mut self, index: u64) -> Option<&Packet> {
        let packet = (self.host().waiting)(self.0, index);
        // SAFETY: NULL or a packet that stays as long as this call.
        unsafe { packet.as_ref() }
    }

    /// The host's exponential function, alike on every machine.
    #[must_use]
    pub fn exp(&self, x: f64) -> f64 {
        (self.host().exp)(x)
    }

    /// The host's natural logarithm.
    #[must_use]
    pub fn log(&self, x: f64) -> f64 {
        (self.host().log)(x)
    }

    /// The host's power function.
    #[must_use]
    pub fn pow(&self, x: f64, y: f64) -> f64 {
        (self.host().pow)(x, y)
    }
}

/// An algorithm: the state of an instance, which the host copies byte by byte.
pub trait Plugin: Copy + 'static {
    /// As users write it: `my_pie`.
    const NAME: &'static CStr;
    /// What it does, in a line.
    const SUMMARY: &'static CStr;
    /// The governing text.
    const SOURCE: &'static CStr;
    /// Made by [`parameter`].
    const PARAMETERS: &'static [Parameter];
    /// Made by [`internal`].
    const INTERNALS: &'static [Internal] = &[];
    /// The time parameter after which [`Self::update`] is called.
    const PERIOD: Option<&'static CStr> = None;
    /// [`Self::dequeue`] is called.
    const DECIDES_ON_HEADS: bool = false;
    /// It may mark.
    const MARKS: bool = false;

    /// A new instance.
    fn new(values: Values<'_>) -> Self;

    /// Other values of parameters; what has been learnt stays.
    fn set_params(&mut self, values: Values<'_>);

    /// Decides on an arrival.
    fn enqueue(&mut self, arrival: &Packet, queue: &mut Queue<'_>) -> Arrival;

    /// Decides on the head.
    fn dequeue(&mut self, _head: &Packet, _queue: &mut Queue<'_>) -> Head {
        Head::Send
    }

    /// At every whole multiple of the period.
    fn update(&mut self, _queue: &mut Queue<'_>) {}
}

/// The table of an algorithm.
#[must_use]
pub const fn table<P: Plugin>() -> Table {
    assert!(align_of::<P>() <= 64);
    Table {
        version: VERSION,
        table_bytes: size_of::<Table>() as u32,
        name: P::NAME.as_ptr(),
        title: P::NAME.as_ptr(),
        summary: P::SUMMARY.as_ptr(),
        source: P::SOURCE.as_ptr(),
        signals_on: null(),
        limit: null(),
        period: match P::PERIOD {
            Some(period) => period.as_ptr(),
            None => null(),
        },
        file: null(),
        flags: P::MARKS as u32,
        line_offset: NO_LINE,
        state_bytes: size_of::<P>() as u64,
        state_align: align_of::<P>() as u64,
        parameters: P::PARAMETERS.as_ptr(),
        parameters_len: P::PARAMETERS.len() as u64,
        internals: P::INTERNALS.as_ptr(),
        internals_len: P::INTERNALS.len() as u64,
        init: Some(init::<P>),
        set_params: Some(set_params::<P>),
        enqueue: Some(enqueue::<P>),
        dequeue: if P::DECIDES_ON_HEADS { Some(dequeue::<P>) } else { None },
        update: if P::PERIOD.is_some() { Some(update::<P>) } else { None },
    }
}

/// # Safety
/// `values` has one for each declared parameter.
unsafe fn values<'a, P: Plugin>(values: *const Value) -> Values<'a> {
    if P::PARAMETERS.is_empty() {
        return Values(&[]);
    }
    // SAFETY: promised by the caller.
    Values(unsafe { std::slice::from_raw_parts(values, P::PARAMETERS.len()) })
}

unsafe extern "C" fn init<P: Plugin>(state: *mut c_void, given: *const Value) -> i32 {
    // SAFETY: the host gives a state of this size and alignment, and a value for each parameter.
    unsafe { state.cast::<P>().write(P::new(values::<P>(given))) };
    answer::DONE
}

unsafe extern "C" fn set_params<P: Plugin>(state: *mut c_void, given: *const Value) -> i32 {
    // SAFETY: as above; `init` has been called.
    unsafe { (*state.cast::<P>()).set_params(values::<P>(given)) };
    answer::DONE
}

unsafe extern "C" fn enqueue<P: Plugin>(state: *mut c_void, packet: *const Packet, queue: *mut abi::Queue) -> i32 {
    // SAFETY: as above; packet and queue are valid during the call.
    unsafe { (*state.cast::<P>()).enqueue(&*packet, &mut Queue(queue, PhantomData)) as i32 }
}

unsafe extern "C" fn dequeue<P: Plugin>(state: *mut c_void, packet: *const Packet, queue: *mut abi::Queue) -> i32 {
    // SAFETY: as above.
    unsafe { (*state.cast::<P>()).dequeue(&*packet, &mut Queue(queue, PhantomData)) as i32 }
}

unsafe extern "C" fn update<P: Plugin>(state: *mut c_void, queue: *mut abi::Queue) -> i32 {
    // SAFETY: as above.
    unsafe { (*state.cast::<P>()).update(&mut Queue(queue, PhantomData)) };
    answer::DONE
}

/// Defines `sojourn_aqm_plugin` for an algorithm.
#[macro_export]
macro_rules! export {
    ($algorithm:ty) => {
        static SOJOURN_AQM: $crate::abi::Table = $crate::guest::table::<$algorithm>();

        /// The one symbol of `sojourn_aqm.h`.
        #[no_mangle]
        pub extern "C" fn sojourn_aqm_plugin() -> *const $crate::abi::Table {
            &SOJOURN_AQM
        }
    };
}
