//! What queueing theory says of a queue that drops an arrival with a probability d(n).
//!
//! Time is in mean service times and n counts the packet in service too (`count = system`), unless a law is read from a
//! scheme whose `count` is `queue`. Packets arrive alone or by a Markovian arrival process, are served one at a time in
//! the order of arrival, and an arrival that finds n packets is lost with probability d(n).
//!
//! * [`birth_death`]: Poisson arrivals, exponential service (Theorem 1 of the governing text).
//! * [`general`]: Poisson arrivals, any service time given by its counts of arrivals.
//! * [`phases`] and [`quasi`]: Markovian arrivals and phase-type service; [`runs`]: how losses cluster;
//!   [`transient`]: what follows a change of load.
//!
//! Governing text: Barczyk and Chydzinski, "AQM based on the queue length: A real-network study", PLoS ONE 17(2)
//! e0263407 (2022), section 2.

pub mod birth_death;
mod decide;
mod document;
mod error;
pub mod general;
mod law;
mod moments;
pub mod phases;
pub mod quasi;
pub mod runs;
pub mod transient;

pub use decide::{admission, Admission};
pub use document::answer;
pub use error::Error;
pub use law::Law;
pub use moments::{Delay, Steady};
