use crate::Packet;
use alloc::collections::VecDeque;
use sojourn_units::Instant;

/// One first-in first-out queue of waiting packets, which an algorithm borrows.
///
/// Position 0 is the head, the packet that has waited longest. Grows to its high-water mark once;
/// after that no operation allocates.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl Queue {
    /// Waiting packets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// True when nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Bytes waiting.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends at the tail. The caller has set [`Packet::enqueued`].
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    /// Takes the head.
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Looks at the packet at `position`.
    #[must_use]
    pub fn get(&self, position: usize) -> Option<&Packet> {
        self.packets.get(position)
    }

    /// Looks at the head.
    #[must_use]
    pub fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// Takes the packet at `position`, moving the shorter side up: at most half the queue.
    pub fn remove(&mut self, position: usize) -> Option<Packet> {
        let packet = self.packets.remove(position)?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// How long the head has waited at `now`; `None` when empty.
    #[must_use]
    pub fn head_sojourn(&self, now: Instant) -> Option<sojourn_units::Span> {
        self.packets.front().map(|p| now.since(p.enqueued))
    }

    /// All waiting packets from the head.
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }
}
