//! Values of parameters: the kinds of the header.

use crate::abi;
use sojourn_aqm::{Param, Value};
use sojourn_units::{BitRate, Bytes, Packets, Probability, Span};

/// Declares the kinds of parameters once: number in the header, type, and how a value is handed over.
macro_rules! kinds {
    ($( $number:literal $kind:ident($type:ty) $member:ident: $give:expr ),+ $(,)?) => {
        /// A value of one of the header's kinds.
        #[derive(Clone, Debug, PartialEq)]
        pub enum ParamValue { $( #[allow(missing_docs)] $kind($type) ),+ }

        impl ParamValue {
            /// The default of a kind from its text.
            pub fn read(number: i32, text: &str) -> Result<Self, String> {
                match number {
                    $( $number => <$type as Value>::read(text).map(Self::$kind), )+
                    _ => Err(format!("{number} is no kind of parameter; allowed: 1 to 8")),
                }
            }

            pub fn set(&mut self, text: &str) -> Result<(), String> {
                match self {
                    $( Self::$kind(value) => *value = <$type as Value>::read(text)?, )+
                }
                Ok(())
            }

            pub fn print(&self) -> String {
                match self { $( Self::$kind(value) => value.print(), )+ }
            }

            pub fn param(&self, name: &'static str, doc: &'static str) -> Param {
                match self {
                    $( Self::$kind(value) => Param {
                        name,
                        kind: <$type as Value>::KIND,
                        flag: <$type as Value>::FLAG,
                        value: value.print(),
                        doc,
                        allowed: <$type as Value>::allowed(),
                        words: Vec::new(),
                        acts: &[],
                    }, )+
                }
            }

            pub fn give(&self) -> abi::Value {
                match self {
                    $( Self::$kind(value) => {
                        let give: fn(&$type) -> _ = $give;
                        abi::Value { $member: give(value) }
                    } )+
                }
            }
        }
    };
}

/// A whole number as the header has it.
fn whole(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

kinds! {
    1 Time(Span) whole: |v| whole(v.nanos()),
    2 Bytes(Bytes) whole: |v| whole(v.get()),
    3 Packets(Packets) whole: |v| whole(v.get()),
    4 Rate(BitRate) whole: |v| whole(v.bit_s()),
    5 Probability(Probability) real: |v| v.get(),
    6 Number(f64) real: |v| *v,
    7 Count(u32) whole: |v| i64::from(*v),
    8 Flag(bool) whole: |v| i64::from(*v),
}
