//! The algorithms: a file each, which [`registry`](crate::registry) names.

pub mod ared;
pub mod avq;
pub mod black;
pub mod blue;
pub mod cake;
pub mod care;
pub mod choke;
pub mod cobalt;
pub mod codel;
pub mod daqm;
pub mod dropping_function;
pub mod drr;
pub mod dualpi2;
pub mod fred;
pub mod green;
pub mod nlred;
pub mod pfifo;
pub mod pi;
pub mod pie;
pub mod red;
pub mod rem;
pub mod sfb;
pub mod sfq;
pub mod shred;
pub mod sred;
pub mod threshold;
