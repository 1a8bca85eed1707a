use crate::port::Busy;
use sojourn_units::{BitRate, Instant, Span};
use std::collections::VecDeque;

/// How far a station is with access to the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// No back-off is due: a frame that finds the channel idle goes at once.
    Resting,
    /// Transmits at this instant unless the channel falls busy before.
    Deferring { until: Instant },
    /// Counts slots while the channel is idle, with a frame to send or after one (post-back-off).
    BackingOff { slots: u32 },
    /// Transmitting, or waiting for the answer: CTS came if it was asked for, data were acknowledged.
    Sending { rts_passed: bool, answered: bool },
}

/// What has become of a frame that a station holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// To be transmitted.
    Waiting,
    /// Received; an earlier frame is missing, so the receiver keeps it.
    Received,
    /// On its way.
    Delivered,
    /// At the retry limit.
    GivenUp,
}

/// A frame at a station, from the queue to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub handle: u32,
    pub bytes: u32,
    /// The station that it is for.
    pub receiver: u32,
    pub fate: Fate,
    /// Part of the present transmission.
    pub(super) sent: bool,
    /// Transmissions that failed: of RTS or of data without one, and of data after CTS.
    short_retries: u32,
    long_retries: u32,
}

/// What a station did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub attempts: u64,
    pub retries: u64,
    pub collisions: u64,
    pub frame_errors: u64,
    pub retry_drops: u64,
}

impl Counts {
    pub fn since(&self, before: &Self) -> Self {
        Self {
            attempts: self.attempts - before.attempts,
            retries: self.retries - before.retries,
            collisions: self.collisions - before.collisions,
            frame_errors: self.frame_errors - before.frame_errors,
            retry_drops: self.retry_drops - before.retry_drops,
        }
    }
}

/// A station's interface.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    /// That its frames are from; of an access point with a port for each station, the present one.
    pub port: u32,
    /// Number of the port in the network.
    pub place: usize,
    /// Of data from it and to it.
    pub(super) rate: BitRate,
    /// Bytes of the longest A-MPDU at this rate.
    pub(super) longest: u64,
    /// Frames taken from the queue, in order.
    pub held: VecDeque<Frame>,
    /// They have been part of a transmission, or found no place in one.
    pub has_rest: bool,
    pub(super) access: Access,
    pub(super) cw: u32,
    /// It finds the channel idle from then on.
    pub(super) idle: Instant,
    /// It counts slots from then on.
    pub(super) ready: Instant,
    /// The present data reach their receiver then.
    pub arrival: Instant,
    /// The station knows then how its transmission went.
    pub done: Instant,
    pub counts: Counts,
    /// The counts when the measurement began.
    pub before: Counts,
    /// Its exchanges and collisions.
    pub air: Busy,
    /// The same, and those of what the access point sends to it.
    pub both: Busy,
}

impl Station {
    pub fn new(place: usize, port: u32, rate: BitRate, spec: &sojourn_scenario::Cell) -> Self {
        Self {
            port,
            place,
            rate,
            longest: spec.longest_aggregate(rate),
            held: VecDeque::with_capacity(spec.aggregate_frames as usize + 1),
            has_rest: false,
            access: Access::Resting,
            cw: spec.cw_min,
            idle: Instant::ZERO,
            ready: Instant::ZERO + spec.difs(),
            arrival: Instant::ZERO,
            done: Instant::ZERO,
            counts: Counts::default(),
            before: Counts::default(),
            air: Busy::default(),
            both: Busy::default(),
        }
    }

    /// Gives data from it and to it another rate; what is being sent keeps its own.
    pub fn set_rate(&mut self, rate: BitRate, spec: &sojourn_scenario::Cell) {
        self.rate = rate;
        self.longest = spec.longest_aggregate(rate);
    }

    /// Takes a frame from the queue.
    pub fn hold(&mut self, handle: u32, bytes: u32, receiver: u32) {
        let (fate, sent) = (Fate::Waiting, false);
        self.held.push_back(Frame { handle, bytes, receiver, fate, sent, short_retries: 0, long_retries: 0 });
    }

    /// Whether the next transmission may take one more frame, as far as those that are held tell.
    pub fn has_room(&self, spec: &sojourn_scenario::Cell) -> bool {
        let (Some(first), Some(last)) = (self.held.front(), self.held.back()) else { return true };
        self.held.len() < spec.aggregate_frames as usize && first.receiver == last.receiver
    }

    /// Whether an A-MPDU of the frames held and one more like the last has at most `longest` bytes.
    pub fn fits_another(&self, spec: &sojourn_scenario::Cell, longest: u64) -> bool {
        let length = |frame: &Frame| sojourn_scenario::Cell::subframe(u64::from(frame.bytes) + spec.mac_header.get());
        let held: u64 = self.held.iter().map(length).sum();
        held + self.held.back().map_or(0, length) <= longest
    }

    /// When its transmission may begin, as far as it is waiting for one.
    pub(super) fn expiry(&self, slot: Span) -> Option<Instant> {
        match self.access {
            Access::Resting | Access::Sending { .. } => None,
            Access::Deferring { until } => Some(until),
            Access::BackingOff { slots } => Some(self.ready + slot * u64::from(slots)),
        }
    }

    /// Chooses the frames of the next transmission, several of which have at most `longest` bytes together: its length
    /// in bytes, and their number.
    pub(super) fn compose(&mut self, spec: &sojourn_scenario::Cell, longest: u64) -> (u64, u32) {
        let receiver = self.held.front().map_or(0, |frame| frame.receiver);
        let (mut alone, mut together, mut frames) = (0, 0, 0);
        for frame in self.held.iter_mut().filter(|frame| frame.fate == Fate::Waiting && frame.receiver == receiver) {
            let bytes = u64::from(frame.bytes) + spec.mac_header.get();
            let longer = together + sojourn_scenario::Cell::subframe(bytes);
            if frames > 0 && (frames >= spec.aggregate_frames || longer > longest) {
                break;
            }
            (together, frames, frame.sent) = (longer, frames + 1, true);
            alone = bytes;
        }
        (if frames > 1 { together } else { alone }, frames)
    }

    /// Counts a transmission from `start` to `end`.
    pub(super) fn begin(&mut self, access: Access, start: Instant, end: Instant) {
        self.access = access;
        self.counts.attempts += 1;
        self.air.add(start, end);
        let again = |frame: &Frame| frame.sent && frame.short_retries + frame.long_retries > 0;
        self.counts.retries += u64::from(self.held.iter().any(again));
    }

    /// Counts the failures of the frames that were sent; true when one has come to its limit.
    pub(super) fn settle(&mut self, spec: &sojourn_scenario::Cell, rts_passed: bool) -> bool {
        let before = self.counts.retry_drops;
        for frame in self.held.iter_mut().filter(|frame| frame.sent) {
            frame.sent = false;
            if frame.fate != Fate::Waiting {
                continue;
            }
            let (retries, limit) = if rts_passed {
                (&mut frame.long_retries, spec.long_retry_limit)
            } else {
                (&mut frame.short_retries, spec.short_retry_limit)
            };
            *retries += 1;
            if *retries >= limit {
                frame.fate = Fate::GivenUp;
                self.counts.retry_drops += 1;
            }
        }
        self.counts.retry_drops > before
    }

    /// Takes off the first frame if nothing more is to be done for it.
    pub fn release(&mut self) -> Option<Frame> {
        self.held.front().filter(|frame| frame.fate != Fate::Waiting)?;
        self.held.pop_front()
    }
}
