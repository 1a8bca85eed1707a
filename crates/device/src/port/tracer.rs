//! A port around a port that writes what passes it to a pcapng file, with its direction.

use super::{Port, PortCounters, PortError, TimeSource, BURST};
use crate::pool::{Frame, Pool};
use sojourn_aqm::Backlog;
use sojourn_capture::pcapng::{About, PacketOption, Writer};
use sojourn_units::{Instant, Span};
use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A port whose first frames are written down. A file that cannot be written ends the trace, not the port.
pub struct Tracer {
    port: Box<dyn Port>,
    writer: Option<Writer>,
    now: TimeSource,
    origin: Instant,
    /// Frames still to be written.
    left: u64,
}

impl Tracer {
    /// Writes the next `most` frames that pass `port` to `path`, in place of what is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(port: Box<dyn Port>, path: &Path, most: u64, now: TimeSource) -> Result<Self, PortError> {
        let origin = match &now {
            TimeSource::Clock(clock) => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let wall = Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
                Instant::ZERO + wall.since(clock.now())
            }
            TimeSource::Virtual(_) => Instant::ZERO,
        };
        // With it times in the file are those of status documents, to the nanosecond.
        let comment = format!("the device's clock began {} ns after 1970-01-01 UTC", origin.nanos());
        let writer = Writer::create(path, &About { interface: port.name(), comment: &comment, ..About::default() })?;
        Ok(Self { port, writer: Some(writer), now, origin, left: most })
    }

    fn write(&mut self, pool: &Pool, frames: impl Iterator<Item = Frame>, direction: PacketOption<'_>) {
        let Some(writer) = self.writer.as_mut().filter(|_| self.left > 0) else { return };
        let at = self.origin + Span::from_nanos(self.now.get().nanos());
        for frame in frames.take(usize::try_from(self.left).unwrap_or(usize::MAX)) {
            self.left -= 1;
            let contents = pool.contents(frame);
            if writer.packet(at, contents.len() as u32, contents, direction).is_err() {
                self.left = 0;
                return;
            }
        }
        if self.left == 0 {
            // Full: written out and closed.
            self.writer = None;
        }
    }
}

impl Port for Tracer {
    fn name(&self) -> &str {
        self.port.name()
    }

    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        let before = into.len();
        let outcome = self.port.receive(pool, into);
        self.write(pool, into[before..].iter().copied(), PacketOption::Inbound);
        outcome
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        let mut offered = [Frame::from_index(0); BURST];
        let before = frames.len();
        offered.iter_mut().zip(frames.iter()).for_each(|(place, frame)| *place = *frame);
        let outcome = self.port.send(pool, frames);
        // A frame that has left is free, but nothing has been written over it yet.
        let sent = before - frames.len();
        self.write(pool, offered.into_iter().take(sent), PacketOption::Outbound);
        outcome
    }

    fn leaving(&self) -> Backlog {
        self.port.leaving()
    }

    fn set_room(&mut self, room: Backlog) {
        self.port.set_room(room);
    }

    fn standby(&self) -> usize {
        self.port.standby()
    }

    fn finish(&mut self) -> Result<(), PortError> {
        self.port.finish()
    }

    fn counters(&mut self) -> PortCounters {
        self.port.counters()
    }

    fn carrier(&mut self) -> Option<bool> {
        self.port.carrier()
    }

    fn mode(&self) -> &str {
        self.port.mode()
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.port.descriptor()
    }
}
