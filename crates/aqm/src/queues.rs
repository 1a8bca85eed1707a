//! Where packets wait: one queue, many in a pool, and fair queueing over many.

pub mod fair;
pub(crate) mod fattest;
pub(crate) mod flow_table;
pub(crate) mod pool;
mod queue;

pub use queue::Queue;
