//! Tests that run whole scenarios. They are one program, so that they are linked once and run side by side.

mod common;

mod applications;
mod bbr;
mod cake;
mod cohorts;
mod connection;
mod csma;
mod determinism;
mod fuzzed;
mod l4s;
mod laws;
mod ledbat;
mod links;
mod metrics;
mod phases;
mod pings;
mod prague;
mod probes;
mod queueing_theory;
mod responses;
mod signals;
mod state;
mod switch;
mod traces;
mod windows;
mod wlan;
