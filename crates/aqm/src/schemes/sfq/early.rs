//! RED inside SFQ's queues (tc-sfq(8): "the optional RED module"; behaviour as of Linux's sch_sfq).

use super::params::Params;
use crate::queues::pool::{Chain, Pool};
use crate::schemes::red::average::Average;
use crate::schemes::red::law::{self, Band, Count, Region};
use crate::{Cx, Internal, Packet};
use alloc::vec;
use alloc::vec::Vec;

/// What has become of the arrivals that RED acted on, by tc's names.
const COUNTED: [&str; 6] =
    ["prob_mark", "prob_mark_head", "prob_drop", "forced_mark", "forced_mark_head", "forced_drop"];

/// What one queue's RED knows.
#[derive(Clone, Debug, Default)]
struct Learnt {
    /// Of the queue's bytes.
    average: Average,
    count: Count,
}

/// RED of all queues.
#[derive(Clone, Debug)]
pub(super) struct Early {
    band: Band,
    w: f64,
    ecn: bool,
    harddrop: bool,
    headdrop: bool,
    queues: Vec<Learnt>,
    /// As [`COUNTED`].
    counts: [u64; 6],
}

impl Early {
    /// `None` where queues have no RED.
    pub fn new(params: &Params) -> Option<Self> {
        let (min, max) = params.min.zip(params.max)?;
        let max_p = params.max_p.get();
        Some(Self {
            band: Band::new(min.get() as f64, max.get() as f64, max_p, false),
            w: params.w.get(),
            ecn: params.ecn,
            harddrop: params.harddrop,
            headdrop: params.headdrop,
            queues: vec![Learnt::default(); params.flows as usize],
            counts: [0; 6],
        })
    }

    /// What `old` has learnt.
    pub fn keep(&mut self, old: Self) {
        (self.queues, self.counts) = (old.queues, old.counts);
    }

    pub fn reset(&mut self) {
        self.queues.fill(Learnt::default());
    }

    /// A queue is taken into use: Linux forgets the average of its last flow, and lets the first packet pass without a look.
    pub fn begin(&mut self, at: usize) {
        if let Some(learnt) = self.queues.get_mut(at) {
            *learnt = Learnt::default();
        }
    }

    /// A packet moves to a queue that holds `bytes`: it is averaged, and not decided on again.
    pub fn moved(&mut self, at: usize, bytes: u64) {
        if let Some(learnt) = self.queues.get_mut(at) {
            learnt.average.sample(bytes, self.w);
        }
    }

    /// Decides on an arrival at a queue that holds packets. True where a packet of this queue is to be dropped.
    pub fn drops(&mut self, cx: &mut Cx<'_>, at: usize, queue: &Chain, pool: &mut Pool, packet: &mut Packet) -> bool {
        let Some(Learnt { average, count }) = self.queues.get_mut(at) else { return false };
        average.sample(queue.bytes(), self.w);
        let (marks, counted) = match self.band.region(average.get()) {
            Region::Below => {
                count.below();
                return false;
            }
            Region::Early(p_b) => {
                count.arrival(packet.bytes);
                if !cx.chance(law::uniform(p_b, count.packets())) {
                    return false;
                }
                (self.ecn, 0)
            }
            Region::Forced => (self.ecn && !self.harddrop, 3),
        };
        count.signalled();
        // With headdrop the head carries the mark, which so arrives the sooner.
        let head = if self.headdrop { pool.head_mut(queue) } else { None };
        let outcome = if marks && head.is_some_and(|head| cx.mark(head)) {
            1
        } else if marks && cx.mark(packet) {
            0
        } else {
            2
        };
        self.counts[counted + outcome] += 1;
        outcome == 2
    }

    pub fn internals(early: Option<&Self>, visit: &mut Internal<'_>) {
        let counts = early.map_or([0; 6], |early| early.counts);
        for (name, count) in COUNTED.into_iter().zip(counts) {
            visit(name, count as f64);
        }
    }
}
