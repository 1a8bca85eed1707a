//! A port around a port that loses, doubles, reorders and damages frames that arrive, by chance.

use super::{Port, PortCounters, PortError};
use crate::pool::{Frame, Pool};
use sojourn_aqm::{Backlog, Random};
use sojourn_random::Stream;
use sojourn_units::Probability;
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// How often what happens to a frame that arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultConfig {
    /// It is lost.
    pub loss: Probability,
    /// It comes twice.
    pub duplication: Probability,
    /// It comes after the next one.
    pub reordering: Probability,
    /// One of its bits is another.
    pub corruption: Probability,
    /// Of the stream of random numbers.
    pub seed: u64,
}

/// Frames so far.
#[derive(Debug, Default)]
pub struct FaultCounts {
    /// Lost.
    pub lost: AtomicU64,
    /// Bytes of lost frames.
    pub lost_bytes: AtomicU64,
    /// That came twice.
    pub duplicated: AtomicU64,
    /// Their bytes.
    pub duplicated_bytes: AtomicU64,
    /// That came after the next one.
    pub reordered: AtomicU64,
    /// With another bit.
    pub corrupted: AtomicU64,
}

/// A port with faults. It counts as received what it hands on.
pub struct Faults {
    port: Box<dyn Port>,
    config: FaultConfig,
    random: Stream,
    counts: Arc<FaultCounts>,
    /// Comes after the next frame.
    held: Option<Frame>,
    arrived: Vec<Frame>,
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl Faults {
    /// Around `port`.
    #[must_use]
    pub fn new(port: Box<dyn Port>, config: FaultConfig) -> Self {
        let random = Stream::seeded(config.seed);
        Self { port, config, random, counts: Arc::default(), held: None, arrived: Vec::new() }
    }

    /// What it did, kept up to date.
    #[must_use]
    pub fn counts(&self) -> Arc<FaultCounts> {
        Arc::clone(&self.counts)
    }

    fn chance(&mut self, probability: Probability) -> bool {
        self.random.uniform() < probability.get()
    }

    fn pass(&mut self, pool: &mut Pool, frame: Frame, into: &mut Vec<Frame>) {
        let length = pool.contents(frame).len() as u64;
        if self.chance(self.config.loss) {
            add(&self.counts.lost, 1);
            add(&self.counts.lost_bytes, length);
            pool.give(frame);
            return;
        }
        if self.chance(self.config.corruption) && length > 0 {
            let bit = self.random.next_u64() % (8 * length);
            pool.contents_mut(frame)[(bit / 8) as usize] ^= 1 << (bit % 8);
            add(&self.counts.corrupted, 1);
        }
        if self.held.is_none() && self.chance(self.config.reordering) {
            add(&self.counts.reordered, 1);
            self.held = Some(frame);
            return;
        }
        into.push(frame);
        if self.chance(self.config.duplication) {
            // Without a free frame it comes once.
            if let Some(copy) = pool.take() {
                pool.copy(frame, copy);
                add(&self.counts.duplicated, 1);
                add(&self.counts.duplicated_bytes, length);
                into.push(copy);
            }
        }
        into.extend(self.held.take());
    }
}

impl Port for Faults {
    fn name(&self) -> &str {
        self.port.name()
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        let mut arrived = std::mem::take(&mut self.arrived);
        let outcome = self.port.receive(pool, &mut arrived);
        if arrived.is_empty() {
            // No next one has come.
            into.extend(self.held.take());
        }
        for frame in arrived.drain(..) {
            self.pass(pool, frame, into);
        }
        self.arrived = arrived;
        outcome
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        self.port.send(pool, frames)
    }

    fn leaving(&self) -> Backlog {
        self.port.leaving()
    }

    fn set_room(&mut self, room: Backlog) {
        self.port.set_room(room);
    }

    fn standby(&self) -> usize {
        self.port.standby() + usize::from(self.held.is_some())
    }

    fn finish(&mut self) -> Result<(), PortError> {
        self.port.finish()
    }

    fn counters(&mut self) -> PortCounters {
        let mut counters = self.port.counters();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let held = u64::from(self.held.is_some());
        counters.received += load(&self.counts.duplicated);
        counters.received -= load(&self.counts.lost) + held;
        counters.received_bytes += load(&self.counts.duplicated_bytes);
        counters.received_bytes -= load(&self.counts.lost_bytes);
        counters
    }

    fn carrier(&mut self) -> Option<bool> {
        self.port.carrier()
    }

    fn mode(&self) -> &str {
        self.port.mode()
    }

    fn descriptor(&self) -> Option<RawFd> {
        // With a frame held back there is something to do without an arrival.
        self.port.descriptor().filter(|_| self.held.is_none())
    }
}
