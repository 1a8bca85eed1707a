//! Queue management algorithms from outside: the C interface `sojourn_aqm.h`, version 1, from both sides.
//!
//! * A host calls [`add_library`] and then names the algorithm like a built-in one: `my_pie target 10ms`, `fq:my_pie`.
//! * An algorithm in Rust implements [`guest::Plugin`] and ends with [`export!`]; its crate is a `cdylib`.
//!
//! A table of function pointers becomes an [`Aqm`](sojourn_aqm::Aqm) of the registry. The host owns queue and state, draws
//! random numbers, and keeps `limit`. Foreign code is trusted as any code of the process: a wrong answer is contained
//! ([`Discipline::fault`](sojourn_aqm::Discipline::fault)), a wild pointer is not.

pub mod abi;
mod aqm;
pub mod confine;
pub mod contract;
mod definition;
pub mod guest;
mod host;
mod library;
mod params;
mod values;

pub use aqm::Plugged;
pub use definition::Definition;
pub use host::host_functions;
pub use library::{add_library, add_table};
pub use params::Params;
