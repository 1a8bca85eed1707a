//! Frame memory: one region cut into frames, which every back end receives into and sends from.

#[cfg(test)]
mod tests;

use crate::frame::Class;
use crate::memory::{self, shown, Shortage};
use memmap2::{MmapMut, MmapOptions};
use std::io;

/// Room before the contents of a frame (`XDP_PACKET_HEADROOM`).
pub const HEADROOM: usize = 256;

/// A frame of a [`Pool`], in one place only: free, at a port, waiting, or on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame(u32);

impl Frame {
    /// Its number, from 0.
    #[must_use]
    pub fn index(self) -> u32 {
        self.0
    }

    /// The frame with this number, as [`Frame::index`] gave it.
    #[must_use]
    pub fn from_index(index: u32) -> Self {
        Self(index)
    }
}

/// Where the contents of a frame lie, and what the pipeline noted on it.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    /// First byte of the contents within the frame.
    pub offset: u16,
    /// Bytes of contents, from the destination address on, without FCS.
    pub length: u16,
    /// Where the IP header begins in the contents; 0 without one.
    pub ip: u16,
    /// Class of traffic.
    pub class: Class,
    /// Differentiated services codepoint of the contents.
    pub dscp: u8,
    /// Nanoseconds of the host's monotonic clock when the frame arrived; 0 where the port cannot tell.
    pub arrived_ns: u64,
}

impl Default for Note {
    fn default() -> Self {
        Self { offset: 0, length: 0, ip: 0, class: Class::Other, dscp: 0, arrived_ns: 0 }
    }
}

/// All frames. The region is page-aligned, as AF_XDP wants its UMEM.
#[derive(Debug)]
pub struct Pool {
    memory: MmapMut,
    frame_bytes: usize,
    headroom: usize,
    notes: Vec<Note>,
    free: Vec<Frame>,
    /// Free frames that are not given out.
    aside: usize,
}

impl Pool {
    /// `frames` frames of `frame_bytes` (a power of two, 2048 or 4096 for AF_XDP), with `headroom` bytes before the contents.
    ///
    /// # Errors
    /// There is less memory, or the system does not give it.
    pub fn new(frames: u32, frame_bytes: usize, headroom: usize) -> io::Result<Self> {
        let asked = || {
            let bytes = u64::from(frames) * frame_bytes as u64;
            format!("key `frames.count`: {frames} frames of {frame_bytes} B, `frames.size`, are {}", shown(bytes))
        };
        let each = (frame_bytes + size_of::<Note>() + size_of::<Frame>()) as u64;
        memory::room_for(u64::from(frames) * each).map_err(|Shortage { there, who }| {
            let fit = there / each;
            let what = format!(
                "{}; there are {} according to {who}; allowed: up to {fit} of this size, or more memory",
                asked(),
                shown(there)
            );
            io::Error::new(io::ErrorKind::OutOfMemory, what)
        })?;
        let refused = |error: &dyn std::fmt::Display| {
            io::Error::new(io::ErrorKind::OutOfMemory, format!("{}; the system refuses them: {error}", asked()))
        };
        // Present from the start: a page fault costs more than a packet.
        let mut options = MmapOptions::new();
        // Miri knows no such flag.
        if cfg!(not(miri)) {
            options.populate();
        }
        let memory = options.len(frames as usize * frame_bytes).map_anon();
        let memory = memory.map_err(|error| refused(&error))?;
        let (mut notes, mut free) = (Vec::new(), Vec::new());
        notes.try_reserve_exact(frames as usize).map_err(|error| refused(&error))?;
        free.try_reserve_exact(frames as usize).map_err(|error| refused(&error))?;
        notes.resize(frames as usize, Note::default());
        // The last is taken first: the lowest, while all are free.
        free.extend((0..frames).rev().map(Frame));
        Ok(Self { memory, frame_bytes, headroom, notes, free, aside: 0 })
    }

    /// Takes a free frame.
    #[inline]
    pub fn take(&mut self) -> Option<Frame> {
        if self.free.len() <= self.aside {
            return None;
        }
        self.free.pop()
    }

    /// [`Pool::take`] leaves `frames` free frames from now on.
    #[inline]
    pub fn set_aside(&mut self, frames: usize) {
        self.aside = frames;
    }

    /// Gives a frame back.
    #[inline]
    pub fn give(&mut self, frame: Frame) {
        debug_assert!(self.free.len() < self.notes.len(), "a frame was given back twice");
        self.free.push(frame);
    }

    /// Frames that are free.
    #[must_use]
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// All frames.
    #[must_use]
    pub fn frames(&self) -> usize {
        self.notes.len()
    }

    /// Bytes of a frame, headroom included.
    #[must_use]
    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// Bytes before the contents of a frame that a port fills.
    #[must_use]
    pub fn headroom(&self) -> usize {
        self.headroom
    }

    /// Longest contents.
    #[must_use]
    pub fn room(&self) -> usize {
        self.frame_bytes - self.headroom
    }

    /// The whole region, for a back end that maps it.
    pub fn region(&mut self) -> &mut [u8] {
        &mut self.memory
    }

    /// What is noted on a frame.
    #[must_use]
    #[inline]
    pub fn note(&self, frame: Frame) -> Note {
        self.notes[frame.0 as usize]
    }

    /// Notes on a frame.
    #[inline]
    pub fn note_mut(&mut self, frame: Frame) -> &mut Note {
        &mut self.notes[frame.0 as usize]
    }

    /// The contents of a frame.
    #[must_use]
    #[inline]
    pub fn contents(&self, frame: Frame) -> &[u8] {
        let note = self.notes[frame.0 as usize];
        let start = frame.0 as usize * self.frame_bytes + usize::from(note.offset);
        &self.memory[start..start + usize::from(note.length)]
    }

    /// The contents of a frame, to be changed.
    #[inline]
    pub fn contents_mut(&mut self, frame: Frame) -> &mut [u8] {
        let note = self.notes[frame.0 as usize];
        let start = frame.0 as usize * self.frame_bytes + usize::from(note.offset);
        &mut self.memory[start..start + usize::from(note.length)]
    }

    /// The `N` bytes before the contents of a frame, where there are as many.
    #[inline]
    pub fn before<const N: usize>(&mut self, frame: Frame) -> Option<&mut [u8; N]> {
        let start = frame.0 as usize * self.frame_bytes;
        let offset = usize::from(self.notes[frame.0 as usize].offset);
        self.memory[start..start + offset].last_chunk_mut()
    }

    /// Everything after the headroom of a frame, for a port to receive into.
    #[inline]
    pub fn room_of(&mut self, frame: Frame) -> &mut [u8] {
        let start = frame.0 as usize * self.frame_bytes;
        &mut self.memory[start + self.headroom..start + self.frame_bytes]
    }

    /// Says that a port received `length` bytes into [`Pool::room_of`] of a frame.
    #[inline]
    pub fn filled(&mut self, frame: Frame, length: usize) {
        self.notes[frame.0 as usize] =
            Note { offset: self.headroom as u16, length: length.min(self.room()) as u16, ..Note::default() };
    }

    /// Copies contents and notes of a frame to another.
    pub fn copy(&mut self, from: Frame, to: Frame) {
        let note = self.note(from);
        let start = |frame: Frame| frame.0 as usize * self.frame_bytes + usize::from(note.offset);
        let (from, to_start) = (start(from), start(to));
        self.memory.copy_within(from..from + usize::from(note.length), to_start);
        *self.note_mut(to) = note;
    }

    /// A free frame with a copy of `contents`; `None` when none is free or it is too long.
    pub fn copy_in(&mut self, contents: &[u8]) -> Option<Frame> {
        if contents.len() > self.room() {
            return None;
        }
        let frame = self.take()?;
        self.room_of(frame)[..contents.len()].copy_from_slice(contents);
        self.filled(frame, contents.len());
        Some(frame)
    }
}
