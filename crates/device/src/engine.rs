//! Two ports and the two directions between them, turned by one thread.

use crate::path::{Path, Whereabouts};
use crate::pool::{Frame, Pool};
use crate::port::{Port, PortCounters, PortError, BURST};
use sojourn_units::Instant;

/// A direction of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(usize)]
pub enum Direction {
    /// From port A to port B: the direction under study.
    AToB,
    /// The return path.
    BToA,
}

impl Direction {
    /// Both.
    pub const ALL: [Self; 2] = [Self::AToB, Self::BToA];

    /// `a_to_b` or `b_to_a`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AToB => "a_to_b",
            Self::BToA => "b_to_a",
        }
    }
}

/// The packet path.
pub struct Engine {
    /// Frame memory, shared by both ports.
    pub pool: Pool,
    ports: [Box<dyn Port>; 2],
    paths: [Path; 2],
    burst: Vec<Frame>,
    /// Frames that the one direction leaves to the other.
    share: usize,
}

/// If a frame of a burst waited longer in the interface, the host was late, and the burst counts as of its arrival there.
/// Otherwise it counts as of its reading.
const LATE_NS: u32 = 1_000_000;

/// Each direction always finds one frame in so many: what one holds that stands still is not taken from the other.
const SHARE: usize = 4;

impl Engine {
    /// `ports` are A and B; `paths` leads from A to B and from B to A.
    #[must_use]
    pub fn new(pool: Pool, ports: [Box<dyn Port>; 2], paths: [Path; 2]) -> Self {
        let share = pool.frames() / SHARE;
        let mut engine = Self { pool, ports, paths, burst: Vec::with_capacity(BURST), share };
        engine.tell_room();
        engine
    }

    /// One turn at `now`: at most a burst is received from each port, what fell due is served and sent.
    /// True when a frame moved.
    ///
    /// # Errors
    /// A port stopped working.
    pub fn step(&mut self, now: Instant) -> Result<bool, PortError> {
        let mut moved = false;
        for (from, to) in [(0, 1), (1, 0)] {
            let others = self.ports[to].standby() as u64 + self.paths[to].inside();
            self.pool.set_aside(self.share.saturating_sub(others as usize));
            let outcome = self.ports[from].receive(&mut self.pool, &mut self.burst);
            self.pool.set_aside(0);
            outcome?;
            let (path, port) = (&mut self.paths[from], self.ports[to].as_mut());
            path.set_clock(now);
            let read = self.burst.len();
            moved |= read > 0;
            let late = self.burst.iter().any(|frame| self.pool.note(*frame).age_ns > LATE_NS);
            let mut now = now;
            if late {
                let last = path.arrive_late(now, &mut self.pool, &mut self.burst, port)?;
                if read == BURST {
                    // More may have arrived between the last of them and now.
                    now = last;
                }
            }
            path.serve(now, &mut self.pool);
            if path.is_held() {
                // Before anything arrives: what is due is decided upon as of then.
                moved |= path.send(now, &mut self.pool, port)? > 0;
            }
            if !self.burst.is_empty() {
                path.arrive(now, &mut self.pool, &mut self.burst);
                path.serve(now, &mut self.pool);
            }
            moved |= path.send(now, &mut self.pool, port)? > 0;
        }
        Ok(moved)
    }

    /// Tells the ports how much may wait in them. To be called after a rate has changed.
    pub fn tell_room(&mut self) {
        let [a, b] = &mut self.ports;
        b.set_room(self.paths[0].room());
        a.set_room(self.paths[1].room());
    }

    /// When something falls due next; `None` while only an arrival can change anything.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.paths.iter().filter_map(Path::next_due).min()
    }

    /// A direction.
    #[must_use]
    pub fn path(&self, direction: Direction) -> &Path {
        &self.paths[direction as usize]
    }

    /// A direction and the pool that its frames are in.
    pub fn path_mut(&mut self, direction: Direction) -> (&mut Path, &mut Pool) {
        (&mut self.paths[direction as usize], &mut self.pool)
    }

    /// The ports, A and B.
    pub fn ports(&mut self) -> &mut [Box<dyn Port>; 2] {
        &mut self.ports
    }

    /// The two directions, as nothing is to be received or sent any more.
    #[must_use]
    pub fn into_paths(self) -> [Path; 2] {
        self.paths
    }

    /// What the ports count, A and B.
    pub fn port_counters(&mut self) -> [PortCounters; 2] {
        let [a, b] = &mut self.ports;
        [a.counters(), b.counters()]
    }

    /// Where the frames of a direction are.
    #[must_use]
    pub fn whereabouts(&self, direction: Direction) -> Whereabouts {
        self.paths[direction as usize].whereabouts()
    }
}
