//! RED's probabilities as small equations, for every algorithm that is built on RED.

use core::marker::PhantomData;

/// What the average calls for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Region {
    /// No congestion.
    Below,
    /// Signal an arrival with the probability p_b, before it is spread by the count.
    Early(f64),
    /// Signal every arrival.
    Forced,
}

/// How p_b rises from 0 at min_th. A type and not a value, so that no arrival asks which one it is.
pub trait Curve: Clone + Copy + core::fmt::Debug + Send + 'static {
    /// p_b at max_th.
    fn end(max_p: f64) -> f64;
    /// What [`p_b`](Self::p_b) multiplies the distance by.
    fn rise(max_p: f64, width: f64) -> f64;
    /// p_b at a distance from min_th.
    fn p_b(rise: f64, distance: f64) -> f64;
}

/// To max_p at max_th, as RED.
#[derive(Clone, Copy, Debug)]
pub struct Linear;

impl Curve for Linear {
    fn end(max_p: f64) -> f64 {
        max_p
    }

    fn rise(max_p: f64, width: f64) -> f64 {
        max_p / width
    }

    #[inline(always)]
    fn p_b(rise: f64, distance: f64) -> f64 {
        rise * distance
    }
}

/// To 1.5 max_p at max_th, as NLRED.
#[derive(Clone, Copy, Debug)]
pub struct Square;

impl Curve for Square {
    fn end(max_p: f64) -> f64 {
        (1.5 * max_p).min(1.0)
    }

    fn rise(max_p: f64, width: f64) -> f64 {
        1.5 * max_p / (width * width)
    }

    #[inline(always)]
    fn p_b(rise: f64, distance: f64) -> f64 {
        at_most_one(rise * distance * distance)
    }
}

/// Thresholds and the probability at the upper one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Band<C = Linear> {
    /// min_th, in the unit of the average.
    pub(crate) min: f64,
    /// max_th.
    pub(crate) max: f64,
    pub(crate) max_p: f64,
    /// From the curve's end to 1 between max_th and twice max_th, rather than 1 from max_th on.
    pub(crate) gentle: bool,
    curve: PhantomData<C>,
    /// p_b over the distance from min_th, or over its square: kept, since a division would hold up every arrival.
    rise: f64,
    /// `max - min`.
    width: f64,
}

impl<C: Curve> Band<C> {
    pub(crate) fn new(min: f64, max: f64, max_p: f64, gentle: bool) -> Self {
        Self { min, max, max_p, gentle, curve: PhantomData, rise: C::rise(max_p, max - min), width: max - min }
    }

    /// The same with other thresholds.
    pub(crate) fn between(self, min: f64, max: f64) -> Self {
        Self::new(min, max, self.max_p, self.gentle)
    }

    /// The same with another max_p.
    pub(crate) fn up_to(self, max_p: f64) -> Self {
        Self::new(self.min, self.max, max_p, self.gentle)
    }

    /// Where `avg` lies (Floyd and Jacobson 1993, figure 2; "gentle": Floyd 2000).
    #[inline]
    pub(crate) fn region(&self, avg: f64) -> Region {
        if avg < self.min {
            Region::Below
        } else if avg < self.max {
            Region::Early(C::p_b(self.rise, avg - self.min))
        } else if self.gentle && avg < 2.0 * self.max {
            let end = C::end(self.max_p);
            Region::Early(end + (1.0 - end) * (avg - self.max) / self.max)
        } else {
            Region::Forced
        }
    }
}

impl Band {
    /// The same line for a `share` of max_p: as steep, it begins so much nearer to the upper threshold.
    pub(crate) fn shortened(self, share: f64) -> Self {
        let min = self.min + self.width * (1.0 - share);
        Self { min, max_p: self.max_p * share, ..self }
    }
}

/// The lesser of `p` and 1, in one instruction: `f64::min` also looks for a NaN, which no `p` here is.
#[inline(always)]
fn at_most_one(p: f64) -> f64 {
    if p < 1.0 {
        p
    } else {
        1.0
    }
}

/// `p_b = max_p (avg - min_th) / (max_th - min_th)`.
#[inline]
pub(crate) fn linear(avg: f64, min: f64, max: f64, max_p: f64) -> f64 {
    max_p * (avg - min) / (max - min)
}

/// Arrivals since the last signal: what spreads the signals out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Count {
    /// -1 below min_th: the first arrival above it counts 0.
    packets: f64,
    bytes: u64,
}

impl Default for Count {
    fn default() -> Self {
        Self { packets: -1.0, bytes: 0 }
    }
}

impl Count {
    /// The average is below min_th.
    #[inline]
    pub(crate) fn below(&mut self) {
        *self = Self::default();
    }

    /// An arrival was dropped or marked.
    #[inline]
    pub(crate) fn signalled(&mut self) {
        *self = Self { packets: 0.0, bytes: 0 };
    }

    /// An arrival of `bytes` that may be signalled.
    #[inline]
    pub(crate) fn arrival(&mut self, bytes: u32) {
        self.bytes = if self.packets < 0.0 { 0 } else { self.bytes + u64::from(bytes) };
        self.packet();
    }

    /// The same where nobody reads [`mean_packets`](Self::mean_packets).
    #[inline(always)]
    pub(crate) fn packet(&mut self) {
        self.packets += 1.0;
    }

    /// In packets; -1 below min_th.
    #[inline]
    pub(crate) fn packets(self) -> f64 {
        self.packets
    }

    /// In packets of `avpkt` bytes; -1 below min_th.
    pub(crate) fn mean_packets(self, avpkt: f64) -> f64 {
        if self.packets < 0.0 {
            -1.0
        } else {
            self.bytes as f64 / avpkt
        }
    }
}

/// `p_a = p_b / (1 - count p_b)`: signals are uniformly 1 to `1/p_b` arrivals apart (1993, figure 2).
#[inline]
pub(crate) fn uniform(p_b: f64, count: f64) -> f64 {
    let rest = 1.0 - count * p_b;
    // Then the quotient is below 1, also after rounding.
    if p_b < rest {
        p_b / rest
    } else {
        1.0
    }
}

/// `wait`: none before `1/p_b` arrivals, then uniformly up to `2/p_b` (Floyd's "wait", ns-2 and ns-3).
#[inline]
pub(crate) fn wait(p_b: f64, count: f64) -> f64 {
    let expected = count * p_b;
    if expected < 1.0 {
        0.0
    } else if expected < 2.0 {
        (p_b / (2.0 - expected)).min(1.0)
    } else {
        1.0
    }
}
