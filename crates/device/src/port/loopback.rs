//! Two queues in memory: what a test or a bench puts in at the far side arrives, and what is sent comes out there.

use super::{Port, PortCounters, PortError, BURST};
use crate::pool::{Frame, Pool};
use sojourn_units::Instant;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct Cable {
    /// Contents and date.
    to_device: VecDeque<(Vec<u8>, Instant)>,
    from_device: VecDeque<Vec<u8>>,
}

/// The device's side of the cable.
#[derive(Debug)]
pub struct Loopback {
    name: String,
    cable: Arc<Mutex<Cable>>,
    counters: PortCounters,
}

/// The far side of the cable.
#[derive(Clone, Debug)]
pub struct FarEnd(Arc<Mutex<Cable>>);

/// A port called `name` and its far side.
#[must_use]
pub fn loopback(name: &str) -> (Loopback, FarEnd) {
    let cable = Arc::<Mutex<Cable>>::default();
    (Loopback { name: name.to_owned(), cable: cable.clone(), counters: PortCounters::default() }, FarEnd(cable))
}

fn lock(cable: &Mutex<Cable>) -> MutexGuard<'_, Cable> {
    cable.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FarEnd {
    /// A frame arrives at the device.
    pub fn put(&self, contents: Vec<u8>) {
        self.put_at(contents, Instant::ZERO);
    }

    /// A frame arrives at the device at `at`, which it is told, whenever it reads it.
    pub fn put_at(&self, contents: Vec<u8>, at: Instant) {
        lock(&self.0).to_device.push_back((contents, at));
    }

    /// The next frame that the device sent.
    #[must_use]
    pub fn get(&self) -> Option<Vec<u8>> {
        lock(&self.0).from_device.pop_front()
    }
}

impl Port for Loopback {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        let mut cable = lock(&self.cable);
        for _ in 0..BURST {
            let Some((contents, at)) = cable.to_device.pop_front() else { break };
            if contents.len() > pool.room() {
                self.counters.oversize += 1;
                continue;
            }
            let Some(frame) = pool.copy_in(&contents) else {
                self.counters.missed += 1;
                continue;
            };
            pool.note_mut(frame).arrived_ns = at.nanos();
            self.counters.received += 1;
            self.counters.received_bytes += contents.len() as u64;
            into.push(frame);
        }
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        let mut cable = lock(&self.cable);
        for _ in 0..BURST {
            let Some(frame) = frames.pop_front() else { break };
            let contents = pool.contents(frame).to_vec();
            self.counters.sent += 1;
            self.counters.sent_bytes += contents.len() as u64;
            cable.from_device.push_back(contents);
            pool.give(frame);
        }
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }
}
