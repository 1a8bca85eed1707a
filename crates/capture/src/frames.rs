//! Reads frames out of pcap (libpcap's savefile) and pcapng (draft-ietf-opsawg-pcapng), one at a time.

use crate::{Error, Link, Skip, LONGEST};
use sojourn_units::Instant;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;

/// Latest time of a frame that is read: pcap counts seconds in 32 bits, until February 2106. The year that is left over is
/// for frames that leave later than they came.
const LATEST: Instant = Instant::from_nanos((u32::MAX as u64 - 366 * 86_400) * 1_000_000_000);

/// Options of a block and what else is around a frame, at most.
const MAX_BLOCK_OVERHEAD: u32 = 1 << 20;

/// One captured frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// When it was captured, in nanoseconds since 1970, or why that cannot be said.
    pub at: Result<Instant, Skip>,
    /// What it begins with.
    pub link: Link,
    /// Bytes that it had on the wire; no fewer than `data` has.
    pub wire: usize,
    /// Bytes of a frame check sequence among them, as the file says.
    pub fcs: usize,
    /// What was captured of them.
    pub data: &'a [u8],
}

/// Reads the frames of a file. Memory does not grow with the file.
pub struct Frames {
    name: String,
    input: BufReader<File>,
    format: Format,
    /// The frame that was read last, or its block.
    buffer: Vec<u8>,
    /// Frames so far, for errors.
    number: u64,
    cut: bool,
}

impl std::fmt::Debug for Frames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames").field("name", &self.name).finish_non_exhaustive()
    }
}

enum Format {
    Pcap(Pcap),
    PcapNg(PcapNg),
}

/// What the header of a pcap file says.
struct Pcap {
    order: Order,
    /// Nanoseconds of a unit of the fraction of a second.
    fraction: u64,
    /// Bytes of the header of a frame.
    header: usize,
    /// Before version 2.4 captured and real length may have changed places.
    old: Option<u16>,
    link: Link,
    fcs: usize,
}

/// What a section of a pcapng file has said so far.
struct PcapNg {
    order: Order,
    interfaces: Vec<Interface>,
}

/// Byte order of a file or section.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

#[derive(Clone, Copy)]
struct Interface {
    link: Link,
    fcs: usize,
    snaplen: u32,
    /// Units of time in a second.
    a_second: u128,
    /// Seconds to be added.
    offset: i64,
}

/// Where the frame lies in the buffer.
struct Found {
    at: Result<i128, Skip>,
    link: Link,
    fcs: usize,
    wire: u32,
    start: usize,
    length: usize,
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let two = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(two),
            Self::Big => u16::from_be_bytes(two),
        })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(four),
            Self::Big => u32::from_be_bytes(four),
        })
    }

    fn i64(self, bytes: &[u8]) -> Option<i64> {
        let eight = bytes.try_into().ok()?;
        Some(match self {
            Self::Little => i64::from_le_bytes(eight),
            Self::Big => i64::from_be_bytes(eight),
        })
    }
}

/// Why there is no next frame.
enum Stop {
    /// The file ends where a frame could begin.
    End,
    /// It ends within a frame.
    Cut,
    Wrong(String),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Wrong(error.to_string())
    }
}

impl Frames {
    /// Opens `path`.
    ///
    /// # Errors
    /// It cannot be read, or is neither pcap nor pcapng.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |what: String| Error { file: name.clone(), what };
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        if file.metadata().is_ok_and(|about| about.is_dir()) {
            return Err(failed("is a folder; allowed: a file".to_owned()));
        }
        let mut input = BufReader::with_capacity(1 << 18, file);
        let format = opened(&mut input).map_err(|stop| match stop {
            Stop::Wrong(what) => failed(what),
            Stop::End | Stop::Cut => failed("is neither pcap nor pcapng: it ends within its header".to_owned()),
        })?;
        Ok(Self { name, input, format, buffer: Vec::new(), number: 0, cut: false })
    }

    /// Whether the file ended in the middle of a frame, once [`Self::take`] has found the end.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// The next frame; `None` at the end, also where the file ends in the middle of a frame.
    ///
    /// # Errors
    /// The file cannot be read or is damaged here.
    pub fn take(&mut self) -> Result<Option<Frame<'_>>, Error> {
        self.number += 1;
        let found = match &mut self.format {
            Format::Pcap(pcap) => pcap.take(&mut self.input, &mut self.buffer),
            Format::PcapNg(pcapng) => pcapng.take(&mut self.input, &mut self.buffer),
        };
        match found {
            Ok(found) => {
                let data = self.buffer.get(found.start..found.start + found.length).unwrap_or_default();
                let wire = (found.wire as usize).max(data.len());
                let at = found.at.and_then(|nanos| {
                    let at = u64::try_from(nanos).ok().map(Instant::from_nanos);
                    at.filter(|at| *at <= LATEST).ok_or(Skip::Time)
                });
                Ok(Some(Frame { at, link: found.link, wire, fcs: found.fcs, data }))
            }
            Err(Stop::End) => Ok(None),
            Err(Stop::Cut) => {
                self.cut = true;
                Ok(None)
            }
            Err(Stop::Wrong(why)) => {
                let what = format!("frame {}: {why}; the file is damaged", self.number);
                Err(Error { file: self.name.clone(), what })
            }
        }
    }
}

/// Fills `buffer`. A file that ends before its first byte is at its end, later on it is cut.
fn fill(input: &mut BufReader<File>, buffer: &mut [u8]) -> Result<(), Stop> {
    let mut done = 0;
    while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => return Err(if done == 0 { Stop::End } else { Stop::Cut }),
            Ok(more) => done += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// As [`fill`], behind what was read of the same frame.
fn more(input: &mut BufReader<File>, buffer: &mut Vec<u8>, length: usize) -> Result<(), Stop> {
    buffer.resize(length, 0);
    fill(input, buffer).map_err(|stop| if matches!(stop, Stop::End) { Stop::Cut } else { stop })
}

/// Reads the header of the file.
fn opened(input: &mut BufReader<File>) -> Result<Format, Stop> {
    let mut magic = [0; 4];
    fill(input, &mut magic)?;
    let orders = [(Order::Little, u32::from_le_bytes(magic)), (Order::Big, u32::from_be_bytes(magic))];
    for (order, number) in orders {
        // Kuznetzov's has interface, protocol and direction behind the lengths of each frame.
        let (fraction, header) = match number {
            0xa1b2_c3d4 => (1000, 16),
            0xa1b2_3c4d => (1, 16),
            0xa1b2_cd34 => (1000, 24),
            // The block type of a section header is the same in both orders: it says which one it has.
            0x0a0d_0d0a => {
                let mut pcapng = PcapNg { order, interfaces: Vec::new() };
                let mut length = [0; 4];
                fill(input, &mut length)?;
                return pcapng.section(input, length).map(|()| Format::PcapNg(pcapng));
            }
            _ => continue,
        };
        let mut rest = [0; 20];
        fill(input, &mut rest)?;
        let minor = order.u16(&rest, 2).unwrap_or_default();
        let link = order.u32(&rest, 16).unwrap_or_default();
        // The length of a frame check sequence in units of two bytes, where it is said to be known.
        let fcs = if link & 0x0400_0000 == 0 { 0 } else { 2 * (link >> 28) as usize };
        let (old, link) = ((minor < 4).then_some(minor), Link::of(link as u16));
        return Ok(Format::Pcap(Pcap { order, fraction, header, old, link, fcs }));
    }
    Err(Stop::Wrong(match magic {
        [0x1f, 0x8b, ..] => "is compressed by gzip; allowed: pcap or pcapng, so unpack it before".to_owned(),
        [0x28, 0xb5, 0x2f, 0xfd] => "is compressed by zstd; allowed: pcap or pcapng, so unpack it before".to_owned(),
        _ => "is neither pcap nor pcapng".to_owned(),
    }))
}

impl Pcap {
    fn take(&self, input: &mut BufReader<File>, buffer: &mut Vec<u8>) -> Result<Found, Stop> {
        let mut header = [0; 24];
        let header = header.get_mut(..self.header).unwrap_or_default();
        fill(input, header)?;
        let word = |at: usize| self.order.u32(header, at).unwrap_or_default();
        let (mut length, mut wire) = (word(8), word(12));
        if self.old.is_some_and(|minor| minor < 3 || length > wire) {
            std::mem::swap(&mut length, &mut wire);
        }
        if length > LONGEST {
            return Err(Stop::Wrong(format!("states {length} B; allowed: up to {LONGEST} B")));
        }
        more(input, buffer, length as usize)?;
        let nanos = i128::from(word(0)) * 1_000_000_000 + i128::from(word(4)) * i128::from(self.fraction);
        Ok(Found { at: Ok(nanos), link: self.link, fcs: self.fcs, wire, start: 0, length: length as usize })
    }
}

impl PcapNg {
    fn take(&mut self, input: &mut BufReader<File>, buffer: &mut Vec<u8>) -> Result<Found, Stop> {
        loop {
            let mut head = [0; 8];
            fill(input, &mut head)?;
            if head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
                self.section(input, [head[4], head[5], head[6], head[7]]).map_err(|stop| match stop {
                    Stop::End => Stop::Cut,
                    other => other,
                })?;
                continue;
            }
            let kind = self.order.u32(&head, 0).unwrap_or_default();
            let total = self.order.u32(&head, 4).unwrap_or_default();
            let Some(body) = total.checked_sub(12) else {
                return Err(Stop::Wrong(format!("a block states {total} B; allowed: 12 B or more")));
            };
            match kind {
                INTERFACE | OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET => {
                    if body > LONGEST + MAX_BLOCK_OVERHEAD {
                        let most = LONGEST + MAX_BLOCK_OVERHEAD;
                        return Err(Stop::Wrong(format!("a block states {total} B; allowed: up to {most} B")));
                    }
                    more(input, buffer, body as usize)?;
                }
                _ => {
                    let passed = io::copy(&mut input.by_ref().take(u64::from(body)), &mut io::sink())?;
                    if passed < u64::from(body) {
                        return Err(Stop::Cut);
                    }
                }
            }
            let mut end = [0; 4];
            // The frame is whole: that its block is not does not matter.
            let whole = match fill(input, &mut end) {
                Ok(()) => true,
                Err(Stop::End | Stop::Cut) => false,
                Err(wrong) => return Err(wrong),
            };
            if whole && self.order.u32(&end, 0) != Some(total) {
                return Err(Stop::Wrong(format!("a block that begins with a length of {total} B ends with another")));
            }
            let found = match kind {
                INTERFACE => {
                    let interface = self.interface(buffer);
                    self.interfaces.push(interface.ok_or_else(|| short("an interface"))?);
                    continue;
                }
                ENHANCED_PACKET => self.enhanced(buffer)?,
                OBSOLETE_PACKET => self.obsolete(buffer)?,
                SIMPLE_PACKET => self.simple(buffer)?,
                _ => continue,
            };
            if found.start + found.length > buffer.len() {
                return Err(Stop::Wrong(format!("states {} B, which are not in its block", found.length)));
            }
            if found.length > LONGEST as usize {
                return Err(Stop::Wrong(format!("states {} B; allowed: up to {LONGEST} B", found.length)));
            }
            return Ok(found);
        }
    }

    /// Reads the rest of a section header, whose length has not been understood yet, and begins the section.
    fn section(&mut self, input: &mut BufReader<File>, length: [u8; 4]) -> Result<(), Stop> {
        let mut magic = [0; 4];
        fill(input, &mut magic)?;
        self.order = match (u32::from_le_bytes(magic), u32::from_be_bytes(magic)) {
            (0x1a2b_3c4d, _) => Order::Little,
            (_, 0x1a2b_3c4d) => Order::Big,
            _ => return Err(Stop::Wrong("a section has no byte order".to_owned())),
        };
        self.interfaces.clear();
        let total = self.order.u32(&length, 0).unwrap_or_default();
        let Some(rest) = total.checked_sub(12) else {
            return Err(Stop::Wrong(format!("a section's header states {total} B; allowed: 28 B or more")));
        };
        let passed = io::copy(&mut input.by_ref().take(u64::from(rest)), &mut io::sink())?;
        if passed < u64::from(rest) {
            return Err(Stop::Cut);
        }
        Ok(())
    }

    /// Link type, reserved, snap length, options (section 4.2).
    fn interface(&self, body: &[u8]) -> Option<Interface> {
        const RESOLUTION: u16 = 9;
        const FCS: u16 = 13;
        const OFFSET: u16 = 14;
        let mut found = Interface {
            link: Link::of(self.order.u16(body, 0)?),
            fcs: 0,
            snaplen: self.order.u32(body, 4)?,
            a_second: 1_000_000,
            offset: 0,
        };
        self.options(body, 8, |code, value| match (code, value) {
            (RESOLUTION, [resolution, ..]) => {
                let exponent = u32::from(resolution & 0x7f);
                let binary = resolution & 0x80 != 0;
                let units = if binary { 1_u128.checked_shl(exponent) } else { 10_u128.checked_pow(exponent) };
                found.a_second = units.unwrap_or(u128::MAX);
            }
            // In bits. What is less than a byte was meant in bytes.
            (FCS, [length, ..]) => found.fcs = usize::from(if *length < 8 { *length } else { length / 8 }),
            (OFFSET, value) => found.offset = self.order.i64(value).unwrap_or_default(),
            _ => {}
        });
        Some(found)
    }

    /// Calls with code and value of each option from `at` on. They end with the block, whether or not it says so.
    fn options(&self, body: &[u8], mut at: usize, mut each: impl FnMut(u16, &[u8])) {
        while let Some((code, length)) = self.order.u16(body, at).zip(self.order.u16(body, at + 2)) {
            let Some(value) = body.get(at + 4..at + 4 + usize::from(length)).filter(|_| code != 0) else { break };
            each(code, value);
            at += 4 + usize::from(length).next_multiple_of(4);
        }
    }

    fn known(&self, number: u32) -> Result<Interface, Stop> {
        let known = self.interfaces.get(number as usize).copied();
        known.ok_or_else(|| Stop::Wrong(format!("is of interface {number}, which the file does not describe")))
    }

    fn enhanced(&self, body: &[u8]) -> Result<Found, Stop> {
        const FLAGS: u16 = 2;
        let word = |at: usize| self.order.u32(body, at).ok_or_else(|| short("a packet"));
        let mut found = self.packet(word(0)?, [word(4)?, word(8)?], [word(12)?, word(16)?])?;
        self.options(body, 20 + found.length.next_multiple_of(4), |code, value| {
            if code == FLAGS {
                // Bits 5 to 8: bytes of the frame check sequence, 0 where that is not known.
                let bytes = (self.order.u32(value, 0).unwrap_or_default() >> 5) & 0xf;
                found.fcs = if bytes > 0 { bytes as usize } else { found.fcs };
            }
        });
        Ok(found)
    }

    fn obsolete(&self, body: &[u8]) -> Result<Found, Stop> {
        let interface = self.order.u16(body, 0).ok_or_else(|| short("a packet"))?;
        let word = |at: usize| self.order.u32(body, at).ok_or_else(|| short("a packet"));
        self.packet(u32::from(interface), [word(4)?, word(8)?], [word(12)?, word(16)?])
    }

    fn packet(&self, interface: u32, time: [u32; 2], lengths: [u32; 2]) -> Result<Found, Stop> {
        let known = self.known(interface)?;
        let units = u128::from(time[0]) << 32 | u128::from(time[1]);
        let nanos = match known.a_second {
            1_000_000 => units * 1000,
            1_000_000_000 => units,
            a_second => units * 1_000_000_000 / a_second,
        };
        // 64 bits of seconds at most: far from the end of 128.
        let at = nanos as i128 + i128::from(known.offset) * 1_000_000_000;
        Ok(Found {
            at: Ok(at),
            link: known.link,
            fcs: known.fcs,
            wire: lengths[1],
            start: 20,
            length: lengths[0] as usize,
        })
    }

    /// Its captured length is not written: it is that of the snap length or of the packet.
    fn simple(&self, body: &[u8]) -> Result<Found, Stop> {
        let known = self.known(0)?;
        let wire = self.order.u32(body, 0).ok_or_else(|| short("a packet"))?;
        let kept = if known.snaplen == 0 { wire } else { wire.min(known.snaplen) };
        let length = kept as usize;
        Ok(Found { at: Err(Skip::NoTime), link: known.link, fcs: known.fcs, wire, start: 4, length })
    }
}

const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

fn short(what: &str) -> Stop {
    Stop::Wrong(format!("the block of {what} is too short"))
}
