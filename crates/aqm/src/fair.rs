//! Placeholder container while the scheduler is written.
use crate::{Algorithm, Backlog, Cx, Dequeued, Discipline, Fifo, Internal, Packet};
use alloc::boxed::Box;
use alloc::string::String;
use sojourn_units::{Bytes, Instant, BitRate, Packets};

crate::params! {
    /// Parameters of fair queueing, whatever runs in each queue.
    pub struct Params {
        /// Waiting packets in all queues together at which the fattest queue loses packets (RFC 8290 section 5.2).
        limit: Packets = Packets::new(10240),
        /// Number of queues that flows are hashed into (RFC 8290 section 5.2).
        flows: u32 = 1024,
        /// Bytes a queue may send in a round (RFC 8290 section 5.2).
        quantum: Bytes = Bytes::new(1514),
        /// Bytes in all queues together at which the fattest queue loses packets (tc-fq_codel(8)).
        memory_limit: Bytes = Bytes::new(32 << 20),
    }
}

impl Params {
    /// Parameters of the inner algorithm that the container takes over.
    pub(crate) const HIDES: &'static [&'static str] = &["limit"];

    pub(crate) fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// Fair queueing over any single-queue algorithm.
#[derive(Clone, Debug)]
pub struct FairQueue<A: Algorithm>(Fifo<A>);

impl<A: Algorithm> FairQueue<A> {
    /// Empty.
    #[must_use]
    pub fn new(_fair: Params, params: A::Params) -> Self {
        Self(Fifo::new(params))
    }
}

impl<A: Algorithm> Discipline for FairQueue<A> {
    fn enqueue(&mut self, cx: &mut Cx<'_>, packet: Packet) { self.0.enqueue(cx, packet); }
    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Dequeued { self.0.dequeue(cx) }
    fn drain(&mut self) -> Option<Packet> { self.0.drain() }
    fn reset(&mut self) { self.0.reset(); }
    fn backlog(&self) -> Backlog { self.0.backlog() }
    fn internals(&mut self, now: Instant, rate: BitRate, visit: &mut Internal<'_>) { self.0.internals(now, rate, visit); }
    fn clone_box(&self) -> Box<dyn Discipline> where A: Clone { Box::new(self.clone()) }
}
