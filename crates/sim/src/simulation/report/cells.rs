use crate::simulation::Simulation;
use crate::wlan::Counts;
use serde::Serialize;
use sojourn_units::Span;

/// One 802.11 cell, over the measured time.
#[derive(Clone, Debug, Serialize)]
pub struct CellReport {
    /// Its name.
    pub name: String,
    /// Share of time for which the channel carried an exchange of frames, the gaps within it included.
    pub medium_utilisation: f64,
    /// Share of time for which it carried a collision.
    pub collision_share: f64,
    /// The access point, then the stations.
    pub stations: Vec<StationReport>,
}

/// One station of a cell, over the measured time.
#[derive(Clone, Debug, Serialize)]
pub struct StationReport {
    /// The node.
    pub node: String,
    /// Transmissions begun: of data, of an A-MPDU, or of an RTS.
    pub attempts: u64,
    /// Of these, repetitions.
    pub retries: u64,
    /// Of these, collisions.
    pub collisions: u64,
    /// Data frames lost to errors.
    pub frame_errors: u64,
    /// Packets dropped at the retry limit.
    pub retry_drops: u64,
    /// Share of time for which its exchanges and collisions held the channel.
    pub air_time_share: f64,
    /// The same of transmissions from it and to it; of the access point, of all transmissions.
    pub air_time_both_share: f64,
}

impl Simulation {
    pub(super) fn cell_reports(&self, measured: Span) -> Vec<CellReport> {
        let share = |time: Span| time.seconds() / measured.seconds();
        let node = |port: usize| self.network.nodes[self.network.ports[port].node()].clone();
        let cells = self.net.cells.iter().map(|cell| {
            let stations = cell.stations.iter().enumerate().map(|(number, station)| {
                let both = if number == 0 { &cell.busy } else { &station.both };
                let Counts { attempts, retries, collisions, frame_errors, retry_drops } =
                    station.counts.since(&station.before);
                StationReport {
                    node: node(station.place),
                    attempts,
                    retries,
                    collisions,
                    frame_errors,
                    retry_drops,
                    air_time_share: share(station.air.total(self.end)),
                    air_time_both_share: share(both.total(self.end)),
                }
            });
            CellReport {
                name: cell.spec.name.clone(),
                medium_utilisation: share(cell.busy.total(self.end)),
                collision_share: share(cell.collided.total(self.end)),
                stations: stations.collect(),
            }
        });
        cells.collect()
    }
}
