//! `sojournd`: the algorithms of the library on real packets.
//!
//! Frames from port A wait in a discipline and leave port B at the shaped rate; the return path is forwarded, queued as
//! well where asked. [`port`] has the back ends behind one burst interface, [`frame`] reads and marks headers, [`path`] is
//! one direction, [`engine`] turns both.

pub mod api;
pub mod client;
pub mod clock;
pub mod config;
pub mod control;
pub mod daemon;
pub mod delay;
pub mod doctor;
pub mod engine;
mod ethtool;
pub mod frame;
pub mod hardening;
mod lines;
pub mod links;
mod memory;
pub mod offline;
pub mod orders;
pub mod path;
mod plugins;
pub mod pool;
pub mod port;
pub mod priority;
pub mod record;
pub mod run;
pub mod schedule;
pub mod service;
pub mod status;
pub mod store;
mod turns;
