//! The link behind a queue, in the words of scenarios: losses, jitter and copies, framing, a rate that follows a trace, and
//! changes at given times. Everything that is decided here is decided by the code that the simulator runs.

use sojourn_aqm::{Config, Framing, Impairments, Loss, Rates};
use sojourn_units::{BitRate, Instant, Span};
use std::sync::Arc;

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
    pub(super) fn new(mut changes: Vec<LinkChange>) -> Self {
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
    pub(super) fn take(&mut self) -> Option<LinkChange> {
        let change = self.0.pop()?;
        if let Some(every) = change.every.filter(|every| !every.is_zero()) {
            let again = LinkChange { at: change.at + every, ..change.clone() };
            let place = self.0.partition_point(|other| other.at > again.at);
            self.0.insert(place, again);
        }
        Some(change)
    }
}
