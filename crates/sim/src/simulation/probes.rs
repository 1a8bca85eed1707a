//! Self probes of draft-ietf-ippm-responsiveness-09, section 5.3: requests for one byte on a connection that carries load.
//!
//! The answer is the byte that follows what TCP has sent by then: an application with nothing unsent in the socket's
//! buffer (`TCP_NOTSENT_LOWAT`), as the draft advises. It takes no room of its own. Deviation: the request is no packet; it
//! takes the propagation delay of the way back.

use super::report::Series;
use super::{Event, Simulation};
use sojourn_units::{Instant, Span};
use std::collections::VecDeque;

/// The self probes of one flow.
#[derive(Clone, Debug)]
pub(super) struct SelfProbes {
    interval: Span,
    way_back: Span,
    /// Payload that ends with the answer, and when the answer was written.
    pending: VecDeque<(u64, Instant)>,
    /// When answers came, and how long the probes took.
    samples: Vec<(Instant, Span)>,
}

impl SelfProbes {
    pub fn new(interval: Span, way_back: Span) -> Self {
        Self { interval, way_back, pending: VecDeque::new(), samples: Vec::new() }
    }

    /// So much payload has arrived by `now`; returns how much the next answer needs.
    pub fn reached(&mut self, now: Instant, delivered: u64) -> u64 {
        while let Some((_, at)) = self.pending.front().copied().filter(|(end, _)| *end <= delivered) {
            self.samples.push((now, self.way_back + (now - at)));
            self.pending.pop_front();
        }
        self.pending.front().map_or(u64::MAX, |(end, _)| *end)
    }
}

impl SelfProbes {
    /// How long probes took, by when they were answered, as a series of the flow called `flow`.
    pub fn series(&self, flow: &str) -> Series {
        let (t_s, value) = self.samples.iter().map(|(at, took)| (at.seconds(), Some(took.millis()))).unzip();
        Series { name: format!("self_probe_ms:{flow}"), unit: "ms".into(), t_s, value }
    }
}

impl Simulation {
    /// A request reaches the sender of a flow, which answers it, and the next one will.
    pub(super) fn probe(&mut self, index: u32) {
        let now = self.net.now;
        let Some(probes) = self.hosts.probes.get_mut(&index) else { return };
        let Some(tcp) = &mut self.hosts.ends[index as usize].tcp else { return };
        let sent = tcp.sender.sent_end().get();
        // Nothing is asked for before there is load.
        if sent > 0 {
            let end = sent + 1;
            probes.pending.push_back((end, now));
            tcp.mark = tcp.mark.min(end);
        }
        self.net.wheel.push(now + probes.interval, Event::Probe(index));
    }
}
