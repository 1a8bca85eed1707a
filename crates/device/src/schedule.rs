//! A switchback experiment: a scheme drawn at random is in force for a slot of time, then the next is drawn.
//!
//! The assignment is a function of seed and slot number alone, so it can be repeated, continued after a restart, and used
//! by the analysis. Slots lie on a grid: slot `n` is due at origin + `n` lengths, whether or not the process runs then.

#[cfg(test)]
mod tests;

use crate::clock::{utc, Dated};
use crate::engine::Direction;
use crate::orders::{Command, Commands, Order};
use crate::store::{Slot, SlotSink};
use serde::{Deserialize, Serialize};
use sojourn_aqm::{Config, Random};
use sojourn_random::Stream;
use sojourn_units::Span;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// How slots are assigned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Design {
    /// Independent uniform draws (Barczyk and Chydzinski 2022, section 5).
    #[default]
    Random,
    /// A random order of all schemes, then another: each has as many slots as any other.
    Blocks,
}

impl Design {
    /// `random` or `blocks`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Blocks => "blocks",
        }
    }
}

/// Why there is no such schedule.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum PlanError {
    /// Nothing to switch among.
    #[error("schedule: {0} schemes; at least 2 are needed")]
    Few(usize),
    /// Two of a name.
    #[error("schedule: two schemes are named {0:?}; each needs a name of its own")]
    Name(String),
    /// Slots that cannot be kept.
    #[error("schedule: slots of {0}; at least 10 ms are needed, an hour is usual")]
    Short(Span),
}

/// What is switched among, when and how.
#[derive(Clone, Debug)]
pub struct Plan {
    schemes: Vec<(String, Config)>,
    length: Span,
    seed: u64,
    design: Design,
    direction: Direction,
}

impl Plan {
    /// Switches `direction` among named `schemes` every `length`.
    ///
    /// # Errors
    /// Fewer than two schemes, two of the same name, or slots under 10 ms.
    pub fn new(
        schemes: Vec<(String, Config)>,
        length: Span,
        seed: u64,
        design: Design,
        direction: Direction,
    ) -> Result<Self, PlanError> {
        if schemes.len() < 2 {
            return Err(PlanError::Few(schemes.len()));
        }
        if length < Span::from_millis(10) {
            return Err(PlanError::Short(length));
        }
        for (n, (name, _)) in schemes.iter().enumerate() {
            if schemes[..n].iter().any(|(other, _)| other == name) {
                return Err(PlanError::Name(name.clone()));
            }
        }
        Ok(Self { schemes, length, seed, design, direction })
    }

    /// Name and scheme of a slot.
    #[must_use]
    pub fn assignment(&self, slot: u64) -> &(String, Config) {
        let schemes = self.schemes.len() as u64;
        let place = match self.design {
            Design::Random => below(&mut stream(self.seed, slot), schemes),
            Design::Blocks => shuffled(&mut stream(self.seed, slot / schemes), schemes)[(slot % schemes) as usize],
        };
        &self.schemes[place as usize]
    }

    /// Seed of the assignment.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Slot under way `elapsed_ns` after slot 0 was due.
    fn slot_at(&self, elapsed_ns: u64) -> u64 {
        elapsed_ns / self.length.nanos()
    }
}

/// The stream of one slot or block (SplitMix64's increment sets neighbours apart).
fn stream(seed: u64, number: u64) -> Stream {
    Stream::seeded(seed ^ number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Uniform on 0..n. Bound: redraws with probability below n / 2^64.
fn below(random: &mut Stream, n: u64) -> u64 {
    let rest = u64::MAX - u64::MAX % n;
    loop {
        let draw = random.next_u64();
        if draw < rest {
            return draw % n;
        }
    }
}

/// 0..n in random order (Fisher and Yates).
fn shuffled(random: &mut Stream, n: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..n).collect();
    for last in (1..n).rev() {
        order.swap(last as usize, below(random, last + 1) as usize);
    }
    order
}

/// How a schedule fares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct State {
    /// Slots are switched.
    pub running: bool,
    /// Slot under way.
    pub slot: Option<u64>,
    /// Its scheme.
    pub label: Option<String>,
    /// When the next is due, nanoseconds since 1970-01-01 UTC.
    pub next_due_ns: Option<u64>,
    /// Why the last switch was refused.
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Start,
    Stop,
}

/// The last slot carried out and when it was due, nanoseconds since 1970-01-01 UTC; the inner `None`: there was none.
pub type LastSlot = Option<(u64, u64)>;

/// Asks for the last slot; `None` while it is not known, because the store could not be opened yet.
pub type AskLastSlot = Box<dyn Fn() -> Option<LastSlot> + Send>;

/// Between two questions for the last slot.
const ASK: Duration = Duration::from_millis(100);

/// A schedule and the thread that carries it out. Ends when dropped; the scheme in force stays.
pub struct Schedule {
    wishes: Option<Sender<Wish>>,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

impl Schedule {
    /// A stopped schedule that will tell the packet thread through `commands` and record in `slots`.
    ///
    /// `last` knows the last slot carried out ([`crate::store::Progress::last_slot`]): the grid goes on from there. Without
    /// one, slot 0 is due at the first start. While it is not known nothing is switched: slots of the same numbers would be
    /// given out twice.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn new(
        plan: Plan,
        dated: Dated,
        last: AskLastSlot,
        commands: Commands,
        slots: SlotSink,
    ) -> std::io::Result<Self> {
        let (wishes, wanted) = channel();
        let state = Arc::new(Mutex::new(State::default()));
        let worker = Worker { plan, dated, ask: last, last: None, commands, slots, state: Arc::clone(&state) };
        let thread = std::thread::Builder::new().name("schedule".into()).spawn(move || worker.work(&wanted))?;
        Ok(Self { wishes: Some(wishes), state, thread: Some(thread) })
    }

    /// Switches from now on. Nothing when it runs.
    pub fn start(&self) {
        self.wish(Wish::Start);
    }

    /// Leaves the scheme in force. Nothing when it does not run.
    pub fn stop(&self) {
        self.wish(Wish::Stop);
    }

    fn wish(&self, wish: Wish) {
        if let Some(wishes) = &self.wishes {
            // The thread is gone with the packet thread: nothing is left to be switched.
            let _ = wishes.send(wish);
        }
    }

    /// How it fares.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.lock().map(|state| state.clone()).unwrap_or_default()
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        self.wishes = None;
        if let Some(thread) = self.thread.take() {
            // It has nothing to give back.
            let _ = thread.join();
        }
    }
}

struct Worker {
    plan: Plan,
    dated: Dated,
    ask: AskLastSlot,
    /// Once it is known.
    last: Option<LastSlot>,
    commands: Commands,
    slots: SlotSink,
    state: Arc<Mutex<State>>,
}

impl Worker {
    /// Until the wishes or the packet thread end.
    fn work(mut self, wishes: &Receiver<Wish>) {
        let mut running = false;
        let mut wait = None;
        loop {
            let wish = match wait {
                None => wishes.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => wishes.recv_timeout(wait),
            };
            match wish {
                Ok(Wish::Start) => running = true,
                Ok(Wish::Stop) => {
                    running = false;
                    wait = None;
                    self.say(|state| {
                        *state = State { running: false, slot: None, label: None, next_due_ns: None, ..state.clone() };
                    });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if running && !self.knows_last() {
                wait = Some(ASK);
            } else if running {
                let now_ns = self.dated.now_unix_ns();
                let Some(due_ns) = self.turn(now_ns) else { return };
                wait = Some(Duration::from_nanos(due_ns.saturating_sub(self.dated.now_unix_ns())));
            }
        }
    }

    fn knows_last(&mut self) -> bool {
        if self.last.is_none() {
            self.last = (self.ask)();
        }
        if self.last.is_none() {
            let error = "waiting for the store, which knows the number of the last slot".to_owned();
            self.say(|state| *state = State { running: true, error: Some(error), ..State::default() });
        }
        self.last.is_some()
    }

    /// Slot of `now_ns` and when it was due.
    fn slot_of(&self, now_ns: u64) -> (u64, u64) {
        let length_ns = self.plan.length.nanos();
        match self.last.flatten() {
            None => (0, now_ns),
            // The clock was ahead when this slot was due, and was set back over a restart: its grid is one of dates that are
            // still to come. The next slot begins now, and with it a grid.
            Some((known, due_ns)) if due_ns.saturating_sub(now_ns) > length_ns => {
                let slot = known.saturating_add(1);
                let (due, now) = (utc(due_ns), utc(now_ns));
                tracing::warn!("schedule: slot {known} was due at {due}, and it is {now}: the host's clock was set back; slot {slot} begins now");
                (slot, now_ns)
            }
            // A date shortly before the last slot stays in that slot.
            Some((known, due_ns)) => {
                let passed = self.plan.slot_at(now_ns.saturating_sub(due_ns));
                (known.saturating_add(passed), due_ns.saturating_add(passed.saturating_mul(length_ns)))
            }
        }
    }

    /// Puts the slot of `now_ns` in force unless it is. When the next is due; `None` without a packet thread.
    fn turn(&mut self, now_ns: u64) -> Option<u64> {
        let (slot, due_ns) = self.slot_of(now_ns);
        let next_ns = due_ns.saturating_add(self.plan.length.nanos());
        self.last = Some(Some((slot, due_ns)));
        let under_way = self.state.lock().ok()?.slot == Some(slot);
        if under_way {
            return Some(next_ns);
        }
        let (label, scheme) = self.plan.assignment(slot).clone();
        let direction = self.plan.direction;
        let (reply, outcome) = channel();
        let text = scheme.text();
        let order = Order::Switch { direction, scheme, label: label.clone(), slot: Some(slot) };
        self.commands.send(Command { order, reply: Some(reply) }).ok()?;
        let error = outcome.recv().ok()?.err();
        if error.is_none() {
            let began_ns = self.dated.now_unix_ns();
            let (seed, design) = (self.plan.seed, self.plan.design.name());
            let direction = direction.name();
            (self.slots)(Slot { slot, direction, label: label.clone(), scheme: text, due_ns, began_ns, seed, design });
        }
        self.say(|state| {
            *state = State { running: true, slot: Some(slot), label: Some(label), next_due_ns: Some(next_ns), error };
        });
        Some(next_ns)
    }

    fn say(&self, change: impl FnOnce(&mut State)) {
        if let Ok(mut state) = self.state.lock() {
            change(&mut state);
        }
    }
}
