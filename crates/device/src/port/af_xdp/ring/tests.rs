//! The kernel's side is played by another thread on plain memory, so that Miri can watch both.

use super::{Entry, Ring};
use memmap2::{MmapOptions, MmapRaw};
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, Ordering};

const ENTRIES: u32 = 8;
const PRODUCER: usize = 0;
const CONSUMER: usize = 64;
const FLAGS: usize = 128;
const DESCRIPTORS: usize = 192;
/// More than one turn of the ring; a turn of the 32-bit position is among them, see `FIRST`.
const COUNT: u32 = if cfg!(miri) { 40 } else { 10_000 };
/// Positions count on and wrap at 2^32.
const FIRST: u32 = u32::MAX - 10;

fn offsets() -> libc::xdp_ring_offset {
    let [producer, consumer, flags, desc] = [PRODUCER, CONSUMER, FLAGS, DESCRIPTORS].map(|offset| offset as u64);
    libc::xdp_ring_offset { producer, consumer, desc, flags }
}

fn memory<T>() -> MmapRaw {
    let length = DESCRIPTORS + ENTRIES as usize * size_of::<T>();
    MmapOptions::new().len(length).map_anon().expect("memory").into()
}

/// The other side of the same memory.
struct Kernel<T> {
    start: *mut u8,
    position: u32,
    entry: std::marker::PhantomData<T>,
}

// SAFETY: both sides only meet at atomics, and at entries that these hand over.
unsafe impl<T> Send for Kernel<T> {}

impl<T: Entry> Kernel<T> {
    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: aligned and within the memory, which outlives the thread.
        unsafe { &*self.start.add(offset).cast::<AtomicU32>() }
    }

    fn entry(&self) -> *mut T {
        // SAFETY: within the memory.
        unsafe { self.start.add(DESCRIPTORS).cast::<T>().add((self.position % ENTRIES) as usize) }
    }

    /// Waits for an entry that the process produced.
    fn take(&mut self) -> T {
        while self.word(PRODUCER).load(Ordering::Acquire) == self.position {
            std::thread::yield_now();
        }
        // SAFETY: published, and not released yet.
        let value = unsafe { self.entry().read() };
        self.position = self.position.wrapping_add(1);
        self.word(CONSUMER).store(self.position, Ordering::Release);
        value
    }

    /// Waits for room and produces an entry.
    fn put(&mut self, value: T) {
        while self.position.wrapping_sub(self.word(CONSUMER).load(Ordering::Acquire)) == ENTRIES {
            std::thread::yield_now();
        }
        // SAFETY: the process released it.
        unsafe { self.entry().write(value) };
        self.position = self.position.wrapping_add(1);
        self.word(PRODUCER).store(self.position, Ordering::Release);
    }
}

fn pair<T: Entry>() -> (Ring<T>, Kernel<T>) {
    let mut ring = Ring::over(memory::<T>(), ENTRIES, offsets()).expect("a ring");
    let kernel = Kernel { start: ring.map.as_mut_ptr(), position: FIRST, entry: std::marker::PhantomData };
    (ring.ours, ring.theirs) = (FIRST, FIRST);
    kernel.word(PRODUCER).store(FIRST, Ordering::Relaxed);
    kernel.word(CONSUMER).store(FIRST, Ordering::Relaxed);
    (ring, kernel)
}

#[test]
fn what_is_put_arrives_in_order_and_never_more_than_there_is_room_for() {
    let (mut ring, mut kernel) = pair::<u64>();
    let taken = std::thread::spawn(move || (0..COUNT).map(|_| kernel.take()).collect::<Vec<_>>());
    let mut next = 0;
    while next < COUNT {
        let room = ring.room().min(COUNT - next);
        assert!(room <= ENTRIES);
        for _ in 0..room {
            ring.put(u64::from(next));
            next += 1;
        }
        ring.publish();
        std::thread::yield_now();
    }
    assert_eq!(taken.join().expect("no panic"), (0..u64::from(COUNT)).collect::<Vec<_>>());
    assert_eq!((ring.pending(), ring.room()), (0, ENTRIES));
}

#[test]
fn what_the_kernel_produces_is_taken_in_order_and_each_once() {
    let (mut ring, mut kernel) = pair::<libc::xdp_desc>();
    let producer = std::thread::spawn(move || {
        (0..COUNT).for_each(|n| kernel.put(libc::xdp_desc { addr: u64::from(n), len: n, options: 0 }));
    });
    let mut taken = Vec::new();
    while taken.len() < COUNT as usize {
        while let Some(descriptor) = ring.take() {
            assert_eq!(descriptor.addr, u64::from(descriptor.len));
            taken.push(descriptor.len);
        }
        ring.release();
        std::thread::yield_now();
    }
    producer.join().expect("no panic");
    assert!(ring.take().is_none());
    assert_eq!(taken, (0..COUNT).collect::<Vec<_>>());
}

#[test]
fn a_full_ring_has_no_room_and_an_entry_not_published_is_not_seen() {
    let (mut ring, mut kernel) = pair::<u64>();
    (0..ENTRIES).for_each(|n| ring.put(u64::from(n)));
    assert_eq!(kernel.word(PRODUCER).load(Ordering::Acquire), FIRST);
    ring.publish();
    assert_eq!((ring.room(), ring.pending()), (0, ENTRIES));
    assert_eq!(kernel.take(), 0);
    assert_eq!((ring.room(), ring.pending()), (1, ENTRIES - 1));
}

#[test]
fn the_kernel_asks_to_be_woken_by_a_flag() {
    let (ring, kernel) = pair::<u64>();
    assert!(!ring.wants_wakeup());
    kernel.word(FLAGS).store(libc::XDP_RING_NEED_WAKEUP, Ordering::Relaxed);
    assert!(ring.wants_wakeup());
}

#[test]
fn a_ring_that_does_not_lie_in_its_memory_is_refused() {
    let good = offsets();
    let wrong = [
        libc::xdp_ring_offset { producer: 1 << 20, ..good },
        libc::xdp_ring_offset { consumer: 2, ..good },
        libc::xdp_ring_offset { flags: u64::MAX, ..good },
        libc::xdp_ring_offset { desc: good.desc + 8, ..good },
        libc::xdp_ring_offset { desc: good.desc - 4, ..good },
    ];
    for offsets in wrong {
        assert!(Ring::<u64>::over(memory::<u64>(), ENTRIES, offsets).is_err());
    }
    assert!(Ring::<u64>::over(memory::<u64>(), ENTRIES - 1, good).is_err());
    assert!(Ring::<u64>::over(memory::<u64>(), ENTRIES, good).is_ok());
}
