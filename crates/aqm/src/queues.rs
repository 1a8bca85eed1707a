//! Many queues: in a pool of packets, found by flow or by length, and served fairly.

pub mod fair;
pub(crate) mod fattest;
pub(crate) mod flow_table;
pub(crate) mod pool;
