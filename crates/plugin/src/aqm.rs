//! A table of function pointers as an [`Aqm`].
//!
//! A wrong answer is contained: an arrival joins the queue, a head is sent. It is counted, and the first one is described
//! ([`Aqm::fault`]); a simulation ends with that description.
//!
//! # Work per packet
//! One call of the algorithm for an arrival, and one for each head that it drops or sends. After a pause at most
//! `CATCH_UP` updates are made up; earlier ones are left out.

use crate::abi::{self, answer};
use crate::definition::{Definition, Internal};
use crate::host::{CallContext, CallFault, HOST, MAX_PACKETS_READ};
use crate::params::Params;
use sojourn_aqm::{About, Algorithm, Aqm, Cx, DropsAt, Ecn, Packet, Queue, Random, Reads, Reason, Ticks};
use sojourn_units::{BitRate, Instant, Span};
use std::ffi::c_void;

/// The most updates that are caught up at once, as for PIE.
const CATCH_UP: u64 = 4096;

/// Sixty-four bytes of a state, at the greatest alignment that one may have.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
struct Block([u64; 8]);

/// An instance's state, owned by the host.
#[derive(Clone, Debug)]
struct State(Vec<Block>);

impl State {
    fn new(bytes: usize) -> Self {
        Self(vec![Block::default(); bytes.div_ceil(64).max(1)])
    }

    fn address(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    /// The bytes at an offset that [`Definition::read`] has checked.
    fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        let words = self.0.iter().flat_map(|block| block.0).flat_map(u64::to_ne_bytes);
        let mut bytes = [0; N];
        bytes.iter_mut().zip(words.skip(offset)).for_each(|(byte, there)| *byte = there);
        bytes
    }

    fn internal(&self, one: &Internal) -> f64 {
        match one.kind {
            1 => f64::from_ne_bytes(self.bytes(one.offset)),
            2 => i64::from_ne_bytes(self.bytes(one.offset)) as f64,
            3 => u64::from_ne_bytes(self.bytes(one.offset)) as f64,
            4 => f64::from(u32::from_ne_bytes(self.bytes(one.offset))),
            _ => f64::from(u8::from_ne_bytes(self.bytes(one.offset))),
        }
    }
}

/// An instance of an algorithm from outside.
#[derive(Clone, Debug)]
pub struct Plugged {
    state: State,
    /// Started by the first arrival if there is a function for updates.
    updates: Ticks,
    /// Decides on arrivals; `None` of an algorithm without a table.
    enqueue: Option<abi::Decide>,
    has_updates: bool,
    /// No function decides on a head.
    sends_all: bool,
    params: Params,
    wrong: u64,
    first: Option<Box<str>>,
}

/// The functions of a table, for messages.
#[derive(Clone, Copy)]
enum Call {
    Init,
    SetParams,
    Enqueue,
    Dequeue,
    Update,
}

impl Call {
    const fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::SetParams => "set_params",
            Self::Enqueue => "enqueue",
            Self::Dequeue => "dequeue",
            Self::Update => "update",
        }
    }

    const fn allowed(self) -> &'static str {
        match self {
            Self::Enqueue => "1 (accept), 2 (drop), 3 (mark)",
            Self::Dequeue => "4 (send), 2 (drop), 3 (mark)",
            Self::Init | Self::SetParams | Self::Update => "5 (done)",
        }
    }
}

/// What an algorithm is shown of `queue` at `now`.
#[inline(always)]
fn shown<'a>(now: Instant, rate: BitRate, random: Option<&'a mut dyn Random>, queue: &'a Queue) -> CallContext<'a> {
    CallContext {
        seen: abi::Queue {
            now_ns: now.nanos(),
            rate_bit_s: rate.bit_s(),
            bytes: queue.bytes(),
            packets: queue.len() as u64,
            oldest_ns: queue.head().map_or(now, |head| head.enqueued).nanos(),
            host: &raw const HOST,
        },
        random,
        queue,
        looks: 0,
        wrong: CallFault::Nothing,
    }
}

impl Plugged {
    fn definition(&self) -> Option<&'static Definition> {
        self.params.definition
    }

    /// Calls `init` or `set_params`.
    fn configure(&mut self, call: Call) {
        let Some(definition) = self.definition() else { return };
        let function = if matches!(call, Call::Init) { definition.init } else { definition.set_params };
        let given = self.params.given();
        #[allow(unsafe_code)]
        // SAFETY: a state of the declared size and alignment, and a value for each declared parameter, as the header says.
        let answer = unsafe { function(self.state.address(), given.as_ptr()) };
        if answer != answer::DONE {
            self.note(call, answer, CallFault::Nothing);
        }
    }

    /// Asks about a packet.
    #[inline(always)]
    fn ask(&mut self, function: abi::Decide, packet: &Packet, asked: &mut CallContext<'_>) -> i32 {
        let packet = std::ptr::from_ref(packet).cast::<abi::Packet>();
        #[allow(unsafe_code)]
        // SAFETY: a state of the declared size and alignment; a packet, whose layout `abi` compares with the header's; and
        // what the algorithm may see of the queue, which nobody else uses meanwhile.
        unsafe {
            function(self.state.address(), packet, std::ptr::from_mut(asked).cast())
        }
    }

    /// Counts and describes an answer that is none, or what was wrong in its call.
    #[cold]
    fn note(&mut self, call: Call, answer: i32, wrong: CallFault) {
        self.wrong += 1;
        if self.first.is_some() {
            return;
        }
        let Some(definition) = self.definition() else { return };
        let function = call.name();
        let what = match (wrong, answer) {
            (CallFault::NoRandom, _) => {
                format!("{function} asks for a random number, which only enqueue and dequeue may")
            }
            (CallFault::NotANumber, _) => {
                format!("{function} asks for a chance with a probability that is not a number (NaN)")
            }
            (CallFault::TooManyLooks, _) => {
                format!("{function} looks at more than {MAX_PACKETS_READ} waiting packets in one call")
            }
            (CallFault::Nothing, answer::RAISED) => format!("{function} raised an exception"),
            (CallFault::Nothing, answer::LOOPED) => format!("a loop in {function} does not end"),
            (CallFault::Nothing, answer::MARK) if matches!(call, Call::Enqueue | Call::Dequeue) => {
                format!("{function} marks a packet that is not ECN-capable, which has to be dropped instead (RFC 3168, section 7)")
            }
            (CallFault::Nothing, 0) => format!("{function} gives no answer (0); allowed: {}", call.allowed()),
            (CallFault::Nothing, answer) => {
                format!("{function} gives the answer {answer}; allowed: {}", call.allowed())
            }
        };
        let place = match (definition.file, definition.line) {
            (Some(file), Some(offset)) => format!(" ({file}, line {})", u32::from_ne_bytes(self.state.bytes(offset))),
            (Some(file), None) => format!(" ({file})"),
            (None, _) => String::new(),
        };
        self.first = Some(format!("{}: {what}{place}", definition.name).into());
    }

    /// The updates that are due.
    #[inline(never)]
    fn catch_up(&mut self, now: Instant, rate: BitRate, queue: &Queue) {
        let Some(update) = self.definition().and_then(|definition| definition.update) else { return };
        self.updates.skip_to_last(now, CATCH_UP);
        while let Some(at) = self.updates.take(now) {
            let mut asked = shown(at, rate, None, queue);
            #[allow(unsafe_code)]
            // SAFETY: as in `ask`.
            let answer = unsafe { update(self.state.address(), std::ptr::from_mut(&mut asked).cast()) };
            let wrong = asked.wrong;
            if answer != answer::DONE || wrong != CallFault::Nothing {
                self.note(Call::Update, answer, wrong);
            }
        }
    }

    /// The time between updates.
    fn period(params: &Params) -> Span {
        let index = params.definition.and_then(|one| one.period);
        index.and_then(|index| params.time(index)).unwrap_or(Span::ZERO)
    }

    /// An answer that is more than to accept.
    #[inline(never)]
    fn otherwise(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet, answer: i32, wrong: CallFault) {
        let is_capable = packet.ecn != Ecn::NotEct;
        let is_known = matches!(answer, answer::ACCEPT | answer::DROP) || (answer == answer::MARK && is_capable);
        if !is_known || wrong != CallFault::Nothing {
            self.note(Call::Enqueue, answer, wrong);
        }
        match answer {
            answer::DROP => cx.drop(packet, Reason::Early),
            answer::MARK if is_capable => {
                let mut marked = packet;
                let _ = cx.mark(&mut marked);
                queue.push(marked);
            }
            _ => queue.push(packet),
        }
    }
}

impl Aqm for Plugged {
    // The window is in `sojourn_packet`; what an algorithm looks at cannot be known.
    const READS: Reads = Reads { window: true, ..Reads::NONE };

    #[inline]
    fn advance(&mut self, now: Instant, rate: BitRate, queue: &Queue) {
        if self.updates.is_due(now) {
            self.catch_up(now, rate, queue);
        }
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet) {
        if self.has_updates {
            self.updates.start(cx.now);
        }
        if self.params.limit.is_full(queue, packet.bytes) {
            return cx.drop(packet, Reason::Overflow);
        }
        let Some(function) = self.enqueue else { return queue.push(packet) };
        let mut asked = shown(cx.now, cx.rate, Some(&mut *cx.random), queue);
        let answer = self.ask(function, &packet, &mut asked);
        let wrong = asked.wrong;
        if answer == answer::ACCEPT && wrong == CallFault::Nothing {
            queue.push(packet);
        } else {
            self.otherwise(cx, queue, packet, answer, wrong);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        let Some(function) = self.definition().and_then(|definition| definition.dequeue) else { return queue.pop() };
        // Bound: what waits.
        while let Some(head) = queue.head() {
            let mut asked = shown(cx.now, cx.rate, Some(&mut *cx.random), queue);
            let answer = self.ask(function, head, &mut asked);
            let (wrong, ecn) = (asked.wrong, head.ecn);
            if wrong != CallFault::Nothing {
                self.note(Call::Dequeue, answer, wrong);
            }
            match answer {
                answer::SEND => return queue.pop(),
                answer::MARK if ecn != Ecn::NotEct => {
                    let mut packet = queue.pop()?;
                    let _ = cx.mark(&mut packet);
                    return Some(packet);
                }
                answer::DROP => cx.drop(queue.pop()?, Reason::Early),
                _ => {
                    if wrong == CallFault::Nothing {
                        self.note(Call::Dequeue, answer, wrong);
                    }
                    return queue.pop();
                }
            }
        }
        None
    }

    #[inline(always)]
    fn passes(&mut self, now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        self.sends_all && !self.updates.is_due(now)
    }

    fn internals(&self, visit: &mut sojourn_aqm::Internal<'_>) {
        let internals = self.definition().map_or(&[][..], |definition| &definition.internals);
        internals.iter().for_each(|one| visit(one.name, self.state.internal(one)));
        visit("wrong_answers", self.wrong as f64);
    }

    fn fault(&self) -> Option<String> {
        self.first.as_deref().map(str::to_owned)
    }
}

impl Algorithm for Plugged {
    type Params = Params;

    // Of an algorithm without a table; each table has its own.
    const ABOUT: About = About {
        title: "plug-in",
        summary: "an algorithm from outside",
        source: "sojourn_aqm.h",
        signals_on: "not said",
        drops_at: DropsAt::Both,
        ecn: false,
        per_flow_state: false,
    };

    fn check(params: &Params) -> Result<(), String> {
        let Some(definition) = params.definition else { return Ok(()) };
        let period = definition.period.and_then(|index| definition.parameters.get(index).zip(params.time(index)));
        match period {
            Some((parameter, Span::ZERO)) => Err(format!("{} is 0; allowed: a time above 0", parameter.name)),
            _ => Ok(()),
        }
    }

    fn set_params(&mut self, params: &Params) {
        self.params = params.clone();
        self.updates = self.updates.clone().every(Self::period(params));
        self.configure(Call::SetParams);
    }

    fn new(params: &Params) -> Self {
        let definition = params.definition;
        let mut new = Self {
            state: State::new(definition.map_or(0, |definition| definition.state_bytes)),
            updates: Ticks::new(Self::period(params)),
            enqueue: definition.map(|definition| definition.enqueue),
            has_updates: definition.is_some_and(|definition| definition.update.is_some()),
            sends_all: definition.is_none_or(|definition| definition.dequeue.is_none()),
            wrong: 0,
            first: None,
            params: params.clone(),
        };
        new.configure(Call::Init);
        new
    }
}
