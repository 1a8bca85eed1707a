use sojourn_units::{Instant, Span};

/// A whole number that changes over time (a queue length), weighted by how long it held.
///
/// Keeps the time spent at each level, so mean, standard deviation and quantiles are exact.
/// Memory: 8 bytes for each level up to the highest seen.
#[derive(Clone, Debug, Default)]
pub struct Level {
    now: usize,
    since: Instant,
    held_ns: Vec<u64>,
}

impl Level {
    /// Level 0, from the start of time.
    #[must_use]
    pub fn new() -> Self {
        Self { held_ns: vec![0; 64], ..Self::default() }
    }

    /// The present level.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.now as u64
    }

    /// The level becomes `level` at `now`.
    #[inline]
    pub fn set(&mut self, now: Instant, level: u64) {
        self.settle(now);
        self.now = level as usize;
    }

    /// One more.
    #[inline]
    pub fn up(&mut self, now: Instant) {
        self.settle(now);
        self.now += 1;
    }

    /// One less; stays at 0.
    #[inline]
    pub fn down(&mut self, now: Instant) {
        self.settle(now);
        self.now = self.now.saturating_sub(1);
    }

    /// One less at `down`, and then one more at `up`.
    #[inline]
    pub fn down_and_up(&mut self, down: Instant, up: Instant) {
        // Nearly always the last of a queue leaves and another comes.
        match self.held_ns.as_mut_slice() {
            [empty, one, ..] if self.now == 1 && self.since <= down && down <= up => {
                *one += (down - self.since).nanos();
                *empty += (up - down).nanos();
                self.since = up;
            }
            _ => {
                self.down(down);
                self.up(up);
            }
        }
    }

    /// Counts the time up to `now` at the present level.
    #[inline]
    pub fn settle(&mut self, now: Instant) {
        if now <= self.since {
            return;
        }
        let held = (now - self.since).nanos();
        self.since = now;
        match self.held_ns.get_mut(self.now) {
            Some(at_level) => *at_level += held,
            None => self.grow(held),
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, held: u64) {
        self.held_ns.resize((self.now + 1).next_power_of_two(), 0);
        self.held_ns[self.now] += held;
    }

    /// Forgets the past and keeps the present level: the measurement begins at `now`.
    pub fn restart(&mut self, now: Instant) {
        self.settle(now);
        self.held_ns.fill(0);
        self.since = self.since.max(now);
    }

    /// Nanoseconds counted so far.
    #[must_use]
    pub fn total_ns(&self) -> u128 {
        self.held_ns.iter().map(|ns| u128::from(*ns)).sum()
    }

    /// The integral of the level over time, in level nanoseconds.
    #[must_use]
    pub fn integral(&self) -> u128 {
        self.held_ns.iter().enumerate().map(|(level, ns)| level as u128 * u128::from(*ns)).sum()
    }

    /// Time-weighted mean; `None` before any time has passed.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let total = self.total_ns();
        (total > 0).then(|| self.integral() as f64 / total as f64)
    }

    /// Time-weighted standard deviation.
    #[must_use]
    pub fn sd(&self) -> Option<f64> {
        let mean = self.mean()?;
        let total = self.total_ns() as f64;
        let square = |level: usize| (level as f64 - mean) * (level as f64 - mean);
        let sum: f64 = self.held_ns.iter().enumerate().map(|(l, ns)| square(l) * *ns as f64).sum();
        Some((sum / total).sqrt())
    }

    /// The lowest level that was not exceeded for at least the share `q` of the time.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let total = self.total_ns();
        if total == 0 {
            return None;
        }
        let mut below = 0_u128;
        for (level, ns) in self.held_ns.iter().enumerate() {
            below += u128::from(*ns);
            if below > 0 && below as f64 >= q * total as f64 {
                return Some(level as f64);
            }
        }
        None
    }

    /// This and what is served, where this is what waits for one server that rests only while nothing waits: it rested for
    /// `idle`, and serves now or not.
    #[must_use]
    pub fn with_served(&self, idle: Span, serves: bool) -> Self {
        let none = self.held_ns.first().copied().unwrap_or_default();
        let idle = idle.nanos().min(none);
        let held_ns = [idle, none - idle].into_iter().chain(self.held_ns.iter().skip(1).copied()).collect();
        Self { now: self.now + usize::from(serves), since: self.since, held_ns }
    }

    /// Up to when time is counted.
    #[must_use]
    pub fn settled(&self) -> Instant {
        self.since
    }

    /// Adds the time that `other` spent at each level.
    pub fn merge(&mut self, other: &Self) {
        if self.held_ns.len() < other.held_ns.len() {
            self.held_ns.resize(other.held_ns.len(), 0);
        }
        for (mine, theirs) in self.held_ns.iter_mut().zip(&other.held_ns) {
            *mine += theirs;
        }
    }

    /// The time spent at each level since this was as `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let before = earlier.held_ns.iter().copied().chain(std::iter::repeat(0));
        let held_ns = self.held_ns.iter().zip(before).map(|(now, before)| now - before).collect();
        Self { held_ns, ..*self }
    }

    /// The distribution function: (level, share of time at or below it), levels that were held only.
    #[must_use]
    pub fn cdf(&self) -> Vec<(f64, f64)> {
        let total = self.total_ns() as f64;
        let mut below = 0_u128;
        let held = self.held_ns.iter().enumerate().filter(|(_, ns)| **ns > 0);
        held.map(|(level, ns)| {
            below += u128::from(*ns);
            (level as f64, below as f64 / total)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_nanos(ns)
    }

    #[test]
    fn statistics_weigh_by_time() {
        // 0 for 10 ns, 2 for 30 ns, 1 for 60 ns: mean (0 + 60 + 60) / 100 = 1.2;
        // variance (1.44*10 + 0.64*30 + 0.04*60) / 100 = (14.4 + 19.2 + 2.4) / 100 = 0.36.
        let mut level = Level::new();
        level.set(at(10), 2);
        level.down(at(40));
        level.settle(at(100));
        assert!((level.mean().unwrap() - 1.2).abs() < 1e-12);
        assert!((level.sd().unwrap() - 0.6).abs() < 1e-12);
        // At or below 1 for 70 % of the time.
        assert_eq!(level.quantile(0.5), Some(1.0));
        assert_eq!(level.quantile(0.71), Some(2.0));
        assert_eq!(level.cdf(), vec![(0.0, 0.1), (1.0, 0.7), (2.0, 1.0)]);
    }

    #[test]
    fn what_is_served_is_one_more_while_the_server_works() {
        // One waits from 0 to 4 while another is served from 0 to 10, and is served from 10 to 20; nothing from 20 to 25.
        let (mut waiting, mut system) = (Level::new(), Level::new());
        for (from, waits, all) in [(0, 0, 1), (4, 1, 2), (10, 0, 1), (20, 0, 0)] {
            waiting.set(at(from), waits);
            system.set(at(from), all);
        }
        waiting.settle(at(25));
        system.settle(at(25));
        let found = waiting.with_served(Span::from_nanos(5), false);
        assert_eq!((found.cdf(), found.get(), found.settled()), (system.cdf(), 0, at(25)));
    }

    #[test]
    fn restart_forgets_time_but_not_the_level() {
        let mut level = Level::new();
        level.set(at(0), 5);
        level.restart(at(50));
        level.settle(at(60));
        assert_eq!(level.mean(), Some(5.0));
        assert_eq!(level.total_ns(), 10);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        // 0 for 10 ns, then 100 for 5 ns: the later part has only the 100, which the earlier had no room for.
        let mut level = Level::new();
        level.settle(at(10));
        let earlier = level.clone();
        level.set(at(10), 100);
        level.settle(at(15));
        let mut later = level.since(&earlier);
        assert_eq!((later.mean(), later.total_ns()), (Some(100.0), 5));
        later.merge(&earlier);
        assert_eq!((later.integral(), later.total_ns()), (level.integral(), 15));
    }

    #[test]
    fn one_leaves_and_another_comes() {
        // At every level, and in one step as in two: 3 ns more at the level, then 4 ns at the one below.
        for start in 0..4 {
            let mut level = Level::new();
            level.set(at(10), start);
            let mut two = level.clone();
            level.down_and_up(at(13), at(17));
            two.down(at(13));
            two.up(at(17));
            assert_eq!((level.get(), level.total_ns(), level.integral()), (two.get(), 17, two.integral()));
            level.settle(at(20));
            two.settle(at(20));
            assert_eq!(level.integral(), two.integral());
        }
        let mut level = Level::new();
        level.set(at(0), 1);
        level.down_and_up(at(3), at(7));
        level.settle(at(12));
        // 3 ns and 5 ns at 1, 4 ns at 0.
        assert_eq!((level.get(), level.integral(), level.mean()), (1, 8, Some(8.0 / 12.0)));
    }

    #[test]
    fn high_levels_grow_the_table() {
        let mut level = Level::new();
        level.set(at(0), 100_000);
        level.settle(at(1));
        assert_eq!(level.mean(), Some(100_000.0));
    }

    #[test]
    fn nothing_measured_has_no_statistics() {
        assert_eq!(Level::new().mean(), None);
        assert_eq!(Level::new().quantile(0.5), None);
    }
}
