//! What dAQM's features are computed from: five values and their derivatives, samples of the queue length, departures.

use super::params::Ring;
use crate::Packet;
use sojourn_units::{Instant, Span};

/// The first, second and third derivative of five values, the oldest first, `step` apart:
/// equations 18 to 25 of Shu (2023), and with a step of 1 equations 26 to 33.
#[must_use]
#[inline]
pub fn derivatives(values: &[f64; 5], step: f64) -> [f64; 3] {
    let [v1, v2, v3, v4, v5] = *values;
    let a = (v3 - v1) / (2.0 * step);
    let b = (v4 - v2) / (2.0 * step);
    let c = (v5 - v3) / (2.0 * step);
    let d = (b - a) / step;
    let e = (c - b) / step;
    [(v1 - v2) / step, d, (e - d) / step]
}

/// The last samples of the queue length.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    ring: Ring,
    /// The samples in use, in the order in which derivatives take them.
    five: [f64; 5],
    /// How many of `five` have been taken.
    known: usize,
    /// The block being filled, where blocks restart.
    block: [f64; 5],
    /// The place of the next sample in the block or the array.
    next: usize,
}

impl Samples {
    pub fn new(ring: Ring) -> Self {
        Self { ring, five: [0.0; 5], known: 0, block: [0.0; 5], next: 0 }
    }

    pub fn push(&mut self, sample: f64) {
        match self.ring {
            Ring::Slides => {
                self.five.rotate_left(1);
                self.five[4] = sample;
            }
            Ring::Array => {
                let place = self.next(1);
                self.five[place] = sample;
            }
            Ring::Restarts => {
                let place = self.next(1);
                self.block[place] = sample;
                if place == 4 {
                    (self.five, self.known) = (self.block, 5);
                }
                return;
            }
        }
        self.known = (self.known + 1).min(5);
    }

    /// `count` equal samples, nine or more, as so many calls of `push`: five of them end a block wherever it stands.
    pub fn fill(&mut self, sample: f64, count: u64) {
        (self.five, self.block, self.known) = ([sample; 5], [sample; 5], 5);
        self.next(count);
    }

    /// The place of the next sample, and `count` places on.
    fn next(&mut self, count: u64) -> usize {
        let on = (self.next as u64 + count % 5) % 5;
        core::mem::replace(&mut self.next, on as usize)
    }

    /// `None` before five samples.
    #[cfg(test)]
    pub fn last_five(&self) -> Option<&[f64; 5]> {
        (self.known == 5).then_some(&self.five)
    }

    /// Of the last five samples; `None` before as many.
    #[inline]
    pub fn derivatives(&self) -> Option<[f64; 3]> {
        // At a look and not with each sample: most queues of fair queueing are too short to be looked at.
        (self.known == 5).then(|| derivatives(&self.five, 1.0))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Departure {
    enqueued: Instant,
    sojourn: Span,
}

/// The last five packets that left by the head, and the average spacing of earlier arrivals.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    five: [Departure; 5],
    known: usize,
    /// When the last packet that counts in `mean_ms` had arrived.
    last: Option<Instant>,
    /// Average spacing, weight 1/16; `None` before two packets.
    mean_ms: Option<f64>,
}

impl Departures {
    /// `packet` leaves now. With `apart` the last five are looked at themselves, so their spacings do not count yet.
    pub fn push(&mut self, now: Instant, packet: &Packet, apart: bool) {
        let oldest = self.five[0];
        self.five.rotate_left(1);
        self.five[4] = Departure { enqueued: packet.enqueued, sojourn: now.since(packet.enqueued) };
        if !apart {
            self.learn(packet.enqueued);
        } else if self.known == 5 {
            self.learn(oldest.enqueued);
        }
        self.known = (self.known + 1).min(5);
    }

    fn learn(&mut self, enqueued: Instant) {
        if let Some(last) = self.last.replace(enqueued) {
            let spacing = enqueued.since(last).millis();
            self.mean_ms = Some(self.mean_ms.map_or(spacing, |mean| mean + (spacing - mean) / 16.0));
        }
    }

    pub fn spacing_ms(&self) -> Option<f64> {
        self.mean_ms
    }

    /// Oldest departure first; `None` before five.
    pub fn sojourns_ms(&self) -> Option<[f64; 5]> {
        (self.known == 5).then(|| self.five.map(|departure| departure.sojourn.millis()))
    }
}
