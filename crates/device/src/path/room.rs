//! How much may lie between the queue and the wire, so that packets wait in the queue, where the scheme sees them.
//!
//! Behind a queue at most [`RING`] at the set rate or [`RING_FRAMES`], whichever is more, may travel the delay line, wait for
//! the port, or lie in it. Frames on a delay line of length D are an emulated wire and not a queue: they do not count while
//! the port takes what comes. Where it was found full within the last two D, what it took during D may be under way as well:
//! that is what a wire to so slow a port would hold.

use crate::delay::Carried;
use crate::pool::{Frame, Pool};
use sojourn_aqm::Backlog;
use sojourn_units::{BitRate, Instant, Span};
use std::collections::VecDeque;

/// Least frames that may lie behind a queue.
pub const RING_FRAMES: u64 = 32;
/// Time at the set rate that may lie behind a queue, where that is more.
pub const RING: Span = Span::from_millis(2);
/// Frames of a direction without queue that may wait for the port.
pub const RING_UNQUEUED: u64 = 256;
/// Until a port that had no room is asked again, by a thread that has nothing else to do.
const RETRY: Span = Span::from_micros(500);

/// Of one direction.
pub(super) struct Room {
    /// What may lie behind the queue.
    bound: Backlog,
    /// Released, and not yet taken by the port.
    behind: Backlog,
    /// Taken by the port, and not yet gone.
    leaving: Backlog,
    /// Frames at the front of those that are ready that found no room, with when that was first seen.
    stuck: VecDeque<(Instant, usize)>,
    stuck_frames: usize,
    /// How long a frame may be stuck.
    stale_after: Span,
    /// Length of the delay line.
    delay: Span,
    /// When the port was last found full.
    full_at: Option<Instant>,
    /// What the port took in the stretch of time that began at `since`, as long as the delay line, and in the one before.
    taken: [Backlog; 2],
    since: Instant,
    /// When the port is to be asked again.
    retry_at: Instant,
}

impl Room {
    /// Behind a queue that is served at `rate`; `None`: without a queue.
    pub(super) fn new(rate: Option<BitRate>, stale_after: Span) -> Self {
        Self {
            bound: bound(rate),
            behind: Backlog::default(),
            leaving: Backlog::default(),
            stuck: VecDeque::with_capacity(RING_FRAMES as usize),
            stuck_frames: 0,
            stale_after,
            delay: Span::ZERO,
            full_at: None,
            taken: [Backlog::default(); 2],
            since: Instant::ZERO,
            retry_at: Instant::ZERO,
        }
    }

    /// Another rate.
    pub(super) fn set_rate(&mut self, rate: BitRate) {
        self.bound = bound(Some(rate));
    }

    /// Another longest delay line.
    pub(super) fn set_delay(&mut self, delay: Span) {
        self.delay = delay;
    }

    /// Another time that a frame may be stuck.
    pub(super) fn set_stale_after(&mut self, span: Span) {
        self.stale_after = span;
    }

    /// What may lie behind the queue.
    pub(super) fn bound(&self) -> Backlog {
        self.bound
    }

    /// Frames on the delay line and ready.
    pub(super) fn behind(&self) -> u64 {
        self.behind.packets
    }

    /// What the port says is in it.
    #[inline]
    pub(super) fn look(&mut self, leaving: Backlog) {
        self.leaving = leaving;
    }

    /// A frame leaves the queue.
    #[inline]
    pub(super) fn released(&mut self, bytes: u32) {
        self.behind.packets += 1;
        self.behind.bytes += u64::from(bytes);
    }

    /// What the link did to a frame that was released.
    #[inline]
    pub(super) fn carried(&mut self, carried: Carried, bytes: u32) {
        match carried {
            Carried::Once => {}
            Carried::Lost => self.lost(u64::from(bytes)),
            Carried::Twice => self.released(bytes),
        }
    }

    /// A frame goes back to the pool on its way.
    pub(super) fn lost(&mut self, bytes: u64) {
        self.behind.packets = self.behind.packets.saturating_sub(1);
        self.behind.bytes = self.behind.bytes.saturating_sub(bytes);
    }

    /// Nothing more may leave the queue.
    #[inline]
    pub(super) fn is_full(&self, now: Instant) -> bool {
        let packets = self.behind.packets + self.leaving.packets;
        packets >= self.bound.packets && self.is_over(packets, now)
    }

    /// As [`Room::is_full`], where there are as many frames as that.
    fn is_over(&self, packets: u64, now: Instant) -> bool {
        let bytes = self.behind.bytes + self.leaving.bytes;
        let under_way = if self.delay.is_zero() {
            Backlog::default()
        } else if self.full_at.is_some_and(|at| now.since(at) < self.delay + self.delay) {
            let [present, before] = self.taken;
            Backlog { packets: present.packets.max(before.packets), bytes: present.bytes.max(before.bytes) }
        } else {
            return false;
        };
        packets >= self.bound.packets + under_way.packets && bytes >= self.bound.bytes + under_way.bytes
    }

    /// Frames found no room when the port was last offered some.
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck_frames > 0
    }

    /// Nothing more should be handed to the port.
    #[inline]
    pub(super) fn is_port_full(&self) -> bool {
        self.leaving.packets >= self.bound.packets && self.leaving.bytes >= self.bound.bytes
    }

    /// The port took `frames` of `bytes`; `left` are still ready.
    #[inline]
    pub(super) fn took(&mut self, now: Instant, frames: u64, bytes: u64, left: usize) {
        self.behind.packets = self.behind.packets.saturating_sub(frames);
        self.behind.bytes = self.behind.bytes.saturating_sub(bytes);
        if !self.delay.is_zero() {
            self.roll(now);
            self.taken[0].packets += frames;
            self.taken[0].bytes += bytes;
        }
        if left > 0 || self.stuck_frames > 0 {
            self.stick(now, frames as usize, left);
        }
    }

    /// Begins another stretch of time.
    fn roll(&mut self, now: Instant) {
        let past = now.since(self.since);
        if past >= self.delay {
            let before = if past < self.delay + self.delay { self.taken[0] } else { Backlog::default() };
            self.taken = [Backlog::default(), before];
            self.since = now;
        }
    }

    /// `frames` were taken from the front and `left` remain.
    fn stick(&mut self, now: Instant, mut frames: usize, left: usize) {
        // Bound: the frames that were taken.
        while let Some((_, first)) = self.stuck.front_mut().filter(|_| frames > 0) {
            let gone = frames.min(*first);
            (*first, frames) = (*first - gone, frames - gone);
            self.stuck_frames -= gone;
            if *first == 0 {
                self.stuck.pop_front();
            }
        }
        if left > self.stuck_frames {
            self.stuck.push_back((now, left - self.stuck_frames));
            self.stuck_frames = left;
        }
    }

    /// The port has no room at `now`.
    pub(super) fn found_full(&mut self, now: Instant) {
        self.full_at = Some(now);
        self.retry_at = now + RETRY;
    }

    /// When the port is to be asked again.
    pub(super) fn retry_at(&self) -> Instant {
        self.retry_at
    }

    /// Frames at the front of those that are ready that have been stuck for too long.
    #[inline]
    pub(super) fn stale(&mut self, now: Instant) -> usize {
        let mut stale = 0;
        // Bound: what is stuck.
        while let Some((_, frames)) = self.stuck.front().filter(|(since, _)| now.since(*since) >= self.stale_after) {
            stale += frames;
            self.stuck.pop_front();
        }
        self.stuck_frames -= stale;
        stale
    }

    /// Nothing lies behind the queue any more.
    pub(super) fn clear(&mut self) {
        self.behind = Backlog::default();
        self.stuck.clear();
        self.stuck_frames = 0;
    }
}

fn bound(rate: Option<BitRate>) -> Backlog {
    match rate {
        None => Backlog { packets: RING_UNQUEUED, bytes: 0 },
        Some(rate) => Backlog { packets: RING_FRAMES, bytes: (rate.bytes_s() * RING.seconds()) as u64 },
    }
}

/// Bytes of the first `frames` of those that are ready.
pub(super) fn bytes(pool: &Pool, ready: &VecDeque<Frame>, frames: usize) -> u64 {
    ready.iter().take(frames).map(|frame| u64::from(pool.note(*frame).length)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    fn release(room: &mut Room, frames: u64) {
        (0..frames).for_each(|_| room.released(1000));
    }

    #[test]
    fn behind_a_queue_lie_32_frames_or_2_ms_whichever_is_more() {
        // 2 ms at 100 Mbit/s are 25 frames of 1000 B, at 1 Gbit/s 250.
        for (mbit, frames) in [(1, 32), (100, 32), (1000, 250)] {
            let mut room = Room::new(Some(BitRate::from_bit_s(mbit * 1_000_000)), Span::from_millis(100));
            release(&mut room, frames - 1);
            assert!(!room.is_full(at(0)), "{mbit}");
            release(&mut room, 1);
            assert!(room.is_full(at(0)), "{mbit}");
            room.took(at(0), 1, 1000, 0);
            assert!(!room.is_full(at(0)), "{mbit}");
            // What the port has and has not sent counts as well.
            room.look(Backlog { packets: 1, bytes: 1000 });
            assert!(room.is_full(at(0)), "{mbit}");
        }
    }

    #[test]
    fn a_delay_line_is_no_queue_until_the_port_is_full_and_then_holds_what_the_port_takes_meanwhile() {
        let mut room = Room::new(Some(BitRate::from_bit_s(1_000_000)), Span::from_millis(100));
        room.set_delay(Span::from_millis(10));
        release(&mut room, 500);
        assert!(!room.is_full(at(0)));
        // It took 20 in 10 ms, and is full: 32 and 20 may be under way.
        room.took(at(10), 20, 20_000, 460);
        room.found_full(at(19));
        assert!(room.is_full(at(19)));
        room.took(at(20), 429, 429_000, 0);
        assert_eq!(room.behind(), 51);
        room.took(at(30), 0, 0, 0);
        room.took(at(40), 0, 0, 0);
        assert!(room.is_full(at(38)), "it took nothing lately: 32 may be under way");
        assert!(!room.is_full(at(39)), "it was not found full for two lengths of the line");
    }

    #[test]
    fn a_frame_is_stale_so_long_after_it_first_found_no_room() {
        let mut room = Room::new(None, Span::from_millis(100));
        room.took(at(0), 0, 0, 5);
        room.took(at(40), 2, 0, 6);
        assert_eq!((room.stale(at(99)), room.stale(at(100))), (0, 3));
        assert_eq!((room.stale(at(139)), room.stale(at(140))), (0, 3));
    }
}
