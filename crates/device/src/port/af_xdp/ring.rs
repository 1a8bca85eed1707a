//! The rings that a process shares with the kernel (Documentation/networking/af_xdp.rst): one side produces, one consumes.
#![allow(unsafe_code)]

#[cfg(test)]
mod tests;

use memmap2::{MmapOptions, MmapRaw};
use std::io;
use std::mem::{align_of, size_of};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};

/// Entries that the kernel writes: a descriptor of the receive and send rings, an address of the other two.
///
/// # Safety
/// Every bit pattern is a value.
pub(super) unsafe trait Entry: Copy {}
// SAFETY: integers.
unsafe impl Entry for u64 {}
unsafe impl Entry for libc::xdp_desc {}

/// One ring.
pub(super) struct Ring<T> {
    map: MmapRaw,
    offsets: Offsets,
    mask: u32,
    /// The position that is ours.
    ours: u32,
    /// What the kernel's position was when it was last read.
    theirs: u32,
    entry: std::marker::PhantomData<T>,
}

struct Offsets {
    producer: usize,
    consumer: usize,
    flags: usize,
    entries: usize,
}

impl<T: Entry> Ring<T> {
    /// Maps the ring of `entries` (a power of two) that lies at `page` of `socket`.
    pub(super) fn map(socket: &OwnedFd, page: u64, entries: u32, offsets: libc::xdp_ring_offset) -> io::Result<Self> {
        let length = offsets.desc as usize + entries as usize * size_of::<T>();
        let map = MmapOptions::new().offset(page).len(length).populate().map_raw(socket)?;
        Self::over(map, entries, offsets)
    }

    /// The ring of `entries` (a power of two) in `map`, page-aligned memory.
    fn over(map: MmapRaw, entries: u32, offsets: libc::xdp_ring_offset) -> io::Result<Self> {
        let offsets = Offsets {
            producer: offsets.producer as usize,
            consumer: offsets.consumer as usize,
            flags: offsets.flags as usize,
            entries: offsets.desc as usize,
        };
        let within = |offset: usize, length: usize, alignment: usize| {
            offset.is_multiple_of(alignment) && offset.checked_add(length).is_some_and(|end| end <= map.len())
        };
        let words = [offsets.producer, offsets.consumer, offsets.flags];
        if !words.iter().all(|word| within(*word, size_of::<AtomicU32>(), align_of::<AtomicU32>()))
            || !entries.is_power_of_two()
            || !within(offsets.entries, entries as usize * size_of::<T>(), align_of::<T>())
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the kernel describes a ring outside of its memory",
            ));
        }
        Ok(Self { map, offsets, mask: entries - 1, ours: 0, theirs: 0, entry: std::marker::PhantomData })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: `over` saw that it is aligned and within the mapping, which lives as long as `self`.
        unsafe { &*self.map.as_mut_ptr().add(offset).cast::<AtomicU32>() }
    }

    fn entry(&self, position: u32) -> *mut T {
        // SAFETY: the mask keeps it among the entries, which are aligned and within the mapping, as `over` saw.
        unsafe { self.map.as_mut_ptr().add(self.offsets.entries).cast::<T>().add((position & self.mask) as usize) }
    }

    /// The kernel asks to be woken.
    pub(super) fn wants_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }

    /// Entries that a producer may still write.
    pub(super) fn room(&mut self) -> u32 {
        self.theirs = self.word(self.offsets.consumer).load(Ordering::Acquire);
        self.mask + 1 - self.ours.wrapping_sub(self.theirs)
    }

    /// Entries produced that the kernel has not consumed.
    pub(super) fn pending(&mut self) -> u32 {
        self.mask + 1 - self.room()
    }

    /// Writes one entry, within [`Ring::room`], which the kernel sees after [`Ring::publish`].
    pub(super) fn put(&mut self, value: T) {
        // SAFETY: the entry is ours until it is published; see `entry`.
        unsafe { self.entry(self.ours).write(value) };
        self.ours = self.ours.wrapping_add(1);
    }

    /// Shows the kernel what was put.
    pub(super) fn publish(&self) {
        self.word(self.offsets.producer).store(self.ours, Ordering::Release);
    }

    /// Takes the next entry that the kernel produced.
    pub(super) fn take(&mut self) -> Option<T> {
        if self.ours == self.theirs {
            self.theirs = self.word(self.offsets.producer).load(Ordering::Acquire);
            if self.ours == self.theirs {
                return None;
            }
        }
        // SAFETY: the kernel published it and does not write it again before it is released; see `entry`.
        let value = unsafe { self.entry(self.ours).read() };
        self.ours = self.ours.wrapping_add(1);
        Some(value)
    }

    /// Gives the kernel back what was taken.
    pub(super) fn release(&self) {
        self.word(self.offsets.consumer).store(self.ours, Ordering::Release);
    }
}
