//! The device's library as its program uses it, in one test program: each program more is linked with all that the device needs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod back_pressure;
mod connections;
mod dates;
mod doctor;
mod files;
mod frames;
mod fuzzed;
mod loopback;
mod orders;
mod settings;
mod simulator;
mod store;
mod switching;
