//! Frames from a file of captured frames and into one.

use super::about::{nothing, About, Open};
use super::{Port, PortCounters, PortError, BURST};
use crate::clock::Clock;
use crate::pool::{Frame, Pool};
use sojourn_capture::{Account, Capture, Writer};
use sojourn_units::{Instant, Span};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// What time it is.
#[derive(Clone, Debug)]
pub enum TimeSource {
    /// That of the host.
    Clock(Clock),
    /// Whatever the driver of a run says, in nanoseconds.
    Virtual(Arc<AtomicU64>),
}

impl TimeSource {
    /// Now.
    #[must_use]
    pub fn get(&self) -> Instant {
        match self {
            Self::Clock(clock) => clock.now(),
            Self::Virtual(nanos) => Instant::from_nanos(nanos.load(Ordering::Relaxed)),
        }
    }
}

/// When frames of a file arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// As recorded, so long after the origin as they were captured after its instant.
    Recorded,
    /// As fast as they are taken.
    AtOnce,
}

/// A port whose frames arrive out of a file and leave into one. Neither need be: without, nothing arrives, and what leaves
/// is counted and gone.
pub struct Pcap {
    name: String,
    input: Option<Capture>,
    output: Option<Writer>,
    pace: Pace,
    now: TimeSource,
    /// Captured at this instant, a frame arrives at 0.
    origin: Instant,
    /// When the next frame arrives, for who drives virtual time; `u64::MAX`: none will.
    due: Arc<AtomicU64>,
    counters: PortCounters,
    /// Bytes of the longest frame among those that were too long.
    longest: usize,
}

impl Pcap {
    /// A port called `name`. Time 0 is that of the first frame of `input`, or `origin` where it is given.
    #[must_use]
    pub fn new(
        name: &str,
        input: Option<Capture>,
        output: Option<Writer>,
        pace: Pace,
        now: TimeSource,
        origin: Option<Instant>,
    ) -> Self {
        let origin = origin.or(input.as_ref().and_then(Capture::next_at)).unwrap_or(Instant::ZERO);
        let mut port = Self {
            name: name.to_owned(),
            input,
            output,
            pace,
            now,
            origin,
            due: Arc::default(),
            counters: PortCounters::default(),
            longest: 0,
        };
        port.say_due();
        port
    }

    /// Captured at this instant, a frame arrives at 0.
    #[must_use]
    pub fn origin(&self) -> Instant {
        self.origin
    }

    /// Nanoseconds of the next arrival, kept up to date; `u64::MAX` when there is none.
    #[must_use]
    pub fn due(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.due)
    }

    fn arrives(&self) -> Option<Instant> {
        let at = self.input.as_ref()?.next_at()?;
        Some(match self.pace {
            Pace::Recorded => Instant::ZERO + at.since(self.origin),
            Pace::AtOnce => Instant::ZERO,
        })
    }

    fn say_due(&mut self) {
        self.due.store(self.arrives().map_or(u64::MAX, Instant::nanos), Ordering::Relaxed);
    }
}

impl Port for Pcap {
    fn name(&self) -> &str {
        &self.name
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        let now = self.now.get();
        for _ in 0..BURST {
            if self.arrives().is_none_or(|at| at > now) {
                break;
            }
            let Some(record) = self.input.as_mut().map(Capture::take).transpose()?.flatten() else { break };
            if record.contents.len() > pool.room() {
                self.counters.oversize += 1;
                self.longest = self.longest.max(record.contents.len());
                continue;
            }
            let Some(frame) = pool.copy_in(&record.contents) else {
                self.counters.missed += 1;
                continue;
            };
            self.counters.received += 1;
            self.counters.received_bytes += record.contents.len() as u64;
            into.push(frame);
        }
        self.say_due();
        Ok(())
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        let at = self.origin + Span::from_nanos(self.now.get().nanos());
        for _ in 0..BURST {
            let Some(frame) = frames.pop_front() else { break };
            let contents = pool.contents(frame);
            self.counters.sent += 1;
            self.counters.sent_bytes += contents.len() as u64;
            let written = self.output.as_mut().map_or(Ok(()), |output| output.write(at, contents));
            pool.give(frame);
            written?;
        }
        Ok(())
    }

    fn counters(&mut self) -> PortCounters {
        self.counters
    }

    fn file(&self) -> Option<(&Account, usize)> {
        Some((self.input.as_ref()?.account(), self.longest))
    }

    fn finish(&mut self) -> Result<(), PortError> {
        self.output.as_mut().map_or(Ok(()), Writer::finish).map_err(PortError::from)
    }
}

pub(super) const ABOUT: About = About {
    is_live: false,
    keys: &["read", "write"],
    needs: None,
    uses: nothing,
    open: Open::AsUser(|table, side, clock| {
        let input = table.read.as_deref().map(Capture::open).transpose()?;
        let output = table.write.as_deref().map(Writer::create).transpose()?;
        Ok(Box::new(Pcap::new(&format!("pcap {side}"), input, output, Pace::Recorded, TimeSource::Clock(clock), None)))
    }),
};
