//! Equal air time for the stations of an access point: deficit round robin over stations, as Linux's mac80211 has it
//! (`ieee80211_next_txq`; Hoiland-Jorgensen and others, "Ending the anomaly", USENIX ATC 2017).
//!
//! Deviations: air time is that of the whole exchange with its answer, where Linux takes what the driver reports or
//! estimates; every station has a queue with the whole limit, where Linux shares one limit among them.

use sojourn_units::Span;
use std::collections::VecDeque;

/// What a station's deficit grows by in a round: Linux's default weight, in microseconds.
const QUANTUM: i64 = 256_000;

/// Whose queue the access point serves next.
#[derive(Clone, Debug)]
pub(crate) struct Airtime {
    stations: Vec<Share>,
    /// Stations with packets, whose turn it is first.
    active: VecDeque<u32>,
}

/// One station's queue at the access point.
#[derive(Clone, Copy, Debug)]
struct Share {
    port: u32,
    /// Air time that it may use, in nanoseconds; negative once it has used more.
    deficit: i64,
    is_active: bool,
}

impl Airtime {
    /// Nobody waits; `ports` are those to stations 1, 2, ...
    pub fn new(ports: &[u32]) -> Self {
        let stations = ports.iter().map(|&port| Share { port, deficit: 0, is_active: false });
        Self { stations: stations.collect(), active: VecDeque::with_capacity(ports.len()) }
    }

    /// A packet has come to a port. A station that had none comes first, as in Linux: if its deficit is negative, it goes
    /// to the end at once.
    pub fn wake(&mut self, port: u32) {
        let Some(index) = self.stations.iter().position(|station| station.port == port) else { return };
        if !self.stations[index].is_active {
            self.stations[index].is_active = true;
            self.active.push_front(index as u32);
        }
    }

    /// The port to take a packet from. `waits` tells whether a port has one.
    pub fn pick(&mut self, waits: impl Fn(u32) -> bool) -> Option<u32> {
        // Bound: the largest deficit in quanta, times the stations.
        while let Some(&first) = self.active.front() {
            let station = &mut self.stations[first as usize];
            if !waits(station.port) {
                station.is_active = false;
                self.active.pop_front();
            } else if station.deficit < 0 {
                station.deficit += QUANTUM;
                self.active.rotate_left(1);
            } else {
                return Some(station.port);
            }
        }
        None
    }

    /// The channel was held for a station (1, 2, ...), in either direction.
    pub fn charge(&mut self, station: u32, time: Span) {
        let index = (station as usize).wrapping_sub(1);
        if let Some(share) = self.stations.get_mut(index) {
            share.deficit = share.deficit.saturating_sub_unsigned(time.nanos());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stations_take_turns_by_air_time() {
        let mut airtime = Airtime::new(&[10, 11]);
        airtime.wake(10);
        airtime.wake(11);
        // Exchanges of 0.2 ms and 2 ms: in 6 ms of each, some 30 of the first and 3 of the second.
        let mut count = [0, 0];
        let mut used = [0, 0];
        while used[0] + used[1] < 12_000 {
            let port = airtime.pick(|_| true).expect("both wait");
            let (station, micros) = if port == 10 { (1, 200) } else { (2, 2000) };
            airtime.charge(station, Span::from_micros(micros));
            count[station as usize - 1] += 1;
            used[station as usize - 1] += micros;
        }
        // One exchange of the slow station is the most that either can be ahead, and a quantum.
        assert!(used[0].abs_diff(used[1]) <= 2256, "{used:?}");
        assert!(count[0] >= 24 && count[1] <= 4, "{count:?}");
    }

    #[test]
    fn an_upload_is_charged_too() {
        let mut airtime = Airtime::new(&[10, 11]);
        airtime.charge(1, Span::from_millis(1));
        airtime.wake(11);
        airtime.wake(10);
        assert_eq!(airtime.pick(|_| true), Some(11));
        // 1 ms is four quanta less 24 us: it has its turn in the fifth round.
        for _ in 0..4 {
            assert_eq!(airtime.pick(|_| true), Some(11));
            airtime.charge(2, Span::from_micros(256));
        }
    }

    #[test]
    fn a_station_that_begins_comes_first_and_an_empty_one_leaves() {
        let mut airtime = Airtime::new(&[10, 11]);
        airtime.wake(10);
        assert_eq!(airtime.pick(|_| true), Some(10));
        airtime.wake(11);
        assert_eq!(airtime.pick(|_| true), Some(11));
        assert_eq!(airtime.pick(|port| port == 10), Some(10));
        assert_eq!(airtime.pick(|_| false), None);
    }
}
