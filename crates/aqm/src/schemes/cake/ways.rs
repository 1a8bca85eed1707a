//! Set-associative hashing: a flow's queue is in one of 8 places, and so are the counts of its hosts.

use super::flows::{Flow, Set};
use crate::Packet;
use alloc::vec;
use alloc::vec::Vec;

crate::choice! {
    /// Between what the rate is shared: hosts, flows, or both.
    pub enum FlowMode {
        /// Nothing is isolated: each tin has one queue.
        Flowblind = "flowblind",
        /// Source hosts.
        Srchost = "srchost",
        /// Destination hosts.
        Dsthost = "dsthost",
        /// Pairs of hosts.
        Hosts = "hosts",
        /// Flows by their five-tuple.
        Flows = "flows",
        /// Source hosts, and flows within each.
        DualSrchost = "dual-srchost",
        /// Destination hosts, and flows within each.
        DualDsthost = "dual-dsthost",
        /// Source hosts and destination hosts, and flows within each.
        TripleIsolate = "triple-isolate",
    }
}

impl FlowMode {
    /// Source hosts share the bandwidth, whatever their flows.
    fn isolates_sources(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    fn isolates_destinations(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }

    /// The hash of a packet's flow.
    #[inline]
    pub(super) fn hash(self, packet: &Packet, seed: u64) -> u32 {
        match self {
            Self::Flowblind => 0,
            Self::Srchost => mix(packet.source, 1, seed),
            Self::Dsthost => mix(packet.destination, 2, seed),
            Self::Hosts => mix(packet.source, 1, seed) ^ mix(packet.destination, 2, seed),
            _ => mix(packet.flow, 0, seed),
        }
    }
}

/// Queues of a tin, and places for hosts.
const PLACES: usize = 1024;
/// Places that one hash can use.
const WAYS: usize = 8;
/// No queue.
const NONE: u32 = u32::MAX;

/// Which flow is where. The tables are made at the first packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Ways {
    places: Vec<Place>,
    /// Sources, destinations; empty where they are not isolated.
    hosts: [Hosts; 2],
    /// Found beside where the hash points.
    pub hits: u64,
    /// New flows that found a place.
    pub misses: u64,
    /// Flows that took over the queue of another.
    pub collisions: u64,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    /// Hash of the flow that has this place, or had it last.
    tag: u32,
    /// Its queue; `NONE` before the first.
    queue: u32,
}

#[derive(Clone, Debug, Default)]
struct Hosts(Vec<Host>);

#[derive(Clone, Copy, Debug, Default)]
struct Host {
    tag: u32,
    /// Its bulk flows.
    bulk: u32,
}

/// The places that a hash can use, the one that it points to first.
fn places(hash: u32) -> impl Iterator<Item = usize> {
    let first = hash as usize % PLACES;
    (0..WAYS).map(move |way| first - first % WAYS + (first + way) % WAYS)
}

impl Hosts {
    /// Where a host's count is: its own place, or one that no bulk flow needs, or that of another host.
    fn find(&mut self, hash: u32) -> u16 {
        if self.0.is_empty() {
            self.0 = vec![Host::default(); PLACES];
        }
        let own = places(hash).find(|at| self.0[*at].tag == hash);
        let at = own.or_else(|| places(hash).find(|at| self.0[*at].bulk == 0)).unwrap_or(hash as usize % PLACES);
        self.0[at].tag = hash;
        at as u16
    }
}

impl Ways {
    /// Bulk flows of a flow's source or of its destination, whichever has more; 0 where hosts are not isolated.
    #[inline]
    pub fn host_load(&self, hosts: [u16; 2]) -> u32 {
        let bulk = |side: usize| self.hosts[side].0.get(usize::from(hosts[side])).map_or(0, |host| host.bulk);
        bulk(0).max(bulk(1))
    }

    /// A flow of these hosts becomes bulk (`step` 1) or ceases to be (-1).
    pub fn count_bulk(&mut self, hosts: [u16; 2], step: i32) {
        for (table, at) in self.hosts.iter_mut().zip(hosts) {
            if let Some(host) = table.0.get_mut(usize::from(at)) {
                host.bulk = host.bulk.saturating_add_signed(step);
            }
        }
    }

    /// The queue of a flow that is where its hash points, and not idle: of most packets.
    #[inline]
    pub fn at_once(&self, flows: &[Flow], hash: u32) -> Option<usize> {
        let place = self.places.get(hash as usize % PLACES).filter(|place| place.tag == hash)?;
        let flow = flows.get(place.queue as usize)?;
        (flow.set != Set::Idle).then_some(place.queue as usize)
    }

    /// The place for a flow, and whether its hosts have to be looked up.
    pub fn place(&mut self, flows: &[Flow], hash: u32) -> (usize, bool) {
        if self.places.is_empty() {
            self.places = vec![Place { tag: 0, queue: NONE }; PLACES];
        }
        let idle = |at: usize| flows.get(self.places[at].queue as usize).is_none_or(|flow| flow.set == Set::Idle);
        let mine = |at: usize| self.places[at].tag == hash && self.places[at].queue != NONE;
        if let Some(at) = places(hash).find(|at| mine(*at)) {
            let is_idle = idle(at);
            self.hits += u64::from(at != hash as usize % PLACES);
            return (at, is_idle);
        }
        let free = places(hash).find(|at| idle(*at));
        match free {
            Some(_) => self.misses += 1,
            None => self.collisions += 1,
        }
        let at = free.unwrap_or(hash as usize % PLACES);
        self.places[at].tag = hash;
        (at, true)
    }

    /// The queue that has a place.
    pub fn queue(&self, place: usize) -> Option<usize> {
        let queue = self.places[place].queue;
        (queue != NONE).then_some(queue as usize)
    }

    /// A queue gets a place.
    pub fn set_queue(&mut self, place: usize, queue: usize) {
        self.places[place].queue = queue as u32;
    }

    /// Looks up the places of a flow's hosts; its bulk state follows.
    pub fn look_up_hosts(&mut self, mode: FlowMode, packet: &Packet, seed: u64, flow: &mut Flow) {
        let bulk = flow.set == Set::Bulk;
        if bulk {
            self.count_bulk(flow.hosts, -1);
        }
        let hosts = [(packet.source, mode.isolates_sources()), (packet.destination, mode.isolates_destinations())];
        for (side, (host, isolates)) in hosts.into_iter().enumerate() {
            if isolates {
                flow.hosts[side] = self.hosts[side].find(mix(host, side as u64 + 1, seed));
            }
        }
        if bulk {
            self.count_bulk(flow.hosts, 1);
        }
    }
}

/// 32 well mixed bits (splitmix64's finaliser); `kind` keeps hosts and flows apart.
#[inline(always)]
fn mix(name: u32, kind: u64, seed: u64) -> u32 {
    let mut x = seed ^ (u64::from(name) | kind << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schemes::cake::{Cake, Params};
    use crate::Standalone;

    /// Packets of flow n, which become sparse, so that their queue is taken.
    fn arrive(cake: &mut Cake, flow: u32) -> usize {
        let packet = Packet { flow, source: flow, destination: flow, ..Packet::without_signals(0) };
        let at = cake.classify(0, &packet, 7);
        if cake.flows[at].set == Set::Idle {
            cake.tins[0].change(&mut cake.flows[at], Set::Sparse);
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
        let beside = (0..100)
            .filter(|flow| cake.tins[0].ways.places[mix(*flow, 0, 7) as usize % PLACES].tag != mix(*flow, 0, 7));
        assert_eq!(cake.tins[0].ways.hits, beside.count() as u64);
    }

    #[test]
    fn modes_name_flows() {
        let queues = |mode: FlowMode| {
            let mut cake = Cake::new(&Params { flowmode: mode, ..Params::default() });
            let packets = [(1, 1, 1), (2, 1, 1), (3, 1, 2), (4, 2, 1), (5, 2, 2)];
            let mut all: Vec<usize> = packets
                .map(|(flow, source, destination)| {
                    let at = cake.classify(0, &Packet { flow, source, destination, ..Packet::without_signals(0) }, 3);
                    cake.tins[0].change(&mut cake.flows[at], Set::Sparse);
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
