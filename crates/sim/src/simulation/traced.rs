//! Ports whose link follows a trace: when they may send is known, so that a port with packets waits for that instant.

use super::net::Net;
use super::Event;
use crate::port::{Follows, Medium, Port};
use sojourn_aqm::Rates;
use sojourn_units::Instant;
use std::sync::Arc;

impl Net {
    /// Brings a port with a trace up to `now`, before something happens there: a transmission that ends at this instant ends
    /// first, as everywhere, and the discipline learns of the present rate.
    pub(super) fn traced_settle(&mut self, index: u32, now: Instant) {
        self.traced_catch_up(index, now);
        self.show_rate(index, now);
    }

    /// Brings a port with a trace up to `now`, before somebody looks at it.
    pub(super) fn traced_catch_up(&mut self, index: u32, now: Instant) {
        let port = &self.ports[index as usize];
        if port.waking && port.busy_until <= now {
            self.traced_free(index, now);
        }
    }

    /// The discipline sees the mean rate of the time before `now`.
    fn show_rate(&mut self, index: u32, now: Instant) {
        let Self { ports, dropped, .. } = self;
        let port = &mut ports[index as usize];
        let Some(rate) = port.follows.as_ref().map(|follows| follows.trace.shown(now)) else { return };
        if rate.bit_s().max(1) != port.server.wire.rate().bit_s() {
            dropped.attend(port.probe.watch.as_deref());
            port.server.set_rate(now, dropped, rate);
            dropped.logs = false;
            if !dropped.packets.is_empty() {
                self.count_drops(index, now);
            }
        }
    }

    /// Something may wait at a port that was idle.
    pub(super) fn traced_serve(&mut self, index: u32, now: Instant) {
        if !self.ports[index as usize].waking {
            self.traced_next(index, now, true);
        }
    }

    /// The instant for which a port waited: a packet is out, or the next may be sent.
    pub(super) fn traced_free(&mut self, index: u32, now: Instant) {
        let port = &mut self.ports[index as usize];
        port.waking = false;
        if port.follows.as_mut().is_some_and(|follows| std::mem::take(&mut follows.sending)) {
            self.sent(index, now);
        }
        self.traced_next(index, now, false);
    }

    /// Sends what may be sent at `now`, and waits for what comes next.
    ///
    /// Bound: the packets that the opportunities of one instant carry.
    fn traced_next(&mut self, index: u32, now: Instant, idle: bool) {
        let mut idle = idle;
        loop {
            let Some(ready) = self.ports[index as usize].ready(now, idle) else { return };
            if ready > now {
                return self.wait_until(index, ready);
            }
            self.show_rate(index, now);
            let Some(handle) = self.next_for_wire(index) else { return };
            let bytes = self.slab.get(handle).bytes();
            let port = &mut self.ports[index as usize];
            let framed = port.framed(bytes);
            let Some(follows) = port.follows.as_mut() else { return };
            let out = follows.trace.send(now, framed);
            follows.sending = out > now;
            self.transmit(index, handle, bytes, out + self.ports[index as usize].delay);
            if out > now {
                return self.wait_until(index, out);
            }
            self.sent(index, now);
            idle = false;
        }
    }

    /// Looks at a port again at `at`, unless that is never.
    fn wait_until(&mut self, index: u32, at: Instant) {
        let port = &mut self.ports[index as usize];
        (port.waking, port.busy_until) = (true, at);
        if at != Instant::NEVER {
            self.wheel.push(at, Event::Free(index));
        }
    }
}

impl Port {
    fn ready(&mut self, now: Instant, idle: bool) -> Option<Instant> {
        self.follows.as_mut().map(|follows| follows.trace.ready(now, idle))
    }

    /// It follows a trace.
    pub(super) fn is_traced(&self) -> bool {
        matches!(self.medium, Medium::Trace)
    }

    /// What the trace lets it send.
    pub(super) fn follows(&self) -> Option<Arc<Rates>> {
        self.follows.as_ref().map(|follows| Arc::clone(follows.trace.rates()))
    }

    /// Bits that the trace let it send by `now`, and what it sent, since the measurement began.
    pub(super) fn offered_and_sent(&self, now: Instant) -> Option<[f64; 2]> {
        let Follows { trace, before: [offered, sent], .. } = self.follows.as_deref()?;
        Some([trace.rates().offered_bits(now) - offered, trace.sent_bytes() as f64 * 8.0 - sent])
    }

    /// The measurement begins.
    pub(super) fn restart_trace(&mut self, now: Instant) {
        if let Some(follows) = &mut self.follows {
            let trace = &follows.trace;
            follows.before = [trace.rates().offered_bits(now), trace.sent_bytes() as f64 * 8.0];
        }
    }
}
