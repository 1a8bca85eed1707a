//! What the simulator and the device both report, computed as it happens.
//!
//! Measures keep no trace: a level that changes over time costs one addition a change, a sojourn time
//! one histogram bucket and two sums, a drop one bit. After the high-water mark nothing allocates.

pub mod emodel;
mod events;
mod fairness;
mod histogram;
mod level;
mod losses;
mod mode;
mod moments;
pub mod trace;
pub mod window;

pub use events::{LossEvents, Synchronisation};
pub use fairness::jain;
pub use histogram::{Histogram, Sampled};
pub use level::Level;
pub use losses::{burst_ratio, LossRuns};
pub use mode::Mode;
pub use moments::Moments;
pub use window::{Window, WindowRow};
