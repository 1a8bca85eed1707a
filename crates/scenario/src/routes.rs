//! Shortest paths by hops. Among equal next nodes the lowest index wins, and a link before a bus.
//!
//! A breadth-first search goes backwards from what a destination hangs on: its only neighbour, all stations of its
//! only bus, or else itself. Thousands of hosts behind one router share one search, and a bus is passed once in a
//! search, so that it costs the number of ports and not the square of a bus's stations.

use super::network::{Port, PortKind};

/// Shortest paths to every destination asked for so far.
pub(super) struct Routes<'a> {
    ports: &'a [Port],
    /// Of each node: ports of links and cells that lead to it.
    inward: Vec<Vec<usize>>,
    /// Of each node: its ports on buses.
    on_buses: Vec<Vec<usize>>,
    /// Of each bus: the ports of its stations.
    stations: Vec<Vec<usize>>,
    /// Of each node, then of each bus: the way towards it.
    towards: Vec<Option<Box<[Hop]>>>,
    /// Entries of all ways, and how many they may be.
    entries: u64,
    most: u64,
}

/// The first step of a node's shortest path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hop {
    /// There is no path.
    None,
    /// The path ends here.
    End,
    /// Through `port` to `node`.
    Next { port: u32, node: u32 },
}

impl<'a> Routes<'a> {
    pub(super) fn new(nodes: usize, buses: usize, ports: &'a [Port], most: u64) -> Self {
        let mut inward = vec![Vec::new(); nodes];
        let mut on_buses = vec![Vec::new(); nodes];
        let mut stations = vec![Vec::new(); buses];
        let mut sending = 0;
        for (index, port) in ports.iter().enumerate() {
            match port.kind {
                PortKind::Link { to, .. } => inward[to].push(index),
                PortKind::Bus { bus, station } => {
                    stations[bus].push(index);
                    on_buses[station].push(index);
                }
                // The access point's port comes before those of the stations that it sends to.
                PortKind::Cell { station, access_point, .. } if station == access_point => sending = index,
                PortKind::Cell { station, access_point, .. } => {
                    inward[access_point].push(index);
                    inward[station].push(sending);
                }
            }
        }
        Self { ports, inward, on_buses, stations, towards: vec![None; nodes + buses], entries: 0, most }
    }

    /// Whether the ways to all destinations take too much memory: then none is found.
    pub(super) fn is_full(&self) -> bool {
        self.entries > self.most
    }

    /// Appends the ports from `from` to `to`; false when there is no path, or too much to remember.
    pub(super) fn extend(&mut self, route: &mut Vec<usize>, from: usize, to: usize) -> bool {
        if from == to {
            return true;
        }
        match (self.inward[to].as_slice(), self.on_buses[to].as_slice()) {
            (&[last], []) => {
                let found = self.walk(route, from, self.ports[last].node(), None).is_some();
                route.push(last);
                found
            }
            ([], &[port]) => {
                let PortKind::Bus { bus, .. } = self.ports[port].kind else { return false };
                let Some(station) = self.walk(route, from, to, Some(bus)) else { return false };
                let last = self.on_buses[station]
                    .iter()
                    .find(|p| matches!(self.ports[**p].kind, PortKind::Bus { bus: b, .. } if b == bus));
                route.extend(last);
                last.is_some()
            }
            _ => self.walk(route, from, to, None).is_some(),
        }
    }

    /// Appends the ports from `from` to `to`, or to the nearest station of `bus`; the node where it ends.
    fn walk(&mut self, route: &mut Vec<usize>, from: usize, to: usize, bus: Option<usize>) -> Option<usize> {
        let key = bus.map_or(to, |bus| self.inward.len() + bus);
        if self.towards[key].is_none() {
            self.entries += self.inward.len() as u64;
            if self.is_full() {
                return None;
            }
            self.towards[key] = Some(match bus {
                Some(bus) => {
                    self.search(self.stations[bus].iter().map(|port| self.ports[*port].node()).collect(), Some(bus))
                }
                None => self.search(vec![to], None),
            });
        }
        let hops = self.towards[key].as_deref()?;
        let mut at = from;
        loop {
            match hops[at] {
                Hop::None => return None,
                Hop::End => return Some(at),
                Hop::Next { port, node } => {
                    route.push(port as usize);
                    at = node as usize;
                }
            }
        }
    }

    /// The first step of every node on its way to the nearest of `ends`; `passed` is a bus not to be used.
    fn search(&self, ends: Vec<usize>, passed: Option<usize>) -> Box<[Hop]> {
        let mut hops = vec![Hop::None; self.inward.len()].into_boxed_slice();
        let mut bus_seen = vec![false; self.stations.len()];
        if let Some(bus) = passed {
            bus_seen[bus] = true;
        }
        for end in &ends {
            hops[*end] = Hop::End;
        }
        let mut level = ends;
        while !level.is_empty() {
            // In order of index, so that the first to reach a node is the lowest.
            level.sort_unstable();
            let mut next_level = Vec::new();
            for node in level {
                let mut reach = |port: usize| {
                    let from = self.ports[port].node();
                    if hops[from] == Hop::None {
                        hops[from] = Hop::Next { port: port as u32, node: node as u32 };
                        next_level.push(from);
                    }
                };
                self.inward[node].iter().copied().for_each(&mut reach);
                for port in &self.on_buses[node] {
                    let PortKind::Bus { bus, .. } = self.ports[*port].kind else { continue };
                    if !bus_seen[bus] {
                        bus_seen[bus] = true;
                        self.stations[bus].iter().copied().for_each(&mut reach);
                    }
                }
            }
            level = next_level;
        }
        hops
    }
}
