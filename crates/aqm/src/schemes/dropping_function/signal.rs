//! What a formula can depend on.

use crate::formula::Unit;

macro_rules! signals {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $name:literal, $field:ident, $unit:expr; )+) => {
        /// What a formula can depend on, as an arrival finds it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Signal {
            $( $(#[doc = $doc])+ $variant, )+
        }

        /// The value of each [`Signal`], in packets, bytes, seconds and bytes/s.
        #[derive(Clone, Copy, Debug, Default)]
        pub struct Signals {
            $( $(#[doc = $doc])+ pub $field: f64, )+
        }

        impl Signals {
            /// The values in the order of [`Signal::ALL`].
            #[inline]
            pub(super) fn values(&self) -> [f64; NAMES.len()] {
                [ $( self.$field ),+ ]
            }
        }

        /// Names and units, for reading a formula.
        pub(super) const NAMES: &[(&str, Unit)] = &[ $( ($name, $unit) ),+ ];

        impl Signal {
            /// Every signal with its name in formulas and its description.
            pub const ALL: &'static [(&'static str, Self, &'static str)] =
                &[ $( ($name, Self::$variant, concat!($($doc,)+)) ),+ ];
        }
    };
}

signals! {
    /// packets that the arrival finds, as `count` says
    N = "n", n, Unit::NUMBER;
    /// bytes that wait
    Bytes = "bytes", bytes, Unit::DATA;
    /// size of the arrival
    Size = "size", size, Unit::DATA;
    /// how long the packet that left last had waited; 0 since the link has found the queue empty
    Sojourn = "sojourn", sojourn, Unit::TIME;
    /// how long the packet at the head has waited so far; 0 where nothing waits
    Head = "head", head, Unit::TIME;
    /// bytes that wait divided by the rate: the time that an arrival will wait at this rate
    Delay = "delay", delay, Unit::TIME;
    /// present service rate
    Rate = "rate", rate, Unit::RATE;
    /// mean of n over time, which forgets with the time constant `window`
    Average = "average", average, Unit::NUMBER;
    /// share of the time in which a packet was in service, a mean of the same kind
    Utilisation = "utilisation", utilisation, Unit::NUMBER;
}

impl Signals {
    /// Of a queue length alone.
    #[must_use]
    pub fn of_length(n: f64) -> Self {
        Self { n, ..Self::default() }
    }
}
