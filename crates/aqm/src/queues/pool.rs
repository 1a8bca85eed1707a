//! Many first-in first-out queues whose packets share one pool, so that memory is what all of them hold together.

use crate::{Cx, Dequeued, Packet};
use alloc::vec::Vec;

/// No place.
const NONE: u32 = u32::MAX;

/// A line of the processor's cache.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Slot {
    /// Waits here only while the slot is in a chain; what has left is written over by the next.
    packet: Packet,
    prev: u32,
    /// The next in its queue, or among the free ones.
    next: u32,
}

/// Waiting packets of many [`Chain`]s. Grows to the high-water mark of all together; every step is constant work.
#[derive(Clone, Debug)]
pub(crate) struct Pool {
    slots: Vec<Slot>,
    free: u32,
}

/// One queue's ends; its packets are in a [`Pool`].
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    first: u32,
    last: u32,
    packets: u32,
    bytes: u64,
}

impl Default for Chain {
    fn default() -> Self {
        Self { first: NONE, last: NONE, packets: 0, bytes: 0 }
    }
}

impl Chain {
    pub(crate) fn len(&self) -> usize {
        self.packets as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }
}

impl Pool {
    /// Appends at the tail.
    #[inline]
    pub(crate) fn push(&mut self, chain: &mut Chain, packet: Packet) {
        if self.free == NONE {
            self.grow();
        }
        chain.packets += 1;
        chain.bytes += u64::from(packet.bytes);
        let at = self.free;
        let slot = &mut self.slots[at as usize];
        self.free = slot.next;
        (slot.prev, slot.next) = (chain.last, NONE);
        slot.packet = packet;
        match self.slots.get_mut(chain.last as usize) {
            Some(last) => last.next = at,
            None => chain.first = at,
        }
        chain.last = at;
    }

    /// One more free slot, where there is none.
    #[cold]
    fn grow(&mut self) {
        self.free = self.slots.len() as u32;
        self.slots.push(Slot { packet: Packet::without_signals(0), prev: NONE, next: NONE });
    }

    /// Takes the head.
    #[inline]
    pub(crate) fn pop(&mut self, chain: &mut Chain) -> Option<Packet> {
        let at = chain.first;
        let slot = self.slots.get_mut(at as usize)?;
        chain.first = core::mem::replace(&mut slot.next, self.free);
        self.free = at;
        chain.packets -= 1;
        chain.bytes -= u64::from(slot.packet.bytes);
        match self.slots.get_mut(chain.first as usize) {
            Some(first) => first.prev = NONE,
            None => chain.last = NONE,
        }
        self.slots.get(at as usize).map(|slot| slot.packet.clone())
    }

    /// Sends the head.
    #[inline]
    pub(crate) fn send(&mut self, cx: &mut Cx<'_>, chain: &mut Chain) -> Dequeued {
        if let Some(head) = self.head(chain) {
            cx.forwarded(head);
        }
        match self.pop(chain) {
            Some(packet) => Dequeued::Packet(packet),
            None => Dequeued::Empty,
        }
    }

    /// Takes the tail.
    pub(crate) fn pop_last(&mut self, chain: &mut Chain) -> Option<Packet> {
        self.take(chain, chain.last)
    }

    /// Looks at the head.
    #[inline]
    pub(crate) fn head(&self, chain: &Chain) -> Option<&Packet> {
        self.slots.get(chain.first as usize).map(|slot| &slot.packet)
    }

    /// The head, to be changed where it waits: its size stays.
    #[inline]
    pub(crate) fn head_mut(&mut self, chain: &Chain) -> Option<&mut Packet> {
        self.slots.get_mut(chain.first as usize).map(|slot| &mut slot.packet)
    }

    /// Looks at the tail.
    pub(crate) fn last(&self, chain: &Chain) -> Option<&Packet> {
        self.slots.get(chain.last as usize).map(|slot| &slot.packet)
    }

    /// The packets from the head, each with its place.
    pub(crate) fn iter<'a>(&'a self, chain: &Chain) -> impl Iterator<Item = (u32, &'a Packet)> {
        let mut at = chain.first;
        core::iter::from_fn(move || {
            let slot = self.slots.get(at as usize)?;
            Some((core::mem::replace(&mut at, slot.next), &slot.packet))
        })
    }

    /// Takes the packet at a place that [`iter`](Self::iter) gave for this chain.
    pub(crate) fn take(&mut self, chain: &mut Chain, at: u32) -> Option<Packet> {
        let slot = self.slots.get_mut(at as usize)?;
        let (prev, next) = (slot.prev, slot.next);
        slot.next = core::mem::replace(&mut self.free, at);
        let packet = slot.packet.clone();
        match self.slots.get_mut(prev as usize) {
            Some(before) => before.next = next,
            None => chain.first = next,
        }
        match self.slots.get_mut(next as usize) {
            Some(after) => after.prev = prev,
            None => chain.last = prev,
        }
        chain.packets -= 1;
        chain.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_host::Stream;
    use crate::Random;
    use alloc::collections::VecDeque;

    #[test]
    fn chains_are_queues() {
        let mut script = Stream::new(4);
        let (mut pool, mut chains) = (Pool::default(), [(); 3].map(|()| Chain::default()));
        let mut models: [VecDeque<u64>; 3] = Default::default();
        let mut most = 0;
        for serial in 0..if cfg!(miri) { 500 } else { 20_000 } {
            let i = script.below(3) as usize;
            let (chain, model) = (&mut chains[i], &mut models[i]);
            match script.below(if serial / 500 % 2 == 0 { 6 } else { 3 }) {
                0 => assert_eq!(pool.pop(chain).map(|packet| packet.serial), model.pop_front()),
                1 => assert_eq!(pool.pop_last(chain).map(|packet| packet.serial), model.pop_back()),
                2 if !model.is_empty() => {
                    let n = script.below(model.len() as u64) as usize;
                    let (at, packet) = pool.iter(chain).nth(n).unwrap();
                    assert_eq!(Some(&packet.serial), model.get(n));
                    assert_eq!(pool.take(chain, at).map(|packet| packet.serial), model.remove(n));
                }
                _ => {
                    pool.push(chain, Packet { serial, bytes: serial as u32 % 7, ..Packet::without_signals(0) });
                    model.push_back(serial);
                }
            }
            assert!(pool.iter(chain).map(|(_, packet)| packet.serial).eq(model.iter().copied()));
            assert_eq!(pool.head(chain).map(|packet| packet.serial), model.front().copied());
            assert_eq!(pool.last(chain).map(|packet| packet.serial), model.back().copied());
            assert_eq!((chain.len(), chain.is_empty()), (model.len(), model.is_empty()));
            assert_eq!(chain.bytes(), model.iter().map(|serial| serial % 7).sum::<u64>());
            most = most.max(models.iter().map(VecDeque::len).sum());
        }
        assert_eq!(pool.slots.len(), most, "memory is the high-water mark of all together");
    }
}
