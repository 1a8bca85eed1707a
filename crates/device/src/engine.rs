//! Two ports and the two directions between them, turned by one thread.

use crate::clock::Time;
use crate::path::{FrameCounts, Path, Reading};
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
    /// What arrived at each port before this instant has been read.
    read_until: [Instant; 2],
}

/// Each direction always finds one frame in so many: what one holds that stands still is not taken from the other.
const SHARE: usize = 4;

impl Engine {
    /// `ports` are A and B; `paths` leads from A to B and from B to A.
    #[must_use]
    pub fn new(pool: Pool, ports: [Box<dyn Port>; 2], paths: [Path; 2]) -> Self {
        let share = pool.frames() / SHARE;
        let mut engine =
            Self { pool, ports, paths, burst: Vec::with_capacity(BURST), share, read_until: [Instant::ZERO; 2] };
        engine.update_room();
        engine
    }

    /// One [`Engine::turn`] in which no time passes.
    ///
    /// # Errors
    /// A port stopped working.
    pub fn step(&mut self, now: Instant) -> Result<bool, PortError> {
        self.turn(now, &now)
    }

    /// One turn, begun at `now`: at most a burst is received from each port, what fell due is served and sent.
    /// True when a frame moved.
    ///
    /// The clock is read again after each burst: the thread may have lost the processor since the reading before, and what
    /// arrived meanwhile must not count as of then.
    ///
    /// # Errors
    /// A port stopped working.
    pub fn turn(&mut self, now: Instant, time: &impl Time) -> Result<bool, PortError> {
        let mut moved = false;
        let mut now = now;
        for (from, to) in [(0, 1), (1, 0)] {
            let others = self.ports[to].standby() as u64 + self.paths[to].inside();
            let aside = self.share.saturating_sub(others as usize);
            let is_roomy = self.pool.free() >= aside + BURST;
            self.pool.set_aside(aside);
            let outcome = self.ports[from].receive(&mut self.pool, &mut self.burst);
            self.pool.set_aside(0);
            outcome?;
            let (path, port) = (&mut self.paths[from], self.ports[to].as_mut());
            let read = self.burst.len();
            let looked = now;
            let mut at = now;
            if read > 0 {
                moved = true;
                now = time.now();
                let reading = Reading { time, since: self.read_until[from], now };
                let last = path.arrive(&reading, &mut self.pool, &mut self.burst, port)?;
                // What arrived meanwhile has not been read, and would count as of then.
                at = if read == BURST { last } else { last.max(looked) };
            }
            if is_roomy && read <= BURST / 2 {
                // A port that takes turns between queues may leave something behind half a burst.
                self.read_until[from] = looked;
            }
            path.serve(at, &mut self.pool);
            moved |= path.send(at, &mut self.pool, port)? > 0;
            if path.has_sent() {
                let after = time.now();
                path.sent_between(now, after);
                now = after;
            }
        }
        Ok(moved)
    }

    /// Tells the ports how much may wait in them. To be called after a rate has changed.
    pub fn update_room(&mut self) {
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
    pub fn frame_counts(&self, direction: Direction) -> FrameCounts {
        self.paths[direction as usize].frame_counts()
    }
}
