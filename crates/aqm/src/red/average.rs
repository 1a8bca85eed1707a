use sojourn_units::Instant;

/// The exponentially weighted average of the queue length, with decay while the link is idle.
///
/// Its unit is the caller's: packets or bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Average {
    avg: f64,
    /// Since when the link has had nothing to send, and up to when the decay has been taken.
    idle_since: Option<Instant>,
}

impl Average {
    pub(crate) fn get(&self) -> f64 {
        self.avg
    }

    /// The average as it stands at `at`: decayed while idle. `mean_packets_s` is how many mean packets the link sends in a second.
    pub(crate) fn at(&self, at: Instant, w: f64, mean_packets_s: f64) -> f64 {
        match self.idle_since {
            Some(since) => self.avg * libm::pow(1.0 - w, at.since(since).seconds() * mean_packets_s),
            None => self.avg,
        }
    }

    /// An arrival finds `queued` in the queue (Floyd and Jacobson 1993, figure 2, "calculate the new average queue size").
    pub(crate) fn arrival(&mut self, now: Instant, queued: f64, w: f64, mean_packets_s: f64) {
        if queued == 0.0 && self.idle_since.is_some() {
            self.avg = self.at(now, w, mean_packets_s);
            self.idle_since = Some(now);
        } else {
            self.idle_since = None;
            self.sample(queued, w);
        }
    }

    /// `avg <- (1 - w) avg + w q`, also for algorithms that average on departures too.
    pub(crate) fn sample(&mut self, queued: f64, w: f64) {
        self.avg += w * (queued - self.avg);
    }

    /// The link asked for a packet at `now`, and got one or not.
    pub(crate) fn departure(&mut self, now: Instant, got_one: bool) {
        self.idle_since = if got_one { None } else { self.idle_since.or(Some(now)) };
    }
}
