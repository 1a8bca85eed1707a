//! Writes pcap with nanoseconds.

use crate::{Error, LONGEST};
use sojourn_units::Instant;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes frames with nanoseconds, in this machine's byte order.
#[derive(Debug)]
pub struct Writer {
    name: String,
    /// `None` once all is written.
    file: Option<BufWriter<File>>,
}

impl Writer {
    /// Creates `path`, in place of what is there.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path) -> Result<Self, Error> {
        const NANOSECONDS: u32 = 0xa1b2_3c4d;
        const VERSION: [u16; 2] = [2, 4];
        const ETHERNET: u32 = 1;
        let name = path.display().to_string();
        let failed = |error: io::Error| Error { file: name.clone(), what: error.to_string() };
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        let [major, minor] = VERSION.map(u16::to_ne_bytes);
        let words = [0, 0, LONGEST, ETHERNET].map(u32::to_ne_bytes);
        let header = [&NANOSECONDS.to_ne_bytes()[..], &major, &minor, words.as_flattened()].concat();
        file.write_all(&header).map_err(failed)?;
        Ok(Self { name, file: Some(file) })
    }

    /// A frame, `at` nanoseconds since 1970.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, at: Instant, contents: &[u8]) -> Result<(), Error> {
        const SECOND: u64 = 1_000_000_000;
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        // The latest time that fits.
        let at = at.nanos().min(u64::from(u32::MAX) * SECOND);
        let length = contents.len() as u32;
        let header = [(at / SECOND) as u32, (at % SECOND) as u32, length, length].map(u32::to_ne_bytes);
        let written = file.write_all(header.as_flattened()).and_then(|()| file.write_all(contents));
        written.map_err(|error| Error { file: self.name.clone(), what: error.to_string() })
    }

    /// Sees to it that all is in the file; nothing is written after it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.flush().map_err(|error| Error { file: self.name.clone(), what: error.to_string() })
    }
}
