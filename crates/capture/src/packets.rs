//! The IP packets of a file, with their times and lengths.

use crate::link::{self, Payload};
use crate::{ipv4_length, ipv6_length, Account, Error, Fault, Frame, Frames, Skip};
use sojourn_units::Instant;
use std::path::Path;

/// An IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it was captured.
    pub at: Instant,
    /// Its length with the IP header.
    pub bytes: u64,
}

impl Frame<'_> {
    /// The IP packet that it carries.
    ///
    /// # Errors
    /// Why there is none.
    pub fn packet(&self) -> Result<Packet, Skip> {
        let (_, bytes) = self.ip()?;
        Ok(Packet { at: self.at?, bytes: bytes as u64 })
    }

    /// Where the packet begins, and how long it is. A frame check sequence is no part of it, unless the IP header says that
    /// what the file calls one is.
    pub(crate) fn ip(&self) -> Result<(Payload, usize), Skip> {
        let within = self.within(self.wire.saturating_sub(self.fcs));
        if within == Err(Skip::Truncated) && self.fcs > 0 {
            return self.within(self.wire);
        }
        within
    }

    fn within(&self, wire: usize) -> Result<(Payload, usize), Skip> {
        let data = self.data.get(..wire).unwrap_or(self.data);
        let payload = self.link.payload(data, wire)?;
        let packet = data.get(payload.start..).unwrap_or_default();
        let room = payload.end.saturating_sub(payload.start);
        let length = match payload.ether_type {
            link::IPV4 => {
                let header = packet.get(..20).and_then(|header| header.try_into().ok()).ok_or(Fault::Truncated)?;
                ipv4_length(header, room)?
            }
            _ => ipv6_length(packet, room)?,
        };
        Ok((payload, length))
    }
}

/// Reads the IP packets of a file, in its order.
#[derive(Debug)]
pub struct Packets {
    frames: Frames,
    account: Account,
    latest: Instant,
}

impl Packets {
    /// Opens `path`.
    ///
    /// # Errors
    /// It cannot be read, or is neither pcap nor pcapng.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { frames: Frames::open(path)?, account: Account::default(), latest: Instant::ZERO })
    }

    /// The next packet; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read or is damaged here.
    pub fn take(&mut self) -> Result<Option<Packet>, Error> {
        loop {
            let Some(frame) = self.frames.take()? else {
                self.account.cut = self.frames.is_cut();
                return Ok(None);
            };
            match frame.packet() {
                Ok(packet) => {
                    self.account.take(packet.bytes);
                    self.account.out_of_order += u64::from(packet.at < self.latest);
                    self.latest = self.latest.max(packet.at);
                    return Ok(Some(packet));
                }
                Err(why) => self.account.skip(why),
            }
        }
    }

    /// What became of the frames so far.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.account
    }
}
