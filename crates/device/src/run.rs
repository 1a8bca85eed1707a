//! The packet thread: turns the engine, obeys commands, publishes status.

use crate::clock::Clock;
use crate::engine::{Direction, Engine};
use crate::frame::Fault;
use crate::links::Links;
use crate::orders::{Command, Order, Orders};
use crate::path::Path;
use crate::port::PortError;
use crate::status::{Count, DirectionStatus, LinkStatus, LiveSojourn, PortStatus, SojournTotals, Status};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use sojourn_aqm::{link_effects, Config};
use sojourn_measure::window::Class;
use sojourn_measure::Sampled;
use sojourn_units::{BitRate, Instant, Span};
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the status is found; the packet thread never waits for it.
pub type Board = Arc<Mutex<Option<Status>>>;

/// How the thread spends time in which nothing is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Looks again at once: least delay, one core in full use.
    Spin,
    /// Sleeps until a frame arrives or something falls due.
    Wait,
}

/// How the thread runs.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// When nothing is to be done.
    pub idle: Idle,
    /// Between two publications of the status.
    pub publish_every: Span,
    /// Of the ports.
    pub links: Links,
}

/// Commands obeyed in one turn.
const COMMANDS: usize = 16;
/// A sleep overshoots by tens of microseconds, so what falls due sooner is waited for awake.
const SPIN: Span = Span::from_micros(200);

/// Turns `engine` until [`Order::Stop`] or until every sender of commands is gone.
///
/// # Errors
/// A port stopped working; what was under way is closed before.
pub fn run(
    engine: &mut Engine,
    clock: Clock,
    config: &RunConfig,
    commands: &Orders,
    board: &Board,
) -> Result<(), PortError> {
    let mut publisher = Publisher { links: config.links.clone(), ..Publisher::default() };
    let outcome = loop {
        crate::turns::turned();
        let now = clock.now();
        if run_commands(engine, now, commands) {
            break Ok(());
        }
        let moved = match engine.turn(now, &clock) {
            Ok(moved) => moved,
            Err(error) => break Err(error),
        };
        if now >= publisher.due {
            publisher.publish(engine, now, config.publish_every, board);
        }
        if !moved && config.idle == Idle::Wait {
            // The turn may have taken long.
            sleep(engine, clock.now(), publisher.due, commands);
        }
    };
    let now = clock.now();
    // The last state, whoever reads it meanwhile: nothing is forwarded any more.
    let last = publisher.state(engine, now);
    *board.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
    for direction in Direction::ALL {
        let (path, pool) = engine.path_mut(direction);
        path.recorder.finish(now);
        path.clear(pool);
    }
    let finished = engine.ports().iter_mut().map(|port| port.finish()).fold(Ok(()), Result::and);
    outcome.and(finished)
}

/// Carries out what was asked for since the last call, at `now`; true when the thread is to end. [`run`] does it at every turn.
#[must_use]
pub fn run_commands(engine: &mut Engine, now: Instant, commands: &Orders) -> bool {
    use std::sync::mpsc::TryRecvError;
    for _ in 0..COMMANDS {
        match commands.try_recv() {
            Ok(Command { order: Order::Stop, reply }) => {
                if let Some(reply) = reply {
                    // Who asked may be gone.
                    let _ = reply.send(Ok(()));
                }
                return true;
            }
            Ok(Command { order, reply }) => {
                let outcome = carry_out(engine, now, &order);
                if let Some(reply) = reply {
                    let _ = reply.send(outcome);
                }
            }
            Err(TryRecvError::Empty) => return false,
            Err(TryRecvError::Disconnected) => return true,
        }
    }
    false
}

/// Refuses before anything is changed.
fn carry_out(engine: &mut Engine, now: Instant, order: &Order) -> Result<(), String> {
    possible(engine, order)?;
    apply(engine, now, order);
    Ok(())
}

fn possible(engine: &Engine, order: &Order) -> Result<(), String> {
    match order {
        Order::Switch { direction, .. } | Order::SetRate { direction, .. } => {
            let path = engine.path(*direction);
            if path.scheme().is_none() {
                return Err(format!("{} has no queue: its frames are forwarded at once", direction.name()));
            }
            if matches!(order, Order::SetRate { .. }) && path.is_traced() {
                return Err(format!("the rate of {} follows a trace", direction.name()));
            }
            Ok(())
        }
        Order::All(orders) => orders.iter().try_for_each(|order| possible(engine, order)),
        Order::SetDelay { .. } => Ok(()),
        Order::Stop => Err("stop cannot be combined with other orders".into()),
    }
}

fn apply(engine: &mut Engine, now: Instant, order: &Order) {
    match order {
        Order::Switch { direction, scheme, label, slot } => {
            let (path, pool) = engine.path_mut(*direction);
            path.switch(now, pool, scheme, label, *slot);
        }
        Order::SetRate { direction, rate } => {
            let (path, pool) = engine.path_mut(*direction);
            path.set_rate(now, pool, *rate);
            engine.update_room();
        }
        Order::SetDelay { direction, delay } => engine.path_mut(*direction).0.set_delay(*delay),
        Order::All(orders) => orders.iter().for_each(|order| apply(engine, now, order)),
        Order::Stop => {}
    }
}

fn sleep(engine: &mut Engine, now: Instant, publish: Instant, commands: &Orders) {
    let until = engine.next_due().map_or(publish, |due| due.min(publish));
    if until <= now + SPIN {
        return;
    }
    let span = (until - now).saturating_sub(SPIN);
    let timeout =
        Timespec { tv_sec: (span.nanos() / 1_000_000_000) as i64, tv_nsec: (span.nanos() % 1_000_000_000) as i64 };
    let descriptors = engine.ports().each_ref().map(|port| port.descriptor());
    let [Some(a), Some(b)] = descriptors else {
        // A port that must be polled: others may have the CPU in between.
        std::thread::yield_now();
        return;
    };
    wait(a, b, commands, &timeout);
}

/// Until a frame or a command arrives.
#[allow(unsafe_code)]
fn wait(a: i32, b: i32, commands: &Orders, timeout: &Timespec) {
    // SAFETY: the ports own the descriptors and outlive this call.
    let (a, b) = unsafe { (BorrowedFd::borrow_raw(a), BorrowedFd::borrow_raw(b)) };
    // Without a bell, A once more.
    let [a, b, bell] = [a, b, commands.bell().unwrap_or(a)].map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let mut descriptors = [a, b, bell];
    // An interruption only means looking sooner.
    let _ = poll(&mut descriptors, Some(timeout));
    if !descriptors[2].revents().is_empty() {
        commands.quiet();
    }
}

/// Shows the state, and remembers the last time, for rates. [`run`] does it at every turn that is due.
#[derive(Default)]
pub struct Publisher {
    due: Instant,
    last: Instant,
    bytes: [(u64, u64); 2],
    sojourn: [SojournTotals; 2],
    /// Since the start.
    all: [Sampled; 2],
    /// Ports that something was advised about.
    advised: [bool; 2],
    links: Links,
    /// What was known of them.
    link: [Option<LinkStatus>; 2],
}

impl Publisher {
    /// Puts the state at `now` on the board; the next is due `every` later.
    pub fn publish(&mut self, engine: &mut Engine, now: Instant, every: Span, board: &Board) {
        self.due = now + every;
        let status = self.state(engine, now);
        // A reader that holds the board costs one publication, not a wait.
        if let Ok(mut place) = board.try_lock() {
            *place = Some(status);
        }
    }

    /// The state at `now`.
    fn state(&mut self, engine: &mut Engine, now: Instant) -> Status {
        for (side, port) in engine.ports().iter_mut().enumerate() {
            if let Some(has_carrier) = port.carrier() {
                self.links.asked(side, port.name(), has_carrier);
            }
        }
        self.link = self.links.status(self.link);
        let ports = [0, 1].map(|side| {
            let port = &mut engine.ports()[side];
            let counters = port.counters();
            let (name, mode) = (port.name().to_owned(), port.mode().to_owned());
            let frames = counters.advice(&name);
            if let Some(advice) = frames.as_ref().filter(|_| !self.advised[side]) {
                tracing::warn!("{advice}");
                self.advised[side] = true;
            }
            let link = self.link[side];
            // That of the link is logged where the kernel's word arrives.
            let advice = [link.and_then(|link| link.advice(&name)), frames].into_iter().flatten().collect::<Vec<_>>();
            let advice = Some(advice.join("; ")).filter(|advice| !advice.is_empty());
            PortStatus { name, mode, link, counters, advice }
        });
        let elapsed = now.since(self.last).seconds();
        let directions = Direction::ALL.map(|direction| {
            let (path, _) = engine.path_mut(direction);
            let index = direction as usize;
            let past =
                Past { bytes: &mut self.bytes[index], totals: &mut self.sojourn[index], all: &mut self.all[index] };
            describe(path, direction, now, elapsed, past)
        });
        self.last = now;
        Status {
            uptime_s: now.seconds(),
            directions,
            ports,
            frames_free: engine.pool.free() as u64,
            frames: engine.pool.frames() as u64,
        }
    }
}

/// What a direction was shown to have done before.
struct Past<'a> {
    bytes: &'a mut (u64, u64),
    totals: &'a mut SojournTotals,
    all: &'a mut Sampled,
}

macro_rules! direction_status {
    ({ $link:ident $($fields:tt)* } $({
        $key:ident $reverse:ident $value:tt state ($state:ident $stream:literal $count:ident) $($words:tt)*
    })*) => {
        DirectionStatus { $($fields)* $($count: $link.$count,)* }
    };
}

fn describe(path: &mut Path, direction: Direction, now: Instant, elapsed: f64, past: Past<'_>) -> DirectionStatus {
    let Past { bytes: last, totals, all } = past;
    let counters = path.counters();
    let bytes = (counters.arrived.bytes, counters.forwarded.bytes);
    let rate = path.rate();
    let per_second = |new: u64, old: u64| if elapsed > 0.0 { (new - old) as f64 * 8.0 / elapsed } else { 0.0 };
    let offered = per_second(bytes.0, last.0);
    let throughput = per_second(bytes.1, last.1);
    *last = bytes;
    let live = path.recorder.take_live();
    totals.add(live);
    all.merge(live);
    let sojourn = LiveSojourn::of(live);
    let mut internals = BTreeMap::new();
    path.internals(now, &mut |name, value| {
        internals.insert(name, value);
    });
    let backlog = path.backlog();
    let frame_counts = path.frame_counts();
    let link = path.link_counts();
    link_effects! { direction_status { link
        direction: direction.name(),
        scheme: path.scheme().map(Config::text),
        label: path.recorder.setting().label.clone(),
        slot: path.recorder.setting().slot,
        rate_bit_s: rate.map(BitRate::bit_s),
        delay_s: path.delay().seconds(),
        late_s: path.late().seconds(),
        blocked_s: path.blocked().seconds(),
        backlog: Count { packets: backlog.packets, bytes: backlog.bytes },
        delayed: frame_counts.delayed,
        ready: frame_counts.ready,
        stale: path.stale(),
        no_room: path.no_room(),
        lateness: LiveSojourn::of(&path.lateness().least),
        lateness_most: LiveSojourn::of(&path.lateness().most),
        dated_late: LiveSojourn::of(&path.lateness().dated),
        passed: path.passed(),
        counts: counters.into(),
        classes: Class::ALL.iter().map(|class| class.name()).zip(path.recorder.totals()).collect(),
        faults: Fault::ALL.iter().map(|fault| fault.name()).zip(path.faults()).collect(),
        sojourn,
        sojourn_all: LiveSojourn::of(all),
        sojourn_totals: totals.clone(),
        load: rate.map_or(0.0, |rate| offered / rate.bit_s().max(1) as f64),
        throughput_bit_s: throughput,
        internals,
    } }
}
