//! What a parameter or a key needs to have an effect, as it declares it.

/// What a parameter needs to have an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acts {
    /// Another parameter with one of these values; [`ANY`] is each but `none`.
    With(&'static str, &'static [&'static str]),
    /// Another parameter with none of these values.
    Without(&'static str, &'static [&'static str]),
    /// One of several other parameters with any value but `none`.
    WithOneOf(&'static [&'static str]),
    /// Packets of this kind.
    On(Kind),
    /// More than one queue.
    InFairQueues,
    /// Bytes that the link does not count itself.
    OnBareLinks,
    /// A device: it has no effect in a simulation, for this reason.
    OnDevices(&'static str),
    /// It has none in any run, for this reason.
    Never(&'static str),
}

/// Every value of another parameter but `none`.
pub const ANY: &[&str] = &["*"];
/// A flag is on.
pub const ON: &[&str] = &["true"];
/// An optional parameter has no value.
pub const NONE: &[&str] = &["none"];

/// Kinds of packets that a parameter may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ECT(0) or ECT(1).
    EcnCapable,
    /// ECT(1) or CE, or every ECN-capable packet where `any_ect` is on.
    L4s,
    /// Acknowledgements of TCP without data.
    Acks,
}

impl Kind {
    pub(crate) const fn none(self) -> &'static str {
        match self {
            Self::EcnCapable => "no flow is ECN-capable",
            Self::L4s => "no packet is ECT(1) or CE",
            Self::Acks => "no acknowledgements pass the queue",
        }
    }
}

/// Whether a value is one of those that an [`Acts`] names.
#[must_use]
pub fn is_met(value: &str, values: &[&str]) -> bool {
    if values == ANY {
        value != "none"
    } else {
        values.contains(&value)
    }
}
