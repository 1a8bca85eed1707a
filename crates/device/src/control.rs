//! What may be asked of a running device: its state, changes without losing a queued packet, and reading the file again.

use crate::config::{self, Config, DirectionTable, ScheduleTable};
use crate::engine::Direction;
use crate::orders::{Command, Commands, Order};
use crate::record::Closed;
use crate::run::Board;
use crate::schedule::{self, AskLastSlot, Schedule};
use crate::status::Status;
use crate::store::{Health, Progress};
use serde::Serialize;
use serde_json::{Map, Value};
use sojourn_document::{Quantity, Scheme};
use sojourn_measure::WindowRow;
use sojourn_units::{BitRate, Span};
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{channel, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Closed windows that are kept at hand, both directions together.
const RECENT: usize = 256;
/// Looks for the packet thread's answer, [`POLL_INTERVAL`] apart.
const MAX_POLLS: u32 = 2000;
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Why something was not done. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What was asked for is wrong in itself.
    #[error("{0}")]
    Wrong(String),
    /// The value of this key of the request is wrong in itself.
    #[error("key `{0}`: {1}")]
    Key(&'static str, String),
    /// It does not fit what is in force.
    #[error("{0}")]
    Conflict(String),
    /// The packet thread is gone or does not answer.
    #[error("{0}")]
    Gone(String),
}

/// A change of one direction; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Another scheme over what waits.
    pub scheme: Option<Scheme>,
    /// Its name in windows and metrics; the scheme's own where absent.
    pub label: Option<String>,
    /// Another shaped rate.
    pub rate: Option<BitRate>,
    /// Another delay line.
    pub delay: Option<Span>,
}

/// What was changed.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
pub struct Done {
    /// What was changed, `key = value`.
    pub changed: Vec<String>,
    /// What has no effect, or should be written differently.
    pub warnings: Vec<String>,
}

impl Done {
    /// Logged, too.
    fn new(changed: Vec<String>, warnings: Vec<String>, said: &str) -> Self {
        tracing::info!(changed = changed.join(", "), "{said}");
        warnings.iter().for_each(|what| tracing::warn!("{what}"));
        Self { changed, warnings }
    }
}

/// A window that closed.
#[derive(Clone, Debug, Serialize)]
pub struct Recent {
    /// `a_to_b` or `b_to_a`.
    pub direction: &'static str,
    /// The scheme, as tc writes it.
    pub scheme: String,
    /// Its name.
    pub label: String,
    /// Slot of the schedule.
    pub slot: Option<u64>,
    /// It holds as many arrivals as asked for.
    pub complete: bool,
    /// What was measured.
    #[serde(flatten)]
    pub row: WindowRow,
}

/// The last windows that closed, and how many in all.
#[derive(Debug, Default)]
pub struct Windows {
    recent: VecDeque<Recent>,
    /// Closed in all, A to B and B to A.
    closed: [u64; 2],
}

impl Windows {
    /// At most `most`, the newest first.
    #[must_use]
    pub fn latest(&self, most: usize) -> Vec<Recent> {
        self.recent.iter().rev().take(most).cloned().collect()
    }

    /// A window closed.
    pub fn add(&mut self, direction: Direction, closed: &Closed) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.closed[direction as usize] += 1;
        self.recent.push_back(Recent {
            direction: direction.name(),
            scheme: closed.setting.scheme.clone(),
            label: closed.setting.label.clone(),
            slot: closed.setting.slot,
            complete: closed.complete,
            row: closed.row.clone(),
        });
    }
}

/// Windows as the packet thread hands them over and the control thread reads them.
pub type SharedWindows = Arc<Mutex<Windows>>;

/// Makes a stopped schedule of its table; the second knows the last slot that the store holds of it.
pub type MakeSchedule = Box<dyn Fn(&ScheduleTable, AskLastSlot) -> Result<Schedule, String> + Send + Sync>;

/// The schedule of the configuration in force.
pub struct Schedules {
    make: MakeSchedule,
    present: Option<Schedule>,
    /// Why there is none.
    error: Option<String>,
    /// Of every schedule since the start: the store tells their slots apart by it.
    seeds: Vec<u64>,
}

impl Schedules {
    /// The schedule of `table`, started where it says so; `last` as for [`Schedule::new`]. One that cannot be made says why in
    /// its state.
    #[must_use]
    pub fn new(make: MakeSchedule, table: Option<&ScheduleTable>, last: AskLastSlot) -> Self {
        let mut schedules = Self { make, ..Self::none() };
        if let Err(error) = schedules.put(table, last) {
            tracing::error!(error, "schedule");
            schedules.error = Some(error);
        }
        schedules
    }

    /// None, for a device without a schedule.
    #[must_use]
    pub fn none() -> Self {
        Self {
            make: Box::new(|_, _| Err("there is no schedule".into())),
            present: None,
            error: None,
            seeds: Vec::new(),
        }
    }

    /// In the place of the present one, which ends.
    fn put(&mut self, table: Option<&ScheduleTable>, last: AskLastSlot) -> Result<(), String> {
        let made = table.map(|table| (self.make)(table, last)).transpose()?;
        if let (Some(table), Some(schedule)) = (table, &made) {
            self.seeds.push(table.seed);
            if table.start {
                schedule.start();
            }
        }
        (self.present, self.error) = (made, None);
        Ok(())
    }

    /// `running` at once where it was asked for, though its first switch may be under way.
    fn state(&self) -> Option<schedule::State> {
        let without =
            || self.error.clone().map(|error| schedule::State { error: Some(error), ..schedule::State::default() });
        self.present.as_ref().map(Schedule::state).or_else(without)
    }
}

/// What is in force.
struct Force {
    /// What the file said and what was changed since.
    config: Config,
    /// Asked to run.
    running: bool,
}

/// What a device has beside the packet thread.
pub struct Parts {
    /// To the packet thread.
    pub commands: Commands,
    /// From it.
    pub board: Board,
    /// From it.
    pub windows: SharedWindows,
    /// How the store fares, where there is one.
    pub store: Option<Arc<Progress>>,
    /// The schedule.
    pub schedules: Schedules,
    /// Where the configuration was read from.
    pub file: PathBuf,
    /// The configuration in force.
    pub config: Config,
}

/// The control side of a running device.
pub struct Control {
    commands: Commands,
    board: Board,
    windows: SharedWindows,
    store: Option<Arc<Progress>>,
    schedules: Mutex<Schedules>,
    file: PathBuf,
    /// Held while a change is under way, so that they follow each other.
    force: tokio::sync::Mutex<Force>,
}

impl Control {
    /// Of a device that runs.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts { commands, board, windows, store, schedules, file, config } = parts;
        let running = schedules.present.is_some() && config.schedule.as_ref().is_some_and(|table| table.start);
        let force = tokio::sync::Mutex::new(Force { config, running });
        Self { commands, board, windows, store, schedules: Mutex::new(schedules), file, force }
    }

    /// The last look at the packet thread; `None` before the first.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// At most `most` windows, the newest first.
    #[must_use]
    pub fn windows(&self, most: usize) -> Vec<Recent> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).latest(most)
    }

    /// Windows closed since the start, A to B and B to A.
    #[must_use]
    pub fn windows_closed(&self) -> [u64; 2] {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).closed
    }

    /// How the store fares; `None` without one.
    #[must_use]
    pub fn store(&self) -> Option<Health> {
        self.store.as_ref().map(|progress| progress.health())
    }

    /// How the schedule fares; `None` without one.
    #[must_use]
    pub fn schedule(&self) -> Option<schedule::State> {
        self.schedules.lock().unwrap_or_else(PoisonError::into_inner).state()
    }

    /// Starts or stops the schedule. Once it is stopped the scheme in force stays.
    ///
    /// # Errors
    /// There is none.
    pub async fn run_schedule(&self, running: bool) -> Result<(), Refusal> {
        let mut force = self.force.lock().await;
        let schedules = self.schedules.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(schedule) = &schedules.present else {
            return Err(Refusal::Conflict("the configuration has no [schedule]".into()));
        };
        if running {
            schedule.start();
        } else {
            schedule.stop();
        }
        force.running = running;
        tracing::info!(running, "schedule");
        Ok(())
    }

    /// Changes a direction: all of it at one instant, or nothing.
    ///
    /// # Errors
    /// The value is impossible, the direction has no queue, or the packet thread is gone.
    pub async fn change(&self, direction: Direction, change: &Change) -> Result<Done, Refusal> {
        let mut force = self.force.lock().await;
        let orders = orders(direction, change)?;
        if orders.is_empty() {
            return Err(Refusal::Wrong("changes nothing; allowed: at least one of scheme, rate and delay".into()));
        }
        if change.scheme.is_some() && force.switches(direction) {
            return Err(Refusal::Conflict(format!(
                "the schedule switches {}; stop it first (POST /schedule/stop)",
                direction.name()
            )));
        }
        self.order(Order::All(orders)).await?;
        let table = match direction {
            Direction::AToB => &mut force.config.a_to_b,
            Direction::BToA => &mut force.config.b_to_a,
        };
        if let Some(scheme) = &change.scheme {
            table.scheme = Some(scheme.clone());
        }
        if let Some(rate) = change.rate {
            table.rate = Some(Quantity(rate));
        }
        if let Some(delay) = change.delay {
            table.delay = Quantity(delay);
        }
        let warnings = table.warnings(direction.name());
        Ok(Done::new(words(direction, change), warnings, "changed"))
    }

    /// Reads the file again and puts in force what can change without a restart.
    ///
    /// # Errors
    /// The file is wrong, or asks for a change that needs a restart: then nothing is changed.
    pub async fn reload(&self) -> Result<Done, Refusal> {
        let mut force = self.force.lock().await;
        let mut new = config::load(&self.file).map_err(|e| Refusal::Wrong(format!("{e}; nothing was changed")))?;
        crate::plugins::contain(&mut new);
        let refused =
            |what: String| Err(Refusal::Conflict(format!("{}: {what}; nothing was changed", self.file.display())));
        let fixed = needs_restart(&force.config, &new);
        if !fixed.is_empty() {
            return refused(format!("{} changed; that needs a restart", fixed.join(", ")));
        }
        let other_schedule = new.schedule != force.config.schedule;
        if let (true, Some(table)) = (other_schedule, &new.schedule) {
            if self.schedules.lock().unwrap_or_else(PoisonError::into_inner).seeds.contains(&table.seed) {
                return refused(format!(
                    "[schedule] changed, but schedule.seed is still {}, and the store tells schedules apart by their seeds; allowed: another seed",
                    table.seed
                ));
            }
        }
        let mut all = Vec::new();
        let mut changed = Vec::new();
        for direction in Direction::ALL {
            let change = difference(force.config.direction(direction), new.direction(direction));
            if change.scheme.is_some() && !other_schedule && force.switches(direction) {
                let name = direction.name();
                return refused(format!("{name}.scheme changed, which the running schedule switches; stop it first"));
            }
            changed.extend(words(direction, &change));
            all.extend(orders(direction, &change)?);
        }
        if other_schedule {
            // Before the orders: it is what can fail.
            let mut schedules = self.schedules.lock().unwrap_or_else(PoisonError::into_inner);
            schedules.put(new.schedule.as_ref(), Box::new(|| Some(None))).map_err(Refusal::Conflict)?;
            force.running = new.schedule.as_ref().is_some_and(|table| table.start);
            changed.push("schedule".into());
        }
        if !all.is_empty() {
            self.order(Order::All(all)).await?;
        }
        force.config = new;
        let said = format!("{} was read again", self.file.display());
        Ok(Done::new(changed, force.config.warnings(), &said))
    }

    /// Ends the packet thread; what waits is given up.
    pub async fn stop(&self) -> Result<(), Refusal> {
        self.order(Order::Stop).await
    }

    async fn order(&self, order: Order) -> Result<(), Refusal> {
        let gone = || Refusal::Gone("the packet thread has ended".into());
        let (reply, answer) = channel();
        self.commands.send(Command { order, reply: Some(reply) }).map_err(|_| gone())?;
        for _ in 0..MAX_POLLS {
            match answer.try_recv() {
                Ok(outcome) => return outcome.map_err(Refusal::Conflict),
                Err(TryRecvError::Disconnected) => return Err(gone()),
                Err(TryRecvError::Empty) => tokio::time::sleep(POLL_INTERVAL).await,
            }
        }
        Err(Refusal::Gone("the packet thread does not answer; the change may still come into force".into()))
    }
}

impl Force {
    /// A running schedule switches this direction.
    fn switches(&self, direction: Direction) -> bool {
        let table = self.config.schedule.as_ref().filter(|_| self.running);
        table.is_some_and(|table| Direction::from(table.direction) == direction)
    }
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("file", &self.file).finish_non_exhaustive()
    }
}

/// The orders of a change, each value checked.
fn orders(direction: Direction, change: &Change) -> Result<Vec<Order>, Refusal> {
    let mut orders = Vec::new();
    if let Some(rate) = change.rate {
        config::check_rate(rate).map_err(|what| Refusal::Key("rate", what))?;
        orders.push(Order::SetRate { direction, rate });
    }
    if let Some(Scheme(scheme)) = &change.scheme {
        let label = change.label.clone().unwrap_or_else(|| scheme.name().to_owned());
        config::check_label(&label).map_err(|what| Refusal::Key("label", what))?;
        orders.push(Order::Switch { direction, scheme: scheme.clone(), label, slot: None });
    } else if change.label.is_some() {
        return Err(Refusal::Key("label", "is given without `scheme`; allowed: together with `scheme`".into()));
    }
    if let Some(delay) = change.delay {
        config::check_delay(delay).map_err(|what| Refusal::Key("delay", what))?;
        orders.push(Order::SetDelay { direction, delay });
    }
    Ok(orders)
}

/// What a new table changes.
fn difference(old: &DirectionTable, new: &DirectionTable) -> Change {
    Change {
        scheme: new.scheme.clone().filter(|_| new.scheme != old.scheme),
        label: None,
        rate: new.rate.filter(|_| new.rate != old.rate).map(|rate| rate.0),
        delay: (new.delay != old.delay).then_some(new.delay.0),
    }
}

fn words(direction: Direction, change: &Change) -> Vec<String> {
    let name = direction.name();
    let scheme = change.scheme.as_ref().map(|scheme| format!("{name}.scheme = {}", scheme.0.text()));
    let rate = change.rate.map(|rate| format!("{name}.rate = {rate}"));
    let delay = change.delay.map(|delay| format!("{name}.delay = {delay}"));
    [scheme, rate, delay].into_iter().flatten().collect()
}

/// Keys that differ and cannot change while the device runs, as the file has them.
fn needs_restart(old: &Config, new: &Config) -> Vec<String> {
    let mut differing = Vec::new();
    // Only maps with keys that are no strings can fail, and there is none.
    let [one, two] = [old, new].map(|config| serde_json::to_value(config).unwrap_or_default());
    differ(String::new(), &one, &two, &mut differing);
    for direction in Direction::ALL {
        let (name, one, two) = (direction.name(), old.direction(direction), new.direction(direction));
        // Values change; whether there is a queue does not.
        let live = |key: &str| match key.strip_prefix(name).and_then(|key| key.strip_prefix('.')) {
            Some("scheme") => one.scheme.is_some() == two.scheme.is_some(),
            Some("rate") => one.rate.is_some() == two.rate.is_some(),
            key => key == Some("delay"),
        };
        differing.retain(|key| !live(key));
        // The contents of a trace's file are in none of its keys.
        let trace = format!("{name}.trace");
        if one.trace != two.trace && !differing.iter().any(|key| key.starts_with(&trace)) {
            differing.push(trace);
        }
    }
    differing.retain(|key| !key.starts_with("schedule"));
    differing
}

/// Keys whose values differ: below `key`, where both are tables.
fn differ(key: String, one: &Value, two: &Value, found: &mut Vec<String>) {
    let (Value::Object(one), Value::Object(two)) = (one, two) else {
        if one != two {
            found.push(key);
        }
        return;
    };
    let names: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
    for name in names {
        let below = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
        let value = |table: &Map<String, Value>| table.get(name).cloned().unwrap_or_default();
        differ(below, &value(one), &value(two), found);
    }
}
