//! Writes pcapng (draft-ietf-opsawg-pcapng) with nanoseconds: one section, one interface, packets with comments.

use crate::Error;
use sojourn_units::{BitRate, Instant};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

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
pub enum PacketOption<'a> {
    /// Text for people.
    Comment(&'a str),
    /// The interface received it.
    Inbound,
    /// The interface sent it.
    Outbound,
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const NAMES: u32 = 4;
const ENHANCED_PACKET: u32 = 6;
const ETHERNET: u16 = 1;
const COMMENT: u16 = 1;

/// Writes packets of Ethernet that passed one interface.
#[derive(Debug)]
pub struct Writer {
    name: String,
    /// `None` once all is written.
    file: Option<BufWriter<File>>,
    /// The body of a block; its memory is used again.
    body: Vec<u8>,
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
        const USER_APPLICATION: u16 = 4;
        const NAME: u16 = 2;
        const DESCRIPTION: u16 = 3;
        const SPEED: u16 = 8;
        const RESOLUTION: u16 = 9;
        let name = path.display().to_string();
        let file = file.map_err(|error| Error { file: name.clone(), what: error.to_string() })?;
        let mut this = Self { name, file: Some(BufWriter::new(file)), body: Vec::new() };
        // Byte order, version 1.0, a length that is not known beforehand.
        this.begin_block();
        this.put(&0x1a2b_3c4d_u32.to_le_bytes());
        this.put(&[1, 0, 0, 0]);
        this.put(&u64::MAX.to_le_bytes());
        let section = [(USER_APPLICATION, about.application), (COMMENT, about.comment)];
        this.options(section.iter().filter(|(_, text)| !text.is_empty()).map(|(code, text)| (*code, text.as_bytes())));
        this.end_block(SECTION_HEADER)?;
        this.begin_block();
        this.put(&[ETHERNET.to_le_bytes(), [0; 2]].concat());
        this.put(&about.snaplen.to_le_bytes());
        let rate = about.rate.map(|rate| rate.bit_s().to_le_bytes());
        let description = Some(about.description.as_bytes()).filter(|text| !text.is_empty());
        let options = [
            (NAME, Some(about.interface.as_bytes())),
            (DESCRIPTION, description),
            (SPEED, rate.as_ref().map(|rate| &rate[..])),
            (RESOLUTION, Some(&[NANOSECONDS][..])),
        ];
        this.options(options.into_iter().filter_map(|(code, value)| Some((code, value?))));
        this.end_block(INTERFACE)?;
        Ok(this)
    }

    /// Names of hosts, which programs may show in place of their addresses.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn names<'a>(&mut self, names: impl Iterator<Item = ([u8; 4], &'a str)>) -> Result<(), Error> {
        const IPV4: u16 = 1;
        self.begin_block();
        for (address, name) in names {
            self.entry(IPV4, &[&address[..], name.as_bytes(), &[0]].concat());
        }
        self.put(&[0; 4]);
        self.end_block(NAMES)
    }

    /// A packet that had `length` bytes, of which `data` are kept, `at` nanoseconds since 1970.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn packet(&mut self, at: Instant, length: u32, data: &[u8], said: PacketOption<'_>) -> Result<(), Error> {
        const FLAGS: u16 = 2;
        self.begin_block();
        let nanos = at.nanos();
        for word in [0, (nanos >> 32) as u32, nanos as u32, data.len() as u32, length] {
            self.put(&word.to_le_bytes());
        }
        self.put(data);
        self.pad();
        match said {
            PacketOption::Comment(text) => self.options([(COMMENT, text.as_bytes())].into_iter()),
            PacketOption::Inbound => self.options([(FLAGS, &1_u32.to_le_bytes()[..])].into_iter()),
            PacketOption::Outbound => self.options([(FLAGS, &2_u32.to_le_bytes()[..])].into_iter()),
        }
        self.end_block(ENHANCED_PACKET)
    }

    /// Sees to it that all is in the file; nothing is written after it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> Result<(), Error> {
        let Some(mut file) = self.file.take() else { return Ok(()) };
        file.flush().map_err(|error| Error { file: self.name.clone(), what: error.to_string() })
    }

    fn begin_block(&mut self) {
        self.body.clear();
    }

    fn put(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }

    /// Everything begins at a multiple of four bytes.
    fn pad(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
    }

    /// An option, or a record of names: type, length, value. A value that is too long is cut.
    fn entry(&mut self, code: u16, value: &[u8]) {
        let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
        self.put(&code.to_le_bytes());
        self.put(&(value.len() as u16).to_le_bytes());
        self.put(value);
        self.pad();
    }

    fn options<'a>(&mut self, options: impl Iterator<Item = (u16, &'a [u8])>) {
        let before = self.body.len();
        options.for_each(|(code, value)| self.entry(code, value));
        if self.body.len() > before {
            self.put(&[0; 4]);
        }
    }

    fn end_block(&mut self, kind: u32) -> Result<(), Error> {
        let Some(file) = self.file.as_mut() else { return Ok(()) };
        let length = (self.body.len() as u32 + 12).to_le_bytes();
        let parts = [&kind.to_le_bytes()[..], &length, &self.body, &length];
        let written = parts.into_iter().try_for_each(|part| file.write_all(part));
        written.map_err(|error| Error { file: self.name.clone(), what: error.to_string() })
    }
}
