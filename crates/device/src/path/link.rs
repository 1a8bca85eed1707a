//! The link behind a queue, in the words of scenarios: losses, jitter and copies, framing, a rate that follows a trace, and
//! changes at given times. Everything that is decided here is decided by the code that the simulator runs.

use super::{Host, Path, Queued};
use crate::pool::Pool;
use crate::record::Setting;
use sojourn_aqm::{ChannelCounts, Config, Framing, Impairments, Loss, Random, Rates, Traced};
use sojourn_units::{BitRate, Instant, Span};
use std::sync::Arc;

/// Bytes before the payload of a frame without an IP header: both addresses and the type.
const ETHERNET: u16 = 14;

/// A stream of random numbers.
pub type Drawn = Box<dyn Random + Send>;

/// What a link does besides carrying frames at a constant rate after a constant delay.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Loss, jitter, copies.
    pub impairments: Impairments,
    /// What a packet takes on the link, counted from its IP header; in place of the overhead.
    pub framing: Option<Framing>,
    /// The rates that it follows, and the time over which the scheme is shown their mean.
    pub trace: Option<(Arc<Rates>, Span)>,
    /// What changes, and when.
    pub changes: Vec<LinkChange>,
}

/// A change of a link or its queue at a time that is known beforehand; what is absent stays.
#[derive(Clone, Debug, Default)]
pub struct LinkChange {
    /// When.
    pub at: Instant,
    /// Again after each such time.
    pub every: Option<Span>,
    /// Another rate.
    pub rate: Option<BitRate>,
    /// Another propagation delay: what leaves from then on may overtake what travels.
    pub delay: Option<Span>,
    /// Another random loss.
    pub loss: Option<Loss>,
    /// Another scheme over what waits.
    pub scheme: Option<Config>,
}

/// Changes that are still to come, the next one last.
#[derive(Debug, Default)]
pub(super) struct Changes(Vec<LinkChange>);

impl Changes {
    fn new(mut changes: Vec<LinkChange>) -> Self {
        // Those of one instant in the order in which they were given.
        changes.reverse();
        changes.sort_by_key(|change| std::cmp::Reverse(change.at));
        Self(changes)
    }

    /// When the next is due.
    #[inline]
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.last().map(|change| change.at)
    }

    /// Takes the next one; one that repeats is put back in its place.
    fn take(&mut self) -> Option<LinkChange> {
        let change = self.0.pop()?;
        if let Some(every) = change.every.filter(|every| !every.is_zero()) {
            let again = LinkChange { at: change.at + every, ..change.clone() };
            let place = self.0.partition_point(|other| other.at > again.at);
            self.0.insert(place, again);
        }
        Some(change)
    }
}

impl Path {
    /// The link behind the queue is `link` from now on. `stream` gives the random numbers of each effect.
    pub fn set_link(&mut self, link: Link, stream: impl FnMut(&'static str) -> Drawn) {
        let Link { mut impairments, framing, trace, changes } = link;
        if changes.iter().any(|change| change.loss.is_some()) {
            impairments.loss.get_or_insert_default();
        }
        if !impairments.is_none() || changes.iter().any(|change| change.delay.is_some()) {
            self.line.impair(&impairments, stream);
        }
        if let Some(queue) = &mut self.queue {
            // A trace of opportunities counts bytes of IP.
            let of_ip = trace.as_ref().is_some_and(|(rates, _)| matches!(**rates, Rates::Opportunities(_)));
            queue.framing = framing.or_else(|| of_ip.then(|| "raw".parse().ok()).flatten());
            queue.trace = trace.map(|(rates, window)| Traced::new(rates, window));
        }
        self.changes = Changes::new(changes);
        self.room.set_delay(self.line.longest());
    }

    /// What the link lost, reordered and doubled.
    #[must_use]
    pub fn link_counts(&self) -> ChannelCounts {
        self.line.counts()
    }

    /// The rate follows a trace.
    #[must_use]
    pub fn is_traced(&self) -> bool {
        self.queue.as_ref().is_some_and(|queue| queue.trace.is_some())
    }

    /// Carries out the next change, at its instant.
    pub(super) fn change_next(&mut self, pool: &mut Pool) {
        let Some(change) = self.changes.take() else { return };
        let LinkChange { at, rate, delay, loss, scheme, .. } = change;
        if let Some(delay) = delay {
            self.set_delay(delay);
        }
        if let Some(loss) = loss {
            self.line.set_loss(loss);
        }
        if let Some(rate) = rate {
            self.put_rate(at, pool, rate);
        }
        if let Some(scheme) = scheme {
            let label = scheme.name().to_owned();
            self.put_scheme(at, pool, &scheme, &label, None);
        }
    }

    /// As [`Path::switch`], of a path that has been served up to `now`.
    pub(super) fn put_scheme(
        &mut self,
        now: Instant,
        pool: &mut Pool,
        scheme: &Config,
        label: &str,
        slot: Option<u64>,
    ) -> bool {
        let Some(queue) = &mut self.queue else { return false };
        let setting = Setting { scheme: scheme.text(), label: label.to_owned(), slot };
        self.recorder.switched(now, queue.server.wire.rate(), setting);
        let mut host = Host { pool, recorder: &mut self.recorder, log: &mut self.log };
        queue.server.switch(now, &mut host, scheme);
        queue.scheme = scheme.clone();
        self.recorder.backlog(now, queue.server.backlog());
        true
    }

    /// As [`Path::set_rate`], of a path that has been served up to `now`.
    pub(super) fn put_rate(&mut self, now: Instant, pool: &mut Pool, rate: BitRate) -> bool {
        let Some(queue) = self.queue.as_mut().filter(|queue| queue.trace.is_none()) else { return false };
        let mut host = Host { pool, recorder: &mut self.recorder, log: &mut self.log };
        queue.server.set_rate(now, &mut host, rate);
        self.room.set_rate(rate);
        let setting = self.recorder.setting().clone();
        self.recorder.switched(now, rate, setting);
        true
    }
}

impl Queued {
    /// Bytes of a frame of `length` whose IP header begins at `ip`, on the link.
    #[inline]
    pub(super) fn on_link(&self, length: u32, ip: u16) -> u32 {
        match self.framing {
            None => length + self.server.wire.overhead(),
            Some(framing) => framing.size(length.saturating_sub(u32::from(if ip == 0 { ETHERNET } else { ip }))),
        }
    }

    /// The scheme sees the mean rate of the time before `now`.
    #[inline]
    pub(super) fn show_rate(&mut self, now: Instant, host: &mut Host<'_>) {
        let Some(rate) = self.trace.as_ref().map(|trace| trace.shown(now)) else { return };
        if rate.bit_s().max(1) != self.server.wire.rate().bit_s() {
            self.server.set_rate(now, host, rate);
        }
    }

    /// When a packet of `bytes` on the link is out that begins at `at`.
    #[inline]
    pub(super) fn out(&mut self, at: Instant, bytes: u32) -> Instant {
        match &mut self.trace {
            None => at + self.server.wire.take_framed(bytes),
            Some(trace) => trace.send(at, bytes),
        }
    }
}
