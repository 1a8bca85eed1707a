//! Traffic: what a flow's application hands to its transport, and when.
//!
//! A kind of traffic is a file of this folder and a line of `traffic_kinds!`. The file has the keys of its table in scenarios,
//! their checks, and its [`Process`]: a pure state machine that asks a random stream and says how long after the previous
//! emission the next one comes. `kind` in scenarios, their schema, errors, lists, the reference and the functions of Python follow.
//! Bulk data and transfers have no process: the transport always has data, or gets it once. Applications over TCP have a
//! [`Client`] in its place, and those over UDP a [`Listener`] beside it.
//!
//! Sizes are application payload: the transport's header and the link's overhead come on top.

mod amount;
pub mod application;
pub mod bulk;
pub mod cbr;
mod check;
mod client;
mod distribution;
mod emission;
pub mod gaming;
pub mod on_off;
pub mod pareto;
pub mod poisson;
mod renewal;
pub mod replay;
pub mod request_response;
mod source;
pub mod switched_poisson;
#[cfg(test)]
mod tests;
pub mod transfer;
pub mod vbr;
pub mod video;
pub mod voip;
pub mod web;
pub mod weibull;

pub use amount::{Amount, ExponentialTable, ScaledTable};
pub use check::Check;
pub use distribution::{Distribution, Measure};
pub use emission::Emission;
pub use source::Source;

use crate::application::{Client, Listener};
use sojourn_aqm::Random;
use sojourn_document::tagged;
use sojourn_document::Error;
use sojourn_units::{Bytes, Span};
use std::fmt::Debug;

/// What a flow sends.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Data without end, as fast as the transport allows.
    Bulk {
        /// So long after the connection has begun to open.
        after: Span,
        /// Until then so much, at once.
        first: Bytes,
        /// Time from one self probe to the next; zero for none.
        self_probes: Span,
    },
    /// So much payload once, handed over at the start.
    Transfer {
        /// Payload.
        size: Bytes,
    },
    /// Packets of a generator, here at its start.
    Packets(Source),
    /// Packets of a generator, and what their receiver makes of them.
    Heard(Source, Listener),
    /// What a client asks of a server, here at its start; it has as many connections as it says, each a flow.
    Client(Box<dyn Client>),
}

impl Traffic {
    fn packets(packet_size: Distribution<Bytes>, process: impl Process + 'static) -> Self {
        Self::Packets(Source::new(packet_size, Box::new(process)))
    }

    /// Flows that one user of it is.
    #[must_use]
    pub fn connections(&self) -> u32 {
        match self {
            Self::Client(client) => client.connections().max(1),
            _ => 1,
        }
    }
}

/// When packets come: what a generator remembers from one to the next.
pub trait Process: CloneProcess + Debug + Send + Sync {
    /// Time from one packet to the next, which has this many bytes. All random numbers come from `random`.
    fn gap(&mut self, bytes: u32, random: &mut dyn Random) -> Span;

    /// Packets a second at its busiest (an ON period, the faster phase), on average, with packets of this mean size. Scenarios
    /// that make more than `PACKET_RATE` are refused.
    fn packets_per_second(&self, bytes: f64) -> f64;
}

/// A copy behind a pointer, which every process has that can be copied.
pub trait CloneProcess {
    /// A copy with its state.
    fn clone_box(&self) -> Box<dyn Process>;
}

impl<T: Process + Clone + 'static> CloneProcess for T {
    fn clone_box(&self) -> Box<dyn Process> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Process> {
    fn clone(&self) -> Self {
        // Not of the box, which is what a call on itself would copy.
        (**self).clone_box()
    }
}

/// A kind of traffic: the table that scenarios have, and what it comes to.
pub trait Kind {
    /// In headings.
    const TITLE: &'static str;
    /// Keys for the reference, which a test reads and runs.
    const EXAMPLE: &'static str;
    /// It sends at a rate of its own, so that UDP carries it unless asked otherwise.
    const OWN_RATE: bool = true;
    /// Only UDP carries it.
    const UDP_ONLY: bool = false;

    /// Checks the table.
    ///
    /// # Errors
    /// The key that is wrong, and what is allowed.
    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error>;
}

/// A line of the registry.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// `kind` in scenarios.
    pub name: &'static str,
    /// [`Kind::TITLE`].
    pub title: &'static str,
    /// [`Kind::EXAMPLE`].
    pub example: &'static str,
    /// [`Kind::OWN_RATE`].
    pub own_rate: bool,
    /// [`Kind::UDP_ONLY`].
    pub udp_only: bool,
}

macro_rules! traffic_kinds {
    ($( $module:ident::$type:ident ),+ $(,)?) => {
        tagged! {
            /// What a flow sends. Sizes and rates are those of the application's payload; the headers of the transport and
            /// the overhead of links come on top, as with ns-3's applications.
            pub enum TrafficTable (default "", "a table, as in {kind = \"cbr\", rate = \"1.5 Mbit/s\", packet_size = \"1400 B\"}") {
                $( $type($module::$type) = stringify!($module), )+
            }
        }

        /// Every kind of traffic.
        pub static KINDS: &[About] = &[ $( About {
            name: stringify!($module),
            title: <$module::$type as Kind>::TITLE,
            example: <$module::$type as Kind>::EXAMPLE,
            own_rate: <$module::$type as Kind>::OWN_RATE,
            udp_only: <$module::$type as Kind>::UDP_ONLY,
        } ),+ ];

        impl TrafficTable {
            /// It sends at a rate of its own, whatever the network does: UDP carries it unless asked otherwise.
            #[must_use]
            pub fn has_own_rate(&self) -> bool {
                match self {
                    $( Self::$type(_) => <$module::$type as Kind>::OWN_RATE, )+
                }
            }

            /// Checks the table, and that UDP can carry what it is.
            ///
            /// # Errors
            /// What is wrong with a key, and what is allowed.
            pub fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
                match self {
                    $( Self::$type(table) => {
                        if check.udp && !<$module::$type as Kind>::OWN_RATE {
                            return Err(check.refuse("kind", without_rate()));
                        }
                        if !check.udp && <$module::$type as Kind>::UDP_ONLY {
                            return Err(check.refuse("kind", ONLY_UDP));
                        }
                        table.resolve(check)
                    } )+
                }
            }
        }
    };
}

traffic_kinds! {
    bulk::Bulk,
    transfer::Transfer,
    cbr::Cbr,
    vbr::Vbr,
    on_off::OnOff,
    poisson::Poisson,
    switched_poisson::SwitchedPoisson,
    pareto::Pareto,
    weibull::Weibull,
    web::Web,
    video::Video,
    voip::Voip,
    gaming::Gaming,
    request_response::RequestResponse,
    replay::Replay,
}

const ONLY_UDP: &str = "is heard as its packets arrive, which only udp lets it; allowed: transport kind = \"udp\"";

impl Default for TrafficTable {
    fn default() -> Self {
        Self::Bulk(bulk::Bulk::default())
    }
}

fn without_rate() -> String {
    let kinds: Vec<&str> = KINDS.iter().filter(|kind| kind.own_rate).map(|kind| kind.name).collect();
    let kinds = kinds.join(", ");
    format!("sends at the rate of its transport, and udp sets none; allowed: {kinds}, or transport kind = \"tcp\"")
}
