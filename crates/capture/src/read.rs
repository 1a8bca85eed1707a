//! Frames of a file as they would arrive at a port of Ethernet.

use crate::{Account, Error, Frame, Frames, Link, Skip, LONGEST};
use sojourn_units::Instant;
use std::path::Path;

/// One captured frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Nanoseconds since 1970.
    pub at: Instant,
    /// As it was on the wire: what the capture cut off is zeros, so that sizes are right.
    pub contents: Vec<u8>,
}

/// Reads a file of captured frames as Ethernet. Every frame of Ethernet is taken; of another link its IP packet is, behind an
/// Ethernet header whose addresses are zeros.
#[derive(Debug)]
pub struct Capture {
    frames: Frames,
    /// Read ahead.
    ahead: Option<Record>,
    account: Account,
    /// Time never goes back: a frame that was written late is taken to have come with the one before.
    last: Instant,
}

impl Capture {
    /// Opens `path`.
    ///
    /// # Errors
    /// It cannot be read, or is neither pcap nor pcapng.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let frames = Frames::open(path)?;
        let mut capture = Self { frames, ahead: None, account: Account::default(), last: Instant::ZERO };
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

    /// What became of the frames so far, with the one that is read ahead.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }

    fn read(&mut self) -> Result<Option<Record>, Error> {
        loop {
            let Some(frame) = self.frames.take()? else {
                self.account.cut = self.frames.is_cut();
                return Ok(None);
            };
            match record(&frame) {
                Ok((mut record, ip_bytes)) => {
                    self.account.take(ip_bytes);
                    self.account.out_of_order += u64::from(record.at < self.last);
                    record.at = record.at.max(self.last);
                    self.last = record.at;
                    return Ok(Some(record));
                }
                Err(why) => self.account.skip(why),
            }
        }
    }
}

/// The frame on Ethernet without its check sequence, and the bytes of IP in it.
fn record(frame: &Frame<'_>) -> Result<(Record, u64), Skip> {
    let at = frame.at?;
    let ip = frame.ip();
    let ip_bytes = ip.map_or(0, |(_, length)| length as u64);
    let (header, packet, length) = if frame.link == Link::Ethernet {
        let within = ip.map_or(0, |(payload, length)| payload.start + length);
        (Vec::new(), frame.data, frame.wire.saturating_sub(frame.fcs).max(within))
    } else {
        let (payload, length) = ip?;
        let header = [[0; 12].as_slice(), &payload.ether_type.to_be_bytes()].concat();
        (header, frame.data.get(payload.start..).unwrap_or_default(), length)
    };
    let length = length.min(LONGEST as usize);
    let mut contents = Vec::with_capacity(header.len() + length);
    contents.extend_from_slice(&header);
    contents.extend_from_slice(packet.get(..length).unwrap_or(packet));
    contents.resize(header.len() + length, 0);
    Ok((Record { at, contents }, ip_bytes))
}
