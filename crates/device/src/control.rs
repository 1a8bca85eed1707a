//! What may be asked of a running device: its state, changes without losing a queued packet, and reading the file again.

use crate::config::{self, Config, DirectionTable};
use crate::engine::Direction;
use crate::record::Closed;
use crate::run::{Board, Command, Order};
use crate::status::Status;
use serde::Serialize;
use sojourn_document::{Quantity, Scheme};
use sojourn_measure::WindowRow;
use sojourn_units::{BitRate, Span};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Sender, TryRecvError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Closed windows that are kept at hand, both directions together.
const RECENT: usize = 256;
/// Looks for the packet thread's answer, [`LOOK`] apart.
const LOOKS: u32 = 2000;
const LOOK: Duration = Duration::from_millis(1);

/// Why something was not done. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// What was asked for is wrong in itself.
    #[error("{0}")]
    Wrong(String),
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

/// The control side of a running device.
#[derive(Debug)]
pub struct Control {
    commands: Sender<Command>,
    board: Board,
    windows: SharedWindows,
    file: PathBuf,
    /// In force: what the file said and what was changed since. Held while a change is under way, so that they follow each other.
    config: tokio::sync::Mutex<Config>,
}

impl Control {
    /// Of a device that runs under `config`, which was read from `file`.
    #[must_use]
    pub fn new(commands: Sender<Command>, board: Board, windows: SharedWindows, file: PathBuf, config: Config) -> Self {
        Self { commands, board, windows, file, config: tokio::sync::Mutex::new(config) }
    }

    /// The last look at the packet thread; `None` before the first.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// At most `most` windows, the newest first.
    #[must_use]
    pub fn windows(&self, most: usize) -> Vec<Recent> {
        let windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        windows.recent.iter().rev().take(most).cloned().collect()
    }

    /// Windows closed since the start, A to B and B to A.
    #[must_use]
    pub fn windows_closed(&self) -> [u64; 2] {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner).closed
    }

    /// Changes a direction: all of it at one instant, or nothing. What was changed, in words.
    ///
    /// # Errors
    /// The value is impossible, the direction has no queue, or the packet thread is gone.
    pub async fn change(&self, direction: Direction, change: &Change) -> Result<Vec<String>, Refusal> {
        let mut config = self.config.lock().await;
        let orders = orders(direction, change)?;
        if orders.is_empty() {
            return Err(Refusal::Wrong("changes nothing; allowed: scheme, rate, delay, at least one of them".into()));
        }
        self.order(Order::All(orders)).await?;
        let table = match direction {
            Direction::AToB => &mut config.a_to_b,
            Direction::BToA => &mut config.b_to_a,
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
        let changed = words(direction, change);
        tracing::info!(changed = changed.join(", "), "changed");
        Ok(changed)
    }

    /// Reads the file again and puts in force what can change without a restart. What was changed, in words.
    ///
    /// # Errors
    /// The file is wrong, or asks for a change that needs a restart: then nothing is changed.
    pub async fn reload(&self) -> Result<Vec<String>, Refusal> {
        let mut config = self.config.lock().await;
        let new = config::load(&self.file).map_err(|e| Refusal::Wrong(e.to_string()))?;
        let fixed = needs_restart(&config, &new);
        if !fixed.is_empty() {
            let what = fixed.join(", ");
            return Err(Refusal::Conflict(format!(
                "{}: {what} changed, which needs a restart; nothing was changed",
                self.file.display()
            )));
        }
        let mut all = Vec::new();
        let mut changed = Vec::new();
        for direction in Direction::ALL {
            let change = difference(config.direction(direction), new.direction(direction));
            changed.extend(words(direction, &change));
            all.extend(orders(direction, &change)?);
        }
        if !all.is_empty() {
            self.order(Order::All(all)).await?;
        }
        *config = new;
        tracing::info!(file = %self.file.display(), changed = changed.join(", "), "reloaded");
        Ok(changed)
    }

    /// Ends the packet thread; what waits is given up.
    pub async fn stop(&self) -> Result<(), Refusal> {
        self.order(Order::Stop).await
    }

    async fn order(&self, order: Order) -> Result<(), Refusal> {
        let gone = || Refusal::Gone("the packet thread has ended".into());
        let (reply, answer) = channel();
        self.commands.send(Command { order, reply: Some(reply) }).map_err(|_| gone())?;
        for _ in 0..LOOKS {
            match answer.try_recv() {
                Ok(outcome) => return outcome.map_err(Refusal::Conflict),
                Err(TryRecvError::Disconnected) => return Err(gone()),
                Err(TryRecvError::Empty) => tokio::time::sleep(LOOK).await,
            }
        }
        Err(Refusal::Gone("the packet thread does not answer; the change may still come into force".into()))
    }
}

/// The orders of a change, each value checked.
fn orders(direction: Direction, change: &Change) -> Result<Vec<Order>, Refusal> {
    let wrong = |key: &str, what: String| Refusal::Wrong(format!("key `{key}`: {what}"));
    let mut orders = Vec::new();
    if let Some(rate) = change.rate {
        config::check_rate(rate).map_err(|what| wrong("rate", what))?;
        orders.push(Order::SetRate { direction, rate });
    }
    if let Some(Scheme(scheme)) = &change.scheme {
        let label = change.label.clone().unwrap_or_else(|| scheme.name().to_owned());
        config::check_label(&label).map_err(|what| wrong("label", what))?;
        orders.push(Order::Switch { direction, scheme: scheme.clone(), label, slot: None });
    } else if change.label.is_some() {
        return Err(wrong("label", "names no scheme; allowed: together with `scheme`".into()));
    }
    if let Some(delay) = change.delay {
        config::check_delay(delay).map_err(|what| wrong("delay", what))?;
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

/// Keys that differ and cannot change while the device runs.
fn needs_restart(old: &Config, new: &Config) -> Vec<&'static str> {
    let queue = |table: &DirectionTable| (table.scheme.is_some(), table.overhead, table.burst);
    [
        ("[ports]", old.ports != new.ports),
        ("scheme given or not, overhead or burst of [a_to_b]", queue(&old.a_to_b) != queue(&new.a_to_b)),
        ("scheme given or not, overhead or burst of [b_to_a]", queue(&old.b_to_a) != queue(&new.b_to_a)),
        ("[frames]", old.frames != new.frames),
        ("[windows]", old.windows != new.windows),
        ("[control]", old.control != new.control),
        ("[run]", old.run != new.run),
    ]
    .into_iter()
    .filter_map(|(name, differs)| differs.then_some(name))
    .collect()
}
