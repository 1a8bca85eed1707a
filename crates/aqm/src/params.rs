//! Parameters with their unit in the type, declared once: the [`params!`](crate::params) macro makes the
//! struct, its defaults, its reading and printing, and its documentation table from one list.

use crate::acts::Acts;
use crate::Queue;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Debug;
use sojourn_units::{BitRate, Bytes, Packets, Probability, Span};

/// Presets named after a kernel of Linux, the newest last.
pub const KERNELS: &[&str] = &["linux-6.1", "linux-6.12", "linux-7.2"];

/// A type that a parameter can have.
pub trait Value: Sized {
    /// The kind in the documentation: `time`, `packets`, `probability`, ...
    const KIND: &'static str;
    /// A flag is written without a value: `ecn`, `noecn`.
    const FLAG: bool = false;

    /// Reads the tc-style text of one value.
    ///
    /// # Errors
    /// Why the text is refused and what is allowed.
    fn read(text: &str) -> Result<Self, String>;

    /// Prints so that [`Self::read`] gives the same value; no blanks.
    fn print(&self) -> String;

    /// What [`Self::read`] accepts.
    fn allowed() -> String;

    /// The words of a choice, each with what it stands for; nothing for other kinds.
    fn words() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// As a limit of a queue; `None` where it is no number of packets or bytes.
    fn as_limit(&self) -> Option<Limit> {
        None
    }
}

macro_rules! unit_value {
    ($type:ty, $kind:literal, $read:expr $(, $limit:expr)?) => {
        impl Value for $type {
            const KIND: &'static str = $kind;
            fn read(text: &str) -> Result<Self, String> {
                let read: fn(&str) -> Result<Self, sojourn_units::UnitError> = $read;
                read(text).map_err(|e| e.to_string())
            }
            fn print(&self) -> String {
                self.to_string().replace(' ', "")
            }
            fn allowed() -> String {
                <$type>::ALLOWED.to_string()
            }
            $(fn as_limit(&self) -> Option<Limit> {
                Some($limit(*self))
            })?
        }
    };
}

unit_value!(Span, "time", str::parse);
unit_value!(Bytes, "bytes", Bytes::from_tc, Limit::Bytes);
unit_value!(Packets, "packets", Packets::from_tc, Limit::Packets);
unit_value!(BitRate, "rate", BitRate::from_tc);
unit_value!(Probability, "probability", str::parse);

impl Value for bool {
    const KIND: &'static str = "flag";
    const FLAG: bool = true;
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "true" | "on" | "yes" => Ok(true),
            "false" | "off" | "no" => Ok(false),
            _ => Err(format!("\"{text}\" is neither true nor false")),
        }
    }
    fn print(&self) -> String {
        self.to_string()
    }
    fn allowed() -> String {
        "written alone to switch on, with \"no\" before it to switch off".to_string()
    }
}

macro_rules! number_value {
    ($type:ty, $kind:literal, $allowed:literal, $ok:expr) => {
        impl Value for $type {
            const KIND: &'static str = $kind;
            fn read(text: &str) -> Result<Self, String> {
                let ok: fn(&$type) -> bool = $ok;
                text.parse::<$type>()
                    .ok()
                    .filter(ok)
                    .ok_or_else(|| format!("\"{text}\" is refused; allowed: {}", $allowed))
            }
            fn print(&self) -> String {
                self.to_string()
            }
            fn allowed() -> String {
                $allowed.to_string()
            }
        }
    };
}

number_value!(u32, "count", "a whole number, 0 or more", |_| true);
number_value!(f64, "number", "a finite number, 0 or more", |v| v.is_finite() && *v >= 0.0);

impl<T: Value> Value for Option<T> {
    const KIND: &'static str = T::KIND;
    fn read(text: &str) -> Result<Self, String> {
        if text == "none" {
            Ok(None)
        } else {
            T::read(text).map(Some)
        }
    }
    fn print(&self) -> String {
        self.as_ref().map_or_else(|| "none".to_string(), T::print)
    }
    fn allowed() -> String {
        format!("{}, or \"none\"", T::allowed())
    }
}

/// An enum parameter: a fixed list of words. Made by [`choice!`](crate::choice).
pub trait Choice: Sized + Copy + PartialEq + 'static {
    /// The words and what they stand for.
    const WORDS: &'static [(&'static str, Self)];
    /// The description of each word, in the same order.
    const DOCS: &'static [&'static str];
}

impl<T: Choice> Value for T {
    const KIND: &'static str = "choice";
    fn read(text: &str) -> Result<Self, String> {
        let found = T::WORDS.iter().find(|(word, _)| *word == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            let words: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
            let hint = crate::suggest::did_you_mean(text, &words);
            format!("\"{text}\" is unknown{hint}; allowed: {}", Self::allowed())
        })
    }
    fn print(&self) -> String {
        let found = T::WORDS.iter().find(|(_, choice)| choice == self);
        found.map_or_else(String::new, |(word, _)| (*word).to_string())
    }
    fn allowed() -> String {
        let mut text = String::new();
        for (word, _) in T::WORDS {
            text.push_str(if text.is_empty() { "" } else { ", " });
            text.push_str(word);
        }
        text
    }
    fn words() -> Vec<(&'static str, &'static str)> {
        T::WORDS.iter().map(|(word, _)| *word).zip(T::DOCS.iter().copied()).collect()
    }
}

/// The size at which arrivals are dropped: in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Waiting packets.
    Packets(Packets),
    /// Waiting bytes on the wire.
    Bytes(Bytes),
}

impl Limit {
    /// `n` packets.
    #[must_use]
    pub const fn packets(n: u64) -> Self {
        Self::Packets(Packets::new(n))
    }

    /// True when `queue` has no room for `bytes` more on the wire.
    #[must_use]
    pub fn is_full(self, queue: &Queue, bytes: u32) -> bool {
        match self {
            Self::Packets(limit) => queue.len() as u64 >= limit.get(),
            Self::Bytes(limit) => queue.bytes() + u64::from(bytes) > limit.get(),
        }
    }

    /// True when more waits in `queue`.
    #[must_use]
    pub fn is_exceeded(self, queue: &Queue) -> bool {
        match self {
            Self::Packets(limit) => queue.len() as u64 > limit.get(),
            Self::Bytes(limit) => queue.bytes() > limit.get(),
        }
    }

    /// The limit in packets of `mean` bytes.
    #[must_use]
    pub fn in_packets(self, mean: Bytes) -> f64 {
        match self {
            Self::Packets(limit) => limit.get() as f64,
            Self::Bytes(limit) => limit.get() as f64 / mean.get().max(1) as f64,
        }
    }
}

impl Value for Limit {
    const KIND: &'static str = "packets or bytes";
    fn read(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(packets) = Packets::from_tc(text) {
            return Ok(Self::Packets(packets));
        }
        text.parse::<Bytes>()
            .map(Self::Bytes)
            .map_err(|_| format!("\"{text}\" is refused; allowed: {}", Self::allowed()))
    }
    fn print(&self) -> String {
        match self {
            Self::Packets(packets) => packets.print(),
            Self::Bytes(bytes) => bytes.print(),
        }
    }
    fn allowed() -> String {
        "packets, as in \"1000p\" (a bare number is packets), or bytes, as in \"150kB\"".to_string()
    }
    fn as_limit(&self) -> Option<Limit> {
        Some(*self)
    }
}

/// One parameter as tables and help show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Param {
    /// The name as tc and the RFC write it.
    pub name: &'static str,
    /// [`Value::KIND`].
    pub kind: &'static str,
    /// Written without a value.
    pub flag: bool,
    /// The present value.
    pub value: String,
    /// What it does, and the source of its default.
    pub doc: &'static str,
    /// What is accepted.
    pub allowed: String,
    /// The words of a choice, each with what it stands for.
    pub words: Vec<(&'static str, &'static str)>,
    /// Without which it has no effect; all must hold. Empty where it always has one.
    pub acts: &'static [Acts],
}

/// A parameter struct made by [`params!`](crate::params).
pub trait Parameters: Clone + Debug + Default + PartialEq + Send + Sync + 'static {
    /// Sets the parameter `name` from text; `None` when there is no such parameter.
    ///
    /// # Errors
    /// Why the value is refused and what is allowed.
    fn set(&mut self, name: &str, text: &str) -> Option<Result<(), String>>;

    /// Every parameter with its present value, in the order of declaration.
    fn list(&self) -> Vec<Param>;

    /// The parameter `limit`; `None` where there is none.
    fn limit(&self) -> Option<Limit>;
}

/// Declares an algorithm's parameters: `name: Type = default,` with a doc comment each. `=> [...]` behind the default says
/// without what a parameter has no effect ([`Acts`](crate::acts::Acts)).
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $type:ty = $default:expr $(=> [$($acts:expr),+])? ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )+ }
            }
        }

        impl $crate::Parameters for $name {
            fn set(&mut self, name: &str, text: &str) -> Option<Result<(), alloc::string::String>> {
                match name {
                    $( stringify!($field) => Some(
                        <$type as $crate::Value>::read(text).map(|value| self.$field = value)
                    ), )+
                    _ => None,
                }
            }

            fn list(&self) -> alloc::vec::Vec<$crate::Param> {
                alloc::vec![ $( $crate::Param {
                    name: stringify!($field),
                    kind: <$type as $crate::Value>::KIND,
                    flag: <$type as $crate::Value>::FLAG,
                    value: $crate::Value::print(&self.$field),
                    doc: concat!($($doc,)+).trim_ascii_start(),
                    allowed: <$type as $crate::Value>::allowed(),
                    words: <$type as $crate::Value>::words(),
                    acts: &[$($($acts),+)?],
                } ),+ ]
            }

            fn limit(&self) -> Option<$crate::Limit> {
                $( if stringify!($field) == "limit" {
                    return $crate::Value::as_limit(&self.$field);
                } )+
                None
            }
        }
    };
}

/// Declares an enum parameter: `Variant = "word",` with a doc comment each.
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[doc = $doc:literal])+ $variant:ident = $word:literal ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[doc = $doc])+ $variant, )+
        }

        impl $crate::Choice for $name {
            const WORDS: &'static [(&'static str, Self)] = &[ $( ($word, Self::$variant) ),+ ];
            const DOCS: &'static [&'static str] = &[ $( concat!($($doc,)+).trim_ascii_start() ),+ ];
        }
    };
}
