//! A port around a port that writes what passes it to a pcapng file, with its direction.

use super::{Now, Port, PortCounters, PortError, BURST};
use crate::pool::{Frame, Pool};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::DataLink;
use sojourn_aqm::Backlog;
use sojourn_units::{Instant, Span};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::fs::File;
use std::io::BufWriter;
use std::os::fd::RawFd;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Flags of a packet (draft-ietf-opsawg-pcapng section 4.3.1): bits 0 and 1 are its direction.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A port whose first frames are written down. A file that cannot be written ends the trace, not the port.
pub struct Tracer {
    port: Box<dyn Port>,
    writer: Option<PcapNgWriter<BufWriter<File>>>,
    now: Now,
    origin: Instant,
    /// Frames still to be written.
    left: u64,
}

impl Tracer {
    /// Writes the next `most` frames that pass `port` to `path`, in place of what is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(port: Box<dyn Port>, path: &Path, most: u64, now: Now) -> Result<Self, PortError> {
        let failed = |what: String| PortError { port: path.display().to_string(), what };
        let file = File::create(path).map_err(|error| failed(error.to_string()))?;
        let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(|error| failed(error.to_string()))?;
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Owned(port.name().to_owned())),
                // Nanoseconds.
                InterfaceDescriptionOption::IfTsResol(9),
            ],
        };
        writer.write_pcapng_block(interface).map_err(|error| failed(error.to_string()))?;
        let origin = match &now {
            Now::Clock(clock) => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let wall = Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX));
                Instant::ZERO + wall.since(clock.now())
            }
            Now::Virtual(_) => Instant::ZERO,
        };
        Ok(Self { port, writer: Some(writer), now, origin, left: most })
    }

    fn write(&mut self, pool: &Pool, frames: impl Iterator<Item = Frame>, direction: u32) {
        let Some(writer) = self.writer.as_mut().filter(|_| self.left > 0) else { return };
        let at = self.origin + Span::from_nanos(self.now.get().nanos());
        for frame in frames.take(usize::try_from(self.left).unwrap_or(usize::MAX)) {
            self.left -= 1;
            let contents = pool.contents(frame);
            let block = EnhancedPacketBlock {
                interface_id: 0,
                timestamp: Duration::from_nanos(at.nanos()),
                original_len: contents.len() as u32,
                data: Cow::Borrowed(contents),
                options: vec![EnhancedPacketOption::Flags(direction)],
            };
            if writer.write_pcapng_block(block).is_err() {
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
        self.write(pool, into[before..].iter().copied(), INBOUND);
        outcome
    }

    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        let mut offered = [Frame::from_index(0); BURST];
        let before = frames.len();
        offered.iter_mut().zip(frames.iter()).for_each(|(place, frame)| *place = *frame);
        let outcome = self.port.send(pool, frames);
        // A frame that has left is free, but nothing has been written over it yet.
        let sent = before - frames.len();
        self.write(pool, offered.into_iter().take(sent), OUTBOUND);
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

    fn descriptor(&self) -> Option<RawFd> {
        self.port.descriptor()
    }
}
