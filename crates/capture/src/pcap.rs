//! Writes pcap with nanoseconds.

use crate::{said, Error, LONGEST};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use sojourn_units::Instant;
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

/// Writes frames with nanoseconds.
pub struct Writer {
    name: String,
    /// `None` once all is written.
    writer: Option<PcapWriter<BufWriter<File>>>,
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
    pub fn create(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |what: String| Error { file: name.clone(), what };
        let file = File::create(path).map_err(|error| failed(error.to_string()))?;
        let header = PcapHeader {
            snaplen: LONGEST,
            datalink: DataLink::ETHERNET,
            ts_resolution: TsResolution::NanoSecond,
            endianness: Endianness::native(),
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(BufWriter::new(file), header).map_err(|error| failed(said(&error)))?;
        Ok(Self { name, writer: Some(writer) })
    }

    /// A frame, `at` nanoseconds since 1970.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, at: Instant, contents: &[u8]) -> Result<(), Error> {
        let packet = PcapPacket {
            timestamp: Duration::from_nanos(at.nanos()).min(Duration::from_secs(u64::from(u32::MAX))),
            orig_len: contents.len() as u32,
            data: Cow::Borrowed(contents),
        };
        let written = self.writer.as_mut().map_or(Ok(0), |writer| writer.write_packet(&packet));
        written.map(|_| ()).map_err(|error| Error { file: self.name.clone(), what: said(&error) })
    }

    /// Sees to it that all is in the file; nothing is written after it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let flushed = writer.into_writer().flush();
        flushed.map_err(|error| Error { file: self.name.clone(), what: error.to_string() })
    }
}
