//! A ring of packets, a power of two long: a place is found by a mask.

use crate::Packet;
use alloc::vec::Vec;

/// Packets in the order of arrival. Twice as long when it is full; it never shrinks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring {
    slots: Vec<Packet>,
    /// Number of the first packet, and of the next to come: number `n` is in slot `n` modulo the length.
    first: usize,
    next: usize,
}

/// Slots of the smallest ring.
const LEAST: usize = 4;

impl Ring {
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.next.wrapping_sub(self.first)
    }

    #[inline(always)]
    fn slot(&self, number: usize) -> usize {
        number & self.slots.len().wrapping_sub(1)
    }

    #[inline(always)]
    pub fn push(&mut self, packet: Packet) {
        if self.len() == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.next);
        if let Some(free) = self.slots.get_mut(slot) {
            *free = packet;
        }
        self.next = self.next.wrapping_add(1);
    }

    #[inline(always)]
    pub fn pop(&mut self) -> Option<Packet> {
        if self.len() == 0 {
            return None;
        }
        let packet = self.slots.get(self.slot(self.first))?.clone();
        self.first = self.first.wrapping_add(1);
        Some(packet)
    }

    /// The one at `position`, counted from the first.
    #[inline(always)]
    pub fn get(&self, position: usize) -> Option<&Packet> {
        if position >= self.len() {
            return None;
        }
        self.slots.get(self.slot(self.first.wrapping_add(position)))
    }

    #[inline(always)]
    pub fn get_mut(&mut self, position: usize) -> Option<&mut Packet> {
        if position >= self.len() {
            return None;
        }
        let slot = self.slot(self.first.wrapping_add(position));
        self.slots.get_mut(slot)
    }

    /// Takes out the one at `position`; those on the shorter side of it move up.
    pub fn remove(&mut self, position: usize) -> Option<Packet> {
        let packet = self.get(position)?.clone();
        let swap = |ring: &mut Self, place: usize| {
            let (here, there) = (ring.first.wrapping_add(place), ring.first.wrapping_add(place + 1));
            let (here, there) = (ring.slot(here), ring.slot(there));
            ring.slots.swap(here, there);
        };
        // Bound: half of what waits.
        if position < self.len() / 2 {
            (0..position).rev().for_each(|place| swap(self, place));
            self.first = self.first.wrapping_add(1);
        } else {
            (position..self.len() - 1).for_each(|place| swap(self, place));
            self.next = self.next.wrapping_sub(1);
        }
        Some(packet)
    }

    /// All from the first.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        let (wrapped, from) = self.slots.split_at(self.slot(self.first).min(self.slots.len()));
        from.iter().chain(wrapped).take(self.len())
    }

    /// Twice the slots; the first packet comes to the front.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let len = self.len();
        let first = self.slot(self.first).min(self.slots.len());
        self.slots.rotate_left(first);
        self.slots.resize((2 * self.slots.len()).max(LEAST), Packet::default());
        (self.first, self.next) = (0, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    #[test]
    fn a_ring_is_a_queue() {
        let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
        let mut random = 1_u64;
        for serial in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Now longer, now shorter, so that it grows at any place of the first.
            let grows = if serial / 100 % 2 == 0 { 3 } else { 1 };
            if random >> 62 <= grows {
                ring.push(Packet { serial, ..Packet::default() });
                queue.push_back(serial);
            } else {
                assert_eq!(ring.pop().map(|packet| packet.serial), queue.pop_front());
            }
            let position = (random >> 20) as usize % (queue.len() + 1);
            assert_eq!(ring.get(position).map(|packet| packet.serial), queue.get(position).copied());
            if random >> 40 & 7 == 0 {
                assert_eq!(ring.remove(position).map(|packet| packet.serial), queue.remove(position));
            }
            assert!(ring.iter().map(|packet| packet.serial).eq(queue.iter().copied()));
            assert_eq!(ring.len(), queue.len());
        }
    }
}
