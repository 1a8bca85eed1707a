//! Parameters that are declared at run time.

use crate::abi;
use crate::definition::Definition;
use sojourn_aqm::{Limit, Param, Parameters, Value};
use sojourn_units::{BitRate, Bytes, Packets, Probability, Span};

/// Declares the kinds of parameters once: number in the header, type, and how a value is handed over.
macro_rules! kinds {
    ($( $number:literal $kind:ident($type:ty) $member:ident: $give:expr ),+ $(,)?) => {
        /// A value of one of the header's kinds.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Held { $( #[allow(missing_docs)] $kind($type) ),+ }

        impl Held {
            /// The default of a kind from its text.
            pub fn read(number: i32, text: &str) -> Result<Self, String> {
                match number {
                    $( $number => <$type as Value>::read(text).map(Self::$kind), )+
                    _ => Err(format!("{number} is no kind of parameter; allowed: 1 to 8")),
                }
            }

            fn set(&mut self, text: &str) -> Result<(), String> {
                match self {
                    $( Self::$kind(value) => *value = <$type as Value>::read(text)?, )+
                }
                Ok(())
            }

            pub fn print(&self) -> String {
                match self { $( Self::$kind(value) => value.print(), )+ }
            }

            fn param(&self, name: &'static str, doc: &'static str) -> Param {
                match self {
                    $( Self::$kind(value) => Param {
                        name,
                        kind: <$type as Value>::KIND,
                        flag: <$type as Value>::FLAG,
                        value: value.print(),
                        doc,
                        allowed: <$type as Value>::allowed(),
                        words: Vec::new(),
                    }, )+
                }
            }

            fn give(&self) -> abi::Value {
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

/// The values of an algorithm's parameters, and `limit`, which the host keeps.
#[derive(Clone, Debug)]
pub struct Params {
    /// None has no parameters and accepts every packet: what `Default` gives.
    pub(crate) definition: Option<&'static Definition>,
    pub(crate) limit: Limit,
    pub(crate) values: Vec<Held>,
}

impl Default for Params {
    fn default() -> Self {
        Self { definition: None, limit: Limit::packets(1000), values: Vec::new() }
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        let address = |params: &Self| params.definition.map(std::ptr::from_ref);
        address(self) == address(other) && self.limit == other.limit && self.values == other.values
    }
}

impl Params {
    /// As the functions of the table get them.
    pub(crate) fn given(&self) -> Vec<abi::Value> {
        self.values.iter().map(Held::give).collect()
    }

    pub(crate) fn time(&self, index: usize) -> Option<Span> {
        match self.values.get(index) {
            Some(Held::Time(span)) => Some(*span),
            _ => None,
        }
    }

    fn declared(&self) -> &'static [crate::definition::Declared] {
        self.definition.map_or(&[], |definition| &definition.parameters)
    }
}

impl Parameters for Params {
    fn set(&mut self, name: &str, text: &str) -> Option<Result<(), String>> {
        if name == "limit" {
            return Some(Limit::read(text).map(|limit| self.limit = limit));
        }
        let index = self.declared().iter().position(|parameter| parameter.name == name)?;
        self.values.get_mut(index).map(|value| value.set(text))
    }

    fn list(&self) -> Vec<Param> {
        let limit = Param {
            name: "limit",
            kind: <Limit as Value>::KIND,
            flag: false,
            value: self.limit.print(),
            doc: "Waiting packets or bytes at which an arrival is dropped, without asking the algorithm.",
            allowed: <Limit as Value>::allowed(),
            words: Vec::new(),
        };
        let own = self.declared().iter().zip(&self.values).map(|(one, value)| value.param(one.name, one.doc));
        std::iter::once(limit).chain(own).collect()
    }
}
