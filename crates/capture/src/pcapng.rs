//! Writes pcapng (draft-ietf-opsawg-pcapng) with nanoseconds: one section, one interface, packets with comments.

use crate::{said, Error};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::name_resolution::{Ipv4Record, NameResolutionBlock, Record};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use sojourn_units::{BitRate, Instant};
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// Nanoseconds: `if_tsresol` is the negative power of ten.
const NANOSECONDS: u8 = 9;

/// What a file says of its packets as a whole; the empty text is left out.
#[derive(Clone, Copy, Debug, Default)]
pub struct About<'a> {
    /// The program that writes it.
    pub application: &'a str,
    /// What was captured.
    pub comment: &'a str,
    /// Name of the interface.
    pub interface: &'a str,
    /// What the interface is.
    pub description: &'a str,
    /// Rate of the interface.
    pub rate: Option<BitRate>,
    /// Bytes of a packet that are kept; 0 for all.
    pub snaplen: u32,
}

/// What is said of a packet besides its contents.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// Text for people.
    Comment(&'a str),
    /// The interface received it.
    Inbound,
    /// The interface sent it.
    Outbound,
}

/// Writes packets of Ethernet that passed one interface.
pub struct Writer {
    name: String,
    /// `None` once all is written.
    writer: Option<PcapNgWriter<BufWriter<File>>>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Writer {
    /// Creates `path`, in place of what is there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path, about: &About<'_>) -> Result<Self, Error> {
        Self::begin(path, File::create(path), about)
    }

    /// Creates `path`, which must not exist.
    ///
    /// # Errors
    /// It exists, or cannot be written.
    pub fn create_new(path: &Path, about: &About<'_>) -> Result<Self, Error> {
        Self::begin(path, File::create_new(path), about)
    }

    fn begin(path: &Path, file: io::Result<File>, about: &About<'_>) -> Result<Self, Error> {
        let name = path.display().to_string();
        let file = file.map_err(|error| Error { file: name.clone(), what: error.to_string() })?;
        let mut options = Vec::new();
        if !about.application.is_empty() {
            options.push(SectionHeaderOption::UserApplication(about.application.to_owned().into()));
        }
        if !about.comment.is_empty() {
            options.push(SectionHeaderOption::Comment(about.comment.to_owned().into()));
        }
        let section = SectionHeaderBlock { endianness: Endianness::Little, options, ..SectionHeaderBlock::default() };
        let writer = PcapNgWriter::with_section_header(BufWriter::new(file), section);
        let writer = writer.map_err(|error| Error { file: name.clone(), what: said(&error) })?;
        let mut this = Self { name, writer: Some(writer) };
        let mut options = vec![InterfaceDescriptionOption::IfName(about.interface.into())];
        if !about.description.is_empty() {
            options.push(InterfaceDescriptionOption::IfDescription(about.description.into()));
        }
        options.extend(about.rate.map(|rate| InterfaceDescriptionOption::IfSpeed(rate.bit_s())));
        options.push(InterfaceDescriptionOption::IfTsResol(NANOSECONDS));
        this.block(InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: about.snaplen, options })?;
        Ok(this)
    }

    /// Names of hosts, which programs may show in place of their addresses.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn names<'a>(&mut self, names: impl Iterator<Item = ([u8; 4], &'a str)>) -> Result<(), Error> {
        let record = |(address, name): ([u8; 4], &'a str)| {
            Record::Ipv4(Ipv4Record { ip_addr: address.to_vec().into(), names: vec![name.into()] })
        };
        self.block(NameResolutionBlock { records: names.map(record).collect(), options: Vec::new() })
    }

    /// A packet that had `length` bytes, of which `data` are kept, `at` nanoseconds since 1970.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn packet(&mut self, at: Instant, length: u32, data: &[u8], said: Said<'_>) -> Result<(), Error> {
        let said = match said {
            Said::Comment(text) => EnhancedPacketOption::Comment(text.into()),
            Said::Inbound => EnhancedPacketOption::Flags(1),
            Said::Outbound => EnhancedPacketOption::Flags(2),
        };
        self.block(EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(at.nanos()),
            original_len: length,
            data: Cow::Borrowed(data),
            options: vec![said],
        })
    }

    /// Sees to it that all is in the file; nothing is written after it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let flushed = writer.into_inner().flush();
        flushed.map_err(|error| Error { file: self.name.clone(), what: error.to_string() })
    }

    fn block<'a>(&mut self, block: impl PcapNgBlock<'a>) -> Result<(), Error> {
        let written = self.writer.as_mut().map_or(Ok(0), |writer| writer.write_pcapng_block(block));
        written.map(|_| ()).map_err(|error| Error { file: self.name.clone(), what: said(&error) })
    }
}
