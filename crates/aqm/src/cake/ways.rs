//! Set-associative hashing: a flow's queue is in one of 8 places, and so are the counts of its hosts.

use super::flows::{Flow, Set};
use super::{Cake, FlowMode};
use crate::Packet;
use alloc::vec;
use alloc::vec::Vec;

/// Queues of a tin, and places for hosts.
const PLACES: usize = 1024;
/// Places that one hash can use.
const WAYS: usize = 8;
/// No queue.
const NONE: u32 = u32::MAX;

/// Which flow is where. The tables are made at the first packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    /// Hash of the flow that has each place, or had it last.
    tags: Vec<u32>,
    /// Its queue; `NONE` before the first.
    queues: Vec<u32>,
    /// Sources, destinations.
    hosts: [Hosts; 2],
    /// Found beside where the hash points.
    pub hits: u64,
    /// New flows that found a place.
    pub misses: u64,
    /// Flows that took over the queue of another.
    pub collisions: u64,
}

#[derive(Clone, Debug, Default)]
struct Hosts {
    tags: Vec<u32>,
    /// Bulk flows of each.
    bulk: Vec<u32>,
}

/// The places that a hash can use, the one that it points to first.
fn places(hash: u32) -> impl Iterator<Item = usize> {
    let first = hash as usize % PLACES;
    (0..WAYS).map(move |way| first - first % WAYS + (first + way) % WAYS)
}

impl Hosts {
    /// Where a host's count is: its own place, or one that no bulk flow needs, or that of another host.
    fn find(&mut self, hash: u32) -> u16 {
        if self.tags.is_empty() {
            self.tags = vec![0; PLACES];
            self.bulk = vec![0; PLACES];
        }
        let own = places(hash).find(|at| self.tags[*at] == hash);
        let at = own.or_else(|| places(hash).find(|at| self.bulk[*at] == 0)).unwrap_or(hash as usize % PLACES);
        self.tags[at] = hash;
        at as u16
    }
}

impl Ways {
    /// Bulk flows of a flow's source and of its destination.
    pub fn bulk(&self, hosts: [u16; 2]) -> [u32; 2] {
        [0, 1].map(|side| self.hosts[side].bulk.get(usize::from(hosts[side])).copied().unwrap_or(0))
    }

    /// A flow of these hosts becomes bulk (`step` 1) or ceases to be (-1).
    pub fn count_bulk(&mut self, hosts: [u16; 2], step: i32) {
        for (side, at) in hosts.into_iter().enumerate() {
            if let Some(bulk) = self.hosts[side].bulk.get_mut(usize::from(at)) {
                *bulk = bulk.saturating_add_signed(step);
            }
        }
    }

    /// The place for a flow, and whether its hosts have to be looked up.
    fn place(&mut self, flows: &[Flow], hash: u32) -> (usize, bool) {
        if self.tags.is_empty() {
            self.tags = vec![0; PLACES];
            self.queues = vec![NONE; PLACES];
        }
        let idle = |at: usize| flows.get(self.queues[at] as usize).is_none_or(|flow| flow.set == Set::Idle);
        let mine = |at: usize| self.tags[at] == hash && self.queues[at] != NONE;
        let first = hash as usize % PLACES;
        if mine(first) && !idle(first) {
            return (first, false);
        }
        if let Some(at) = places(hash).find(|at| mine(*at)) {
            let is_idle = idle(at);
            self.hits += u64::from(at != first);
            return (at, is_idle);
        }
        let free = places(hash).find(|at| idle(*at));
        match free {
            Some(_) => self.misses += 1,
            None => self.collisions += 1,
        }
        let at = free.unwrap_or(first);
        self.tags[at] = hash;
        (at, true)
    }
}

/// 32 well mixed bits (splitmix64's finaliser); `kind` keeps hosts and flows apart.
fn mix(name: u32, kind: u64, seed: u64) -> u32 {
    let mut x = seed ^ (u64::from(name) | kind << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 32) as u32
}

impl Cake {
    /// The queue of a packet.
    pub(super) fn classify(&mut self, tin: usize, packet: &Packet, seed: u64) -> usize {
        let mode = self.params.flowmode;
        let host = [packet.source, packet.destination];
        let hash_of = |side: usize| mix(host[side], side as u64 + 1, seed);
        let hash = match mode {
            FlowMode::Flowblind => 0,
            FlowMode::Srchost => hash_of(0),
            FlowMode::Dsthost => hash_of(1),
            FlowMode::Hosts => hash_of(0) ^ hash_of(1),
            _ => mix(packet.flow, 0, seed),
        };
        let Self { tins, flows, fattest, .. } = self;
        let tin_state = &mut tins[tin];
        let ways = &mut tin_state.ways;
        let (place, look_up) = ways.place(flows, hash);
        if ways.queues[place] == NONE {
            ways.queues[place] = flows.len() as u32;
            flows.push(Flow::new(tin, tin_state.control.clone()));
            fattest.make_room(flows.len());
        }
        let at = ways.queues[place] as usize;
        if look_up {
            let flow = &mut flows[at];
            let bulk = flow.set == Set::Bulk;
            if bulk {
                ways.count_bulk(flow.hosts, -1);
            }
            for (side, isolates) in [mode.isolates_sources(), mode.isolates_destinations()].into_iter().enumerate() {
                if isolates {
                    flow.hosts[side] = ways.hosts[side].find(hash_of(side));
                }
            }
            if bulk {
                ways.count_bulk(flow.hosts, 1);
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cake::Params;
    use crate::Standalone;

    /// Packets of flow n, which become sparse, so that their queue is taken.
    fn arrive(cake: &mut Cake, flow: u32) -> usize {
        let packet = Packet { flow, source: flow, destination: flow, ..Packet::default() };
        let at = cake.classify(0, &packet, 7);
        if cake.flows[at].set == Set::Idle {
            cake.change(at, Set::Sparse);
        }
        at
    }

    #[test]
    fn a_flow_keeps_its_queue_and_shares_it_only_when_a_set_is_full() {
        let mut cake = Cake::new(&Params::default());
        let mut queues: Vec<usize> = (0..1024).map(|flow| arrive(&mut cake, flow)).collect();
        let collisions = cake.tins[0].ways.collisions;
        assert_eq!(cake.tins[0].ways.misses + collisions, 1024);
        // 128 sets of 8, 8 flows a set on average: Poisson, so E(flows beyond the eighth) = 128 x 1.117 = 143.
        assert!((100..=190).contains(&collisions), "{collisions}");
        queues.sort_unstable();
        queues.dedup();
        assert_eq!(queues.len() as u64, 1024 - collisions);
        // A plain hash would have 1024/e = 377 queues unused.
        assert!(queues.len() > 1024 - 190);
        // 100 flows: P(some set gets nine) is below 1e-4.
        let mut cake = Cake::new(&Params::default());
        let first: Vec<usize> = (0..100).map(|flow| arrive(&mut cake, flow)).collect();
        assert_eq!((cake.tins[0].ways.misses, cake.tins[0].ways.collisions), (100, 0));
        let again: Vec<usize> = (0..100).map(|flow| arrive(&mut cake, flow)).collect();
        assert_eq!(first, again);
        assert_eq!(cake.tins[0].ways.misses, 100);
        let beside =
            (0..100).filter(|flow| cake.tins[0].ways.tags[mix(*flow, 0, 7) as usize % PLACES] != mix(*flow, 0, 7));
        assert_eq!(cake.tins[0].ways.hits, beside.count() as u64);
    }

    #[test]
    fn modes_name_flows() {
        let queues = |mode: FlowMode| {
            let mut cake = Cake::new(&Params { flowmode: mode, ..Params::default() });
            let packets = [(1, 1, 1), (2, 1, 1), (3, 1, 2), (4, 2, 1), (5, 2, 2)];
            let mut all: Vec<usize> = packets
                .map(|(flow, source, destination)| {
                    let at = cake.classify(0, &Packet { flow, source, destination, ..Packet::default() }, 3);
                    cake.change(at, Set::Sparse);
                    at
                })
                .into();
            all.dedup();
            all.sort_unstable();
            all.dedup();
            all.len()
        };
        assert_eq!(queues(FlowMode::Flowblind), 1);
        assert_eq!((queues(FlowMode::Srchost), queues(FlowMode::Dsthost)), (2, 2));
        assert_eq!(queues(FlowMode::Hosts), 4);
        for mode in [FlowMode::Flows, FlowMode::DualSrchost, FlowMode::DualDsthost, FlowMode::TripleIsolate] {
            assert_eq!(queues(mode), 5);
        }
    }
}
