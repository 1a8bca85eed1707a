use crate::{Cx, Ecn, Packet, Reason};
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
    beside: u64,
}

impl Queue {
    /// Waiting packets.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// True when nothing waits.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Bytes waiting.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes that wait in the other queues of the same container, as of the last request; 0 outside one.
    #[must_use]
    #[inline]
    pub fn bytes_beside(&self) -> u64 {
        self.beside
    }

    #[inline]
    pub(crate) fn set_bytes_beside(&mut self, bytes: u64) {
        self.beside = bytes;
    }

    /// Appends at the tail. The caller has set [`Packet::enqueued`].
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += u64::from(packet.bytes);
        self.packets.push_back(packet);
    }

    /// Takes the head.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Takes the packet that came last.
    #[inline]
    pub(crate) fn pop_last(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_back()?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// Gives the head away as dropped.
    #[inline(never)]
    pub(crate) fn drop_head(&mut self, cx: &mut Cx<'_>, reason: Reason) {
        if let Some(packet) = self.pop() {
            cx.drop(packet, reason);
        }
    }

    /// Looks at the packet at `position`.
    #[must_use]
    #[inline]
    pub fn get(&self, position: usize) -> Option<&Packet> {
        self.packets.get(position)
    }

    /// Looks at the head.
    #[must_use]
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// The head, to be changed where it waits: its size stays.
    #[inline]
    pub(crate) fn head_mut(&mut self) -> Option<&mut Packet> {
        self.packets.front_mut()
    }

    /// Takes the packet at `position`, moving the shorter side up: at most half the queue.
    #[inline]
    pub fn remove(&mut self, position: usize) -> Option<Packet> {
        let packet = self.packets.remove(position)?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }

    /// How long the head has waited at `now`; `None` when empty.
    #[must_use]
    #[inline]
    pub fn head_sojourn(&self, now: Instant) -> Option<sojourn_units::Span> {
        self.packets.front().map(|p| now.since(p.enqueued))
    }

    /// All waiting packets from the head.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = &Packet> {
        self.packets.iter()
    }
}

impl Cx<'_> {
    /// Signals congestion with an arrival: it is marked and queued where `ecn` is on and it is ECN-capable, or else dropped.
    // Apart, so that the way of a packet that is queued as it came saves no registers for it; and marked in a copy,
    // since an argument that is changed would have each caller make one.
    #[inline(never)]
    pub(crate) fn signal(&mut self, queue: &mut Queue, packet: Packet, ecn: bool) {
        if !ecn || packet.ecn == Ecn::NotEct {
            return self.drop(packet, Reason::Early);
        }
        let mut marked = packet;
        let _ = self.mark(&mut marked);
        queue.push(marked);
    }
}
