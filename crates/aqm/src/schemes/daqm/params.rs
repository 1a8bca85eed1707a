//! Parameters of dAQM: the choices where the thesis leaves one, and a threshold and a dropping phase for each feature.

use crate::acts::{Acts, ANY};
use crate::{Limit, Value};
use alloc::format;
use alloc::string::{String, ToString};
use sojourn_units::{Packets, Probability, Span};

/// What the sojourn derivatives divide by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interarrival {
    /// This time.
    Constant(Span),
    /// An average over earlier packets.
    Measured,
}

impl Value for Interarrival {
    const KIND: &'static str = "time or measured";
    fn read(text: &str) -> Result<Self, String> {
        if text == "measured" {
            return Ok(Self::Measured);
        }
        text.parse().map(Self::Constant).map_err(|_| format!("\"{text}\" is refused; allowed: {}", Self::allowed()))
    }
    fn print(&self) -> String {
        match self {
            Self::Constant(span) => span.print(),
            Self::Measured => "measured".to_string(),
        }
    }
    fn allowed() -> String {
        "a time above 0 with its unit, as in \"1ms\", or \"measured\"".to_string()
    }
}

crate::choice! {
    /// When the waiting times of the sojourn derivatives are taken.
    pub enum Sojourn {
        /// All at one instant, of the five oldest packets.
        Instant = "instant",
        /// Each at its own departure, of the last five packets that left.
        Departures = "departures",
    }
}

crate::choice! {
    /// What becomes of the packets that are looked at.
    pub enum Inspect {
        /// They stay in the queue.
        Peek = "peek",
        /// They are sent without further checks.
        Deliver = "deliver",
        /// They are dropped.
        Lose = "lose",
    }
}

crate::choice! {
    /// Which five samples of the queue length count, and in which order.
    pub enum Ring {
        /// The last five, the oldest first.
        Slides = "slides",
        /// The last complete block of five.
        Restarts = "restarts",
        /// The last five, in the order of their places in the ring.
        Array = "array",
    }
}

crate::choice! {
    /// Whether the packet that is about to leave is one of those that wait.
    pub enum InHand {
        /// It is the oldest of them.
        Counts = "counts",
        /// It has been taken out before the look.
        Apart = "apart",
    }
}

crate::choice! {
    /// When the flag of the feature that opened a dropping phase is reset.
    pub enum Flags {
        /// With the end of the phase.
        Phase = "phase",
        /// With the first arrival in it.
        Enqueue = "enqueue",
    }
}

crate::params! {
    /// Parameters of `daqm`.
    pub struct Params {
        /// Waiting packets or bytes at which an arrival is dropped (Shu 2023: 2000 packets in its simulations).
        limit: Limit = Limit::packets(2000),
        /// Nothing is examined before this time since the start (Algorithm 3 line 2; Shu 2023 gives no value).
        target: Span = Span::ZERO,
        /// Packets that must wait for an examination (section 4.1.1: "at least five"; Algorithm 3, line 3: more than five).
        min_queue: Packets = Packets::new(6),
        /// Whether the packet about to leave is among those that wait (left open: Algorithm 2 takes it out first).
        in_hand: InHand = InHand::Counts,
        /// Spacing of arrivals by which the sojourn derivatives are divided (section 4.1.1), or "measured"; needed only if one of them has a threshold.
        interarrival: Option<Interarrival> = None => [Acts::WithOneOf(&["s1", "s2", "s3"])],
        /// When the waiting times are taken (section 4.1.1: at one instant).
        sojourn: Sojourn = Sojourn::Instant => [Acts::WithOneOf(&["s1", "s2", "s3"])],
        /// What happens to the examined packets (section 4.1.1 dequeues them; peek is what it could not do).
        inspect: Inspect = Inspect::Peek => [Acts::WithOneOf(&["s1", "s2", "s3"])],
        /// Time between samples of the queue length (section 4.1.2).
        sample: Span = Span::from_millis(15) => [Acts::WithOneOf(&["q1", "q2", "q3"])],
        /// Which five samples are used, and in which order (left open in section 4.1.2).
        ring: Ring = Ring::Slides => [Acts::WithOneOf(&["q1", "q2", "q3"])],
        /// When the flag is reset (section 4.3.1; Algorithm 1 line 7).
        flags: Flags = Flags::Phase,
        /// Probability that an arrival in a dropping phase is dropped, for features without their own (Table 2, f1).
        drop_rate: Probability = Probability::clamped(0.9),
        /// Length of a dropping phase, for features without their own (Table 2, f1).
        drop_duration: Span = Span::from_millis(200),
        /// Threshold of the sojourn time of the oldest packet (Table 2, f1).
        s0: Option<Span> = Some(Span::from_millis(200)),
        /// Threshold of the first sojourn derivative.
        s1: Option<f64> = None,
        /// Threshold of the second sojourn derivative, per ms.
        s2: Option<f64> = None,
        /// Threshold of the third sojourn derivative, per ms^2.
        s3: Option<f64> = None,
        /// Threshold of the queue length.
        q0: Option<Packets> = None,
        /// Threshold of the first derivative of the queue length, packets a sample.
        q1: Option<f64> = None,
        /// Threshold of the second derivative of the queue length, packets a sample^2.
        q2: Option<f64> = None,
        /// Threshold of the third derivative of the queue length, packets a sample^3.
        q3: Option<f64> = None,
        /// Drop rate of phases that s0 starts.
        s0_drop_rate: Option<Probability> = None => [Acts::With("s0", ANY)],
        /// Length of phases that s0 starts.
        s0_drop_duration: Option<Span> = None => [Acts::With("s0", ANY)],
        /// Drop rate of phases that s1 starts.
        s1_drop_rate: Option<Probability> = None => [Acts::With("s1", ANY)],
        /// Length of phases that s1 starts.
        s1_drop_duration: Option<Span> = None => [Acts::With("s1", ANY)],
        /// Drop rate of phases that s2 starts.
        s2_drop_rate: Option<Probability> = None => [Acts::With("s2", ANY)],
        /// Length of phases that s2 starts.
        s2_drop_duration: Option<Span> = None => [Acts::With("s2", ANY)],
        /// Drop rate of phases that s3 starts.
        s3_drop_rate: Option<Probability> = None => [Acts::With("s3", ANY)],
        /// Length of phases that s3 starts.
        s3_drop_duration: Option<Span> = None => [Acts::With("s3", ANY)],
        /// Drop rate of phases that q0 starts.
        q0_drop_rate: Option<Probability> = None => [Acts::With("q0", ANY)],
        /// Length of phases that q0 starts.
        q0_drop_duration: Option<Span> = None => [Acts::With("q0", ANY)],
        /// Drop rate of phases that q1 starts.
        q1_drop_rate: Option<Probability> = None => [Acts::With("q1", ANY)],
        /// Length of phases that q1 starts.
        q1_drop_duration: Option<Span> = None => [Acts::With("q1", ANY)],
        /// Drop rate of phases that q2 starts.
        q2_drop_rate: Option<Probability> = None => [Acts::With("q2", ANY)],
        /// Length of phases that q2 starts.
        q2_drop_duration: Option<Span> = None => [Acts::With("q2", ANY)],
        /// Drop rate of phases that q3 starts.
        q3_drop_rate: Option<Probability> = None => [Acts::With("q3", ANY)],
        /// Length of phases that q3 starts.
        q3_drop_duration: Option<Span> = None => [Acts::With("q3", ANY)],
    }
}

impl Params {
    /// A row of Table 2: thresholds of S0 (ms), S1, S2, S3, Q0 (packets), Q1, Q2, Q3, and one drop rate and duration for all.
    pub(super) fn table2(thresholds: [Option<f64>; 8], drop_rate: f64, drop_duration: Span) -> Self {
        let [s0, s1, s2, s3, q0, q1, q2, q3] = thresholds;
        Self {
            s0: s0.map(|ms| Span::from_millis(ms as u64)),
            q0: q0.map(|packets| Packets::new(packets as u64)),
            drop_rate: Probability::clamped(drop_rate),
            drop_duration,
            ..Self { s1, s2, s3, q1, q2, q3, ..Self::default() }
        }
    }

    pub(super) fn features(&self) -> [Feature; 8] {
        let feature = |threshold: Option<f64>, rate: Option<Probability>, duration: Option<Span>| Feature {
            threshold,
            drop_rate: rate.unwrap_or(self.drop_rate).get(),
            drop_duration: duration.unwrap_or(self.drop_duration),
        };
        [
            feature(self.s0.map(Span::millis), self.s0_drop_rate, self.s0_drop_duration),
            feature(self.s1, self.s1_drop_rate, self.s1_drop_duration),
            feature(self.s2, self.s2_drop_rate, self.s2_drop_duration),
            feature(self.s3, self.s3_drop_rate, self.s3_drop_duration),
            feature(self.q0.map(|packets| packets.get() as f64), self.q0_drop_rate, self.q0_drop_duration),
            feature(self.q1, self.q1_drop_rate, self.q1_drop_duration),
            feature(self.q2, self.q2_drop_rate, self.q2_drop_duration),
            feature(self.q3, self.q3_drop_rate, self.q3_drop_duration),
        ]
    }
}

/// One feature's threshold (none: it is not looked at) and the phase that it opens.
#[derive(Clone, Debug)]
pub(super) struct Feature {
    pub threshold: Option<f64>,
    pub drop_rate: f64,
    pub drop_duration: Span,
}
