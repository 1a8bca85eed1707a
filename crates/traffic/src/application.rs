//! Applications: what a client asks of a server over TCP, what a receiver hears over UDP, and what either makes of it.
//!
//! A [`Client`] is a pure state machine above a few connections. It is told the time and that an answer is complete, and orders
//! requests and the time at which it is woken. The engine (`simulation/clients.rs`) opens connections, carries requests and
//! answers, and repeats what is lost. A [`Listener`] hears the datagrams of a flow at its receiver.
//! Bound: a client has one request on each connection, and orders at most one a connection when it is told something.

pub mod call;
mod measured;

pub use measured::{Calls, Measured, Times, Together, Videos, Watched};

use call::Call;
use sojourn_aqm::Random;
use sojourn_units::{Instant, Span};
use std::fmt::Debug;

/// A request on a connection that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Get {
    /// Which of the client's connections.
    pub connection: u32,
    /// Payload of the request, one packet.
    pub request: u32,
    /// Payload of the answer.
    pub answer: u64,
    /// The connection is opened anew for it; the first on a connection opens it in any case.
    pub anew: bool,
}

/// What a client wants.
#[derive(Clone, Debug)]
pub struct Orders {
    /// At once.
    pub gets: Vec<Get>,
    /// When it is to be woken; what it said last holds.
    pub wake_at: Instant,
}

impl Default for Orders {
    fn default() -> Self {
        Self { gets: Vec::new(), wake_at: Instant::NEVER }
    }
}

/// The client of an application.
pub trait Client: CloneClient + Debug + Send + Sync {
    /// Connections that it uses, one or more.
    fn connections(&self) -> u32;

    /// It begins, or the time has come at which it wanted to be woken.
    fn on_time(&mut self, now: Instant, random: &mut dyn Random, orders: &mut Orders);

    /// The answer on a connection is complete.
    fn on_answer(&mut self, now: Instant, connection: u32, random: &mut dyn Random, orders: &mut Orders);

    /// The measurement begins.
    fn restart(&mut self, now: Instant);

    /// What has been measured.
    fn measured(&self, now: Instant) -> Measured;
}

/// A copy behind a pointer, which every client has that can be copied.
pub trait CloneClient {
    /// A copy with its state.
    fn clone_box(&self) -> Box<dyn Client>;
}

impl<T: Client + Clone + 'static> CloneClient for T {
    fn clone_box(&self) -> Box<dyn Client> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Client> {
    fn clone(&self) -> Self {
        // Not of the box, which is what a call on itself would copy.
        (**self).clone_box()
    }
}

/// The receiver of an application's datagrams.
#[derive(Clone, Debug)]
pub enum Listener {
    /// Plays speech.
    Call(Box<Call>),
    /// Counts late updates of a game.
    Game(Late),
}

/// Datagrams that took longer than some times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// That arrived.
    pub heard: u64,
    /// Of these, more than 50 ms after they were sent.
    pub above_50_ms: u64,
    /// And more than 100 ms.
    pub above_100_ms: u64,
}

impl Late {
    fn merge(&mut self, other: &Self) {
        self.heard += other.heard;
        self.above_50_ms += other.above_50_ms;
        self.above_100_ms += other.above_100_ms;
    }

    fn since(&self, earlier: &Self) -> Self {
        Self {
            heard: self.heard - earlier.heard,
            above_50_ms: self.above_50_ms - earlier.above_50_ms,
            above_100_ms: self.above_100_ms - earlier.above_100_ms,
        }
    }
}

impl Listener {
    /// Datagram number `ordinal` of the flow, sent at `sent`, is here.
    pub fn hear(&mut self, now: Instant, ordinal: u32, sent: Instant) {
        match self {
            Self::Call(call) => call.hear(now, ordinal, sent),
            Self::Game(late) => {
                let delay = now.since(sent);
                late.heard += 1;
                late.above_50_ms += u64::from(delay > Span::from_millis(50));
                late.above_100_ms += u64::from(delay > Span::from_millis(100));
            }
        }
    }

    /// The measurement begins.
    pub fn restart(&mut self) {
        match self {
            Self::Call(call) => call.restart(),
            Self::Game(late) => *late = Late::default(),
        }
    }

    /// What has been measured.
    #[must_use]
    pub fn measured(&self) -> Measured {
        match self {
            Self::Call(call) => Measured::Call(call.quality()),
            Self::Game(late) => Measured::Game(*late),
        }
    }
}
