//! Reads pcap (libpcap's savefile, microseconds or nanoseconds) and pcapng.

use crate::{said, Error, LONGEST};
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::{Block, PcapNgReader};
use pcap_file::{DataLink, TsResolution};
use sojourn_units::Instant;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

/// Latest time of a frame that is read: pcap counts seconds in 32 bits, until February 2106. The year that is left over is
/// for frames that leave later than they came.
const LATEST: Instant = Instant::from_nanos((u32::MAX as u64 - 366 * 86_400) * 1_000_000_000);

/// One captured frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds since 1970.
    pub at: Instant,
    /// As it was on the wire: what the capture cut off is zeros, so that sizes are right.
    pub contents: Vec<u8>,
}

enum Source {
    Pcap(PcapReader<BufReader<File>>),
    PcapNg(PcapNgReader<BufReader<File>>),
}

/// Reads a file of captured frames, Ethernet or raw IP (which is given an Ethernet header of zeros).
pub struct Capture {
    name: String,
    source: Source,
    /// Read ahead.
    ahead: Option<Record>,
    /// Time never goes back: a frame that was written late is taken to have come with the one before.
    last: Instant,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Capture {
    /// Opens `path`.
    ///
    /// # Errors
    /// It cannot be read, is neither pcap nor pcapng, or of a link that is neither Ethernet nor raw IP.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |what: String| Error { file: name.clone(), what };
        let mut file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let mut magic = [0; 4];
        file.read_exact(&mut magic)
            .map_err(|_| failed("is neither pcap nor pcapng: it has no four bytes".to_owned()))?;
        file.rewind().map_err(|error| failed(error.to_string()))?;
        let file = BufReader::new(file);
        // The block type of a section header is the same in both byte orders.
        let source = if magic == [0x0a, 0x0d, 0x0d, 0x0a] {
            Source::PcapNg(PcapNgReader::new(file).map_err(|error| failed(said(&error)))?)
        } else {
            let reader = PcapReader::new(file);
            let reader = reader.map_err(|error| failed(format!("is neither pcap nor pcapng: {}", said(&error))))?;
            Source::Pcap(reader)
        };
        let mut capture = Self { name, source, ahead: None, last: Instant::ZERO };
        capture.ahead = capture.read()?;
        Ok(capture)
    }

    /// When the next frame was captured; `None` at the end.
    #[must_use]
    pub fn next_at(&self) -> Option<Instant> {
        self.ahead.as_ref().map(|record| record.at)
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged behind it.
    pub fn take(&mut self) -> Result<Option<Record>, Error> {
        match self.ahead.take() {
            None => Ok(None),
            record => {
                self.ahead = self.read()?;
                Ok(record)
            }
        }
    }

    fn read(&mut self) -> Result<Option<Record>, Error> {
        let raw = match &mut self.source {
            Source::Pcap(reader) => next_pcap(reader),
            Source::PcapNg(reader) => next_pcapng(reader),
        };
        match raw.and_then(|raw| raw.map(frame).transpose()) {
            Ok(Some(mut record)) => {
                record.at = record.at.max(self.last);
                self.last = record.at;
                Ok(Some(record))
            }
            Ok(None) => Ok(None),
            Err(what) => Err(Error { file: self.name.clone(), what }),
        }
    }
}

/// A frame as it is in the file.
struct Raw {
    link: DataLink,
    nanos: u128,
    wire: u32,
    data: Vec<u8>,
}

fn next_pcap(reader: &mut PcapReader<BufReader<File>>) -> Result<Option<Raw>, String> {
    let header = reader.header();
    // Raw, because the library refuses frames that are longer than the capture's snap length.
    let Some(packet) = reader.next_raw_packet() else { return Ok(None) };
    let packet = packet.map_err(|error| said(&error))?;
    let fraction = match header.ts_resolution {
        TsResolution::MicroSecond => u128::from(packet.ts_frac) * 1000,
        TsResolution::NanoSecond => u128::from(packet.ts_frac),
    };
    let nanos = u128::from(packet.ts_sec) * 1_000_000_000 + fraction;
    Ok(Some(Raw { link: header.datalink, nanos, wire: packet.orig_len, data: packet.data.into_owned() }))
}

fn next_pcapng(reader: &mut PcapNgReader<BufReader<File>>) -> Result<Option<Raw>, String> {
    loop {
        let Some(block) = reader.next_block() else { return Ok(None) };
        let (interface, units, wire, data) = match block.map_err(|error| said(&error))? {
            // The library takes every unit for a nanosecond.
            Block::EnhancedPacket(p) => (p.interface_id, p.timestamp.as_nanos(), p.original_len, p.data.into_owned()),
            Block::SimplePacket(_) => {
                return Err("contains simple packet blocks, which carry no time stamps".to_owned())
            }
            Block::Packet(_) => return Err("contains packet blocks of the obsolete type".to_owned()),
            _ => continue,
        };
        let known = reader.interfaces().get(interface as usize);
        let known = known
            .ok_or_else(|| format!("contains a frame of interface {interface}, which the file does not describe"))?;
        return Ok(Some(Raw { link: known.linktype, nanos: nanoseconds(known, units), wire, data }));
    }
}

/// `units` since 1970 in an interface's resolution and offset (draft-ietf-opsawg-pcapng section 4.2).
fn nanoseconds(interface: &InterfaceDescriptionBlock<'_>, units: u128) -> u128 {
    let (mut resolution, mut offset) = (6, 0);
    for option in &interface.options {
        match option {
            InterfaceDescriptionOption::IfTsResol(value) => resolution = *value,
            InterfaceDescriptionOption::IfTsOffset(seconds) => offset = *seconds,
            _ => {}
        }
    }
    let exponent = u32::from(resolution & 0x7f);
    let a_second = if resolution & 0x80 == 0 { 10_u128.checked_pow(exponent) } else { 1_u128.checked_shl(exponent) };
    units * 1_000_000_000 / a_second.unwrap_or(u128::MAX).max(1) + u128::from(offset) * 1_000_000_000
}

fn frame(raw: Raw) -> Result<Record, String> {
    let mut contents = raw.data;
    let wire = raw.wire.min(LONGEST) as usize;
    if contents.len() < wire {
        contents.resize(wire, 0);
    }
    if raw.link == DataLink::RAW || raw.link == DataLink::IPV4 || raw.link == DataLink::IPV6 {
        let kind: [u8; 2] = if contents.first().is_some_and(|first| first >> 4 == 6) { [0x86, 0xdd] } else { [8, 0] };
        contents.splice(0..0, [0; 12].into_iter().chain(kind));
    } else if raw.link != DataLink::ETHERNET {
        let link = u32::from(raw.link);
        return Err(format!("has link type {link}; allowed: 1 (Ethernet), 101 (raw IP), 228 (IPv4), 229 (IPv6)"));
    }
    let at = u64::try_from(raw.nanos).ok().map(Instant::from_nanos).filter(|at| *at <= LATEST);
    let at =
        at.ok_or_else(|| "contains a time after January 2105; pcap files hold times until February 2106".to_owned())?;
    Ok(Record { at, contents })
}
