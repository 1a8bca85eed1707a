//! A formula that is evaluated at each arrival, and the signals that it needs to remember.

use super::{Formula, Signal, Signals};
use crate::{Cx, Packet, Queue};
use sojourn_units::{Instant, Span};

/// The formula and its signals.
#[derive(Clone, Debug)]
pub(super) struct Live {
    formula: Formula,
    window: Span,
    /// How long the packet that left last had waited, in seconds.
    sojourn: f64,
    average: Option<Mean>,
    utilisation: Option<Mean>,
}

/// A mean over time that forgets exponentially.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    value: f64,
    at: Instant,
}

impl Mean {
    /// What was measured was `x` from the last update until `now`.
    fn update(&mut self, x: f64, now: Instant, window: Span) {
        let share = now.since(self.at).seconds() / window.seconds();
        self.at = now;
        self.value = x + (self.value - x) * libm::exp(-share);
    }
}

impl Live {
    pub fn new(formula: Formula, window: Span) -> Self {
        let mean = |signal| formula.names(signal).then(Mean::default);
        let (average, utilisation) = (mean(Signal::Average), mean(Signal::Utilisation));
        Self { formula, window, sojourn: 0.0, average, utilisation }
    }

    /// Keeps what another one remembers.
    pub fn take_over(&mut self, old: &Self) {
        self.sojourn = old.sojourn;
        for (mine, theirs) in [(&mut self.average, &old.average), (&mut self.utilisation, &old.utilisation)] {
            if let (Some(mine), Some(theirs)) = (mine, theirs) {
                *mine = *theirs;
            }
        }
    }

    /// The probability for an arrival of `size` bytes that finds n packets.
    pub fn at_arrival(&mut self, cx: &Cx<'_>, queue: &Queue, n: usize, size: u32, in_service: bool) -> f64 {
        let n = n as f64;
        if let Some(average) = &mut self.average {
            average.update(n, cx.now, self.window);
        }
        if let Some(utilisation) = &mut self.utilisation {
            utilisation.update(f64::from(u8::from(in_service)), cx.now, self.window);
        }
        let bytes = queue.bytes() as f64;
        let rate = cx.rate.bytes_s();
        self.formula.probability(&Signals {
            n,
            bytes,
            size: f64::from(size),
            sojourn: self.sojourn,
            head: queue.head_sojourn(cx.now).map_or(0.0, Span::seconds),
            // At a rate of 0 it is infinite, but nothing waits for no time.
            delay: if bytes > 0.0 { bytes / rate } else { 0.0 },
            rate,
            average: self.average.map_or(0.0, |mean| mean.value),
            utilisation: self.utilisation.map_or(0.0, |mean| mean.value),
        })
    }

    /// The link asked and got `packet`.
    pub fn at_departure(&mut self, now: Instant, packet: Option<&Packet>, in_service: bool) {
        if let Some(utilisation) = &mut self.utilisation {
            utilisation.update(f64::from(u8::from(in_service)), now, self.window);
        }
        self.sojourn = packet.map_or(0.0, |packet| now.since(packet.enqueued).seconds());
    }
}
