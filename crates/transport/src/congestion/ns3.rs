//! What ns-3 3.37 makes of congestion control, for comparison with it alone.

pub mod cubic;
pub mod reno;
mod window;
