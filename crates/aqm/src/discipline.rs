use crate::{Cx, Limit, Packet, Parameters, Queue, Reads, Reason};
use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;
use core::fmt::Debug;
use sojourn_units::{BitRate, Instant};

/// What a dequeue gives.
#[derive(Debug)]
pub enum Dequeued {
    /// Send this now.
    Packet(Packet),
    /// Nothing waits.
    Empty,
    /// Something waits, but a shaper holds it until this instant.
    NotBefore(Instant),
}

/// What waits now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting packets, without the one being sent.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

impl Backlog {
    /// What a packet takes beside its buffer's contents.
    const BESIDE: u64 = 640;
    /// Room of the smallest buffer.
    const BUFFER: u64 = 1664;

    /// Bytes of memory that the packets take in a gateway, which limits of memory count. Packets of up to 1664 B take 2304 B each,
    /// longer ones 640 B more than their size on average.
    ///
    /// These are the figures of Linux on 64-bit machines (`truesize` of `struct sk_buff`) for a frame that an Ethernet driver
    /// received: half a page of 2048 B, of which 64 B are headroom and 320 B shared information, and a descriptor of 256 B.
    #[must_use]
    #[inline]
    pub const fn memory(self) -> u64 {
        let buffers = self.packets.wrapping_mul(Self::BUFFER);
        let held = if self.bytes > buffers { self.bytes } else { buffers };
        held.wrapping_add(self.packets.wrapping_mul(Self::BESIDE))
    }

    /// Whether the packets take more memory than `limit`.
    #[must_use]
    #[inline]
    pub const fn exceeds(self, limit: u64) -> bool {
        // The first sum is never below the memory, and takes fewer instructions: far from the limit it is enough.
        let most = self.bytes.wrapping_add(self.packets.wrapping_mul(Self::BUFFER + Self::BESIDE));
        most > limit && self.memory() > limit
    }
}

/// A named internal of an algorithm and its present value, for probes, metrics and tests.
pub type Internal<'a> = dyn FnMut(&'static str, f64) + 'a;

/// A queue that takes turns with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedQueue {
    /// The list that it is in: `new` or `old` (RFC 8290, section 4.2), or `active` where there is one.
    pub list: &'static str,
    /// Bytes that it may still send before its turn ends; below 0 it owes them.
    pub deficit_bytes: i64,
    /// What waits in it.
    pub backlog: Backlog,
    /// Hash of the five-tuple of the packet at its head; `None` where nothing waits.
    pub flow: Option<u32>,
}

/// A queueing discipline: owns its queues; all that the simulator and the device see.
///
/// Every packet given to [`enqueue`](Self::enqueue) comes back exactly once: from
/// [`dequeue`](Self::dequeue), from [`drain`](Self::drain), or through [`Observer::dropped`](crate::Observer::dropped).
pub trait Discipline: Any + Send {
    /// Offers an arriving packet. It is queued or dropped; others may be dropped instead.
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: Packet);

    /// Asks for the next packet to send. The host calls this whenever the link becomes free,
    /// also when nothing waits: some algorithms learn from an empty queue.
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued;

    /// True when it may hold back what waits while the link is free ([`Dequeued::NotBefore`]).
    fn is_shaper(&self) -> bool {
        false
    }

    /// What it reads of a packet with its present parameters, beyond what every host fills in.
    fn reads(&self) -> Reads {
        Reads::NONE
    }

    /// The service rate changes from `cx.rate` to `rate` now.
    fn set_rate(&mut self, _cx: &mut Cx<'_>, _rate: BitRate) {}

    /// Other parameters of the same algorithm from now on; what has been learnt is kept. What waits is kept, too, but for what
    /// exceeds a lower limit ([`Excess`]). `params` is of [`Config::typed`](crate::Config::typed), with
    /// [`Config::with`](crate::Config::with) of what it runs. False where it is of another algorithm, and nothing has changed.
    ///
    /// Not for the packet path.
    fn set_params(&mut self, cx: &mut Cx<'_>, params: &dyn Any) -> bool;

    /// Takes a packet out, in order and without any decision: for switching the algorithm without loss.
    fn drain(&mut self) -> Option<Packet>;

    /// Forgets everything learnt, as new. Packets that still wait stay.
    fn reset(&mut self);

    /// What waits now.
    fn backlog(&self) -> Backlog;

    /// Shows every named internal as of `now`. Whether anyone looks changes no decision.
    fn internals(&mut self, now: Instant, rate: BitRate, visit: &mut Internal<'_>);

    /// Shows the queues that take turns, in the order of their turns; none where there is one queue, and none of CAKE's.
    fn listed_queues(&self, _visit: &mut dyn FnMut(ListedQueue)) {}

    /// What the algorithm did that no algorithm may: an answer of a plug-in that is none. What a run reports after it is of no use.
    fn fault(&self) -> Option<String> {
        None
    }

    /// A copy, queued packets included (checkpoints).
    fn clone_box(&self) -> Box<dyn Discipline>;
}

impl Clone for Box<dyn Discipline> {
    fn clone(&self) -> Self {
        self.clone_box()
    }
}

/// Shows the internals as of `now`. On a copy, so that no one who looks changes anything: PIE leaves out updates beyond a
/// bound, and which ones depends on when it was last asked.
pub(crate) fn look<A: Aqm + Clone>(aqm: &A, now: Instant, rate: BitRate, queue: &Queue, visit: &mut Internal<'_>) {
    let mut copy = aqm.clone();
    copy.advance(now, rate, queue);
    copy.internals(visit);
}

/// An algorithm over one borrowed queue.
pub trait Aqm {
    /// Whether [`passes`](Self::passes) is ever true.
    const PASSES: bool = true;

    /// See [`Discipline::reads`].
    const READS: Reads = Reads::NONE;

    /// Performs periodic updates that fall due up to and including `now`, at their nominal instants.
    /// Called before every other method, so a method never sees a stale state. Work is bounded.
    fn advance(&mut self, _now: Instant, _rate: BitRate, _queue: &Queue) {}

    /// Decides on an arrival: pushes it to `queue` or drops it. `packet.enqueued` is `cx.now`.
    fn enqueue(&mut self, cx: &mut Cx<'_>, queue: &mut Queue, packet: Packet);

    /// Takes the next packet to send out of `queue`, dropping on the way what the algorithm decides to.
    /// `None` only when nothing waits any more.
    #[inline]
    fn dequeue(&mut self, _cx: &mut Cx<'_>, queue: &mut Queue) -> Option<Packet> {
        queue.pop()
    }

    /// True when the link gets the head as it is, if one waits; then this has also done whatever [`advance`](Self::advance)
    /// and [`dequeue`](Self::dequeue) do besides. On false nothing has changed, and both are to be called.
    ///
    /// A short way for the common case; `false` is always right.
    fn passes(&mut self, _now: Instant, _rate: BitRate, _queue: &Queue) -> bool {
        false
    }

    /// A container dropped `packets` from the head of this queue because all queues together were full.
    fn overflowed(&mut self, _now: Instant, _packets: u64) {}

    /// Shows every named internal.
    fn internals(&self, _visit: &mut Internal<'_>) {}

    /// See [`Discipline::fault`].
    fn fault(&self) -> Option<String> {
        None
    }
}

/// Where an algorithm drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropsAt {
    /// An arrival, before it joins.
    Enqueue,
    /// The head, as it would leave.
    Dequeue,
    /// Both.
    Both,
}

impl DropsAt {
    /// `enqueue`, `dequeue` or `both`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Dequeue => "dequeue",
            Self::Both => "both",
        }
    }
}

/// What becomes of packets that wait beyond a limit that a change of parameters has lowered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// One queue loses its first packets.
    Oldest,
    /// One queue loses its last packets.
    Newest,
    /// A fair queue gives the packets that it would send next.
    Turn,
    /// The longest of several queues loses packets, as when the buffer is full.
    Longest,
    /// The classic queue loses its first packets, and then the L4S queue.
    Classic,
    /// They wait until the next packet arrives, which finds the buffer too full.
    Arrival,
    /// They are sent; only arrivals meet the new limit.
    Sent,
}

impl Excess {
    /// What the algorithm's page says of it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Oldest => "the excess is dropped at once, the packets that have waited longest first",
            Self::Newest => "the excess is dropped at once, the last arrivals first",
            Self::Turn => {
                "packets leave at once in the order in which they would be sent, and are dropped, until the limit holds"
            }
            Self::Longest => "the excess is dropped at once, from the longest queue, as when the buffer is full",
            Self::Classic => {
                "the excess is dropped at once, the oldest packets of the classic queue first, then those of the L4S queue"
            }
            Self::Arrival => "the excess is dropped when the next packet arrives",
            Self::Sent => "packets that wait are sent; only arrivals meet the new limit",
        }
    }
}

/// What the tables of the documentation say of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name in prose: `CoDel`.
    pub title: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The governing text.
    pub source: &'static str,
    /// What it signals on: `queue length`, `sojourn time`, ...
    pub signals_on: &'static str,
    /// Where it drops.
    pub drops_at: DropsAt,
    /// Can mark instead of dropping.
    pub ecn: bool,
    /// Keeps state per flow.
    pub per_flow_state: bool,
}

/// What the registry needs of an algorithm besides its decisions.
pub trait Algorithm: Aqm + Clone + Send + 'static {
    /// Its parameters; `Default` gives the cited defaults.
    type Params: Parameters;

    /// For tables and help.
    const ABOUT: About;

    /// Named sets of parameters that replace the defaults.
    const PRESETS: &'static [&'static str] = &[];

    /// The parameters of a preset named in [`Self::PRESETS`].
    #[must_use]
    fn preset(_name: &str) -> Option<Self::Params> {
        None
    }

    /// Relations among parameters (`min < max`).
    ///
    /// # Errors
    /// What is wrong and what is allowed, naming the parameters.
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }

    /// Parameters that [`Self::set_params`] cannot change: those that a table of state is laid out by.
    const FIXED: &'static [&'static str] = &[];

    /// Other parameters from now on, which have passed [`Self::check`]; what has been learnt is kept. The container drops what
    /// waits beyond a lower limit, as [`Self::EXCESS`] says.
    fn set_params(&mut self, params: &Self::Params);

    /// What the container does with packets beyond a lower limit: [`Excess::Oldest`], [`Excess::Newest`] or [`Excess::Sent`].
    const EXCESS: Excess = Excess::Oldest;

    /// What may wait after a change to `params`, where [`Self::EXCESS`] is dropped.
    #[must_use]
    fn room(params: &Self::Params) -> Option<Limit> {
        params.limit()
    }

    /// What the defaults, or those of a preset, are inside a fair queue, where they differ (fq_codel marks by default).
    #[must_use]
    fn in_fair_queue(_preset: Option<&str>, params: Self::Params) -> Self::Params {
        params
    }

    /// A new instance; `params` have passed [`Self::check`].
    #[must_use]
    fn new(params: &Self::Params) -> Self;
}

/// Among which packets a discipline keeps the order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// All: one queue.
    Arrival,
    /// Those of one flow.
    Flow,
    /// Those of one flow that carry one ECN codepoint (DualPI2).
    Codepoint,
}

/// A discipline with queues of its own kind, which no single-queue algorithm can be put under.
pub trait Standalone: Discipline + Clone + 'static {
    /// Its parameters; `Default` gives the cited defaults.
    type Params: Parameters;

    /// For tables and help.
    const ABOUT: About;

    /// Among which packets it keeps the order of arrival.
    const ORDER: Order;

    /// As [`Algorithm::PRESETS`].
    const PRESETS: &'static [&'static str] = &[];

    /// Words that tc writes alone, with the parameter and the value that each stands for: `overflow`.
    const WORDS: &'static [(&'static str, &'static str, &'static str)] = &[];

    /// As [`Algorithm::FIXED`].
    const FIXED: &'static [&'static str] = &[];

    /// As [`Algorithm::set_params`]; then comes [`Self::shed`].
    fn set_params(&mut self, params: &Self::Params);

    /// What becomes of packets beyond a lower limit.
    const EXCESS: Excess;

    /// Drops a packet that waits beyond a limit, where [`Self::EXCESS`] is dropped at once; false where none does.
    fn shed(&mut self, cx: &mut Cx<'_>) -> bool;

    /// As [`Algorithm::preset`].
    #[must_use]
    fn preset(_name: &str) -> Option<Self::Params> {
        None
    }

    /// As [`Algorithm::check`].
    ///
    /// # Errors
    /// What is wrong and what is allowed, naming the parameters.
    fn check(_params: &Self::Params) -> Result<(), String> {
        Ok(())
    }

    /// A new, empty instance; `params` have passed [`Self::check`].
    #[must_use]
    fn new(params: &Self::Params) -> Self;
}

/// [`Discipline::set_params`] of a discipline that stands alone.
pub(crate) fn standalone<D: Standalone>(discipline: &mut D, cx: &mut Cx<'_>, params: &dyn Any) -> bool {
    let Some(params) = params.downcast_ref::<D::Params>() else { return false };
    Standalone::set_params(discipline, params);
    // Bound: what waits.
    while discipline.shed(cx) {}
    true
}

/// One algorithm over one queue.
// The algorithm is at the container's own address, so that one register holds both.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Fifo<A: Algorithm> {
    aqm: A,
    queue: Queue,
    params: A::Params,
}

impl<A: Algorithm> Fifo<A> {
    /// An empty queue under `A`; `params` have passed [`Algorithm::check`].
    #[must_use]
    pub fn new(params: A::Params) -> Self {
        let aqm = A::new(&params);
        Self { params, aqm, queue: Queue::default() }
    }

    /// Drops what waits beyond the limit.
    fn shed(&mut self, cx: &mut Cx<'_>) {
        let Some(room) = A::room(&self.params) else { return };
        // Bound: what waits.
        while room.is_exceeded(&self.queue) {
            let lost = match A::EXCESS {
                Excess::Oldest => self.queue.pop(),
                Excess::Newest => self.queue.pop_last(),
                _ => None,
            };
            let Some(packet) = lost else { return };
            cx.drop(packet, Reason::Overflow);
        }
    }

    /// A dequeue that the algorithm has to decide on. Apart, so that the short way saves no registers for it.
    #[inline(never)]
    fn decide(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        self.ask(cx)
    }

    /// A dequeue by the algorithm.
    #[inline(always)]
    fn ask(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        self.aqm.advance(cx.now, cx.rate, &self.queue);
        let packet = self.aqm.dequeue(cx, &mut self.queue);
        sent(cx, packet)
    }
}

/// Counts what a dequeue gives.
#[inline(always)]
fn sent(cx: &mut Cx<'_>, packet: Option<Packet>) -> Dequeued {
    match packet {
        Some(packet) => {
            cx.forwarded(&packet);
            Dequeued::Packet(packet)
        }
        None => Dequeued::Empty,
    }
}

impl<A: Algorithm> Discipline for Fifo<A> {
    #[inline]
    fn enqueue(&mut self, cx: &mut Cx<'_>, mut packet: Packet) {
        packet.enqueued = cx.now;
        cx.arrived(&packet);
        self.aqm.advance(cx.now, cx.rate, &self.queue);
        self.aqm.enqueue(cx, &mut self.queue, packet);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued {
        if !A::PASSES {
            return self.ask(cx);
        }
        if !self.aqm.passes(cx.now, cx.rate, &self.queue) {
            return self.decide(cx);
        }
        sent(cx, self.queue.pop())
    }

    fn reads(&self) -> Reads {
        A::READS
    }

    fn set_rate(&mut self, cx: &mut Cx<'_>, _rate: BitRate) {
        self.aqm.advance(cx.now, cx.rate, &self.queue);
    }

    fn set_params(&mut self, cx: &mut Cx<'_>, params: &dyn Any) -> bool {
        let Some(params) = params.downcast_ref::<A::Params>() else { return false };
        // Updates that are due are of the old parameters.
        self.aqm.advance(cx.now, cx.rate, &self.queue);
        self.aqm.set_params(params);
        self.params = params.clone();
        self.shed(cx);
        true
    }

    fn drain(&mut self) -> Option<Packet> {
        self.queue.pop()
    }

    fn reset(&mut self) {
        self.aqm = A::new(&self.params);
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u64, bytes: self.queue.bytes() }
    }

    fn internals(&mut self, now: Instant, rate: BitRate, visit: &mut Internal<'_>) {
        look(&self.aqm, now, rate, &self.queue, visit);
    }

    fn fault(&self) -> Option<String> {
        self.aqm.fault()
    }

    fn clone_box(&self) -> Box<dyn Discipline> {
        Box::new(self.clone())
    }
}
