//! Random amounts in a document.

use schemars::JsonSchema;
use serde::de::{self, value::MapAccessDeserializer, Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use sojourn_document::{Quantity, Unit};
use std::fmt;
use std::marker::PhantomData;

/// A time or a size that is either constant or drawn at random each time it is needed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(bound = "T: Unit", rename_all = "snake_case")]
#[schemars(bound = "T: Unit")]
pub enum Amount<T: Unit> {
    /// Uniformly distributed between two values.
    Uniform([Quantity<T>; 2]),
    /// Exponentially distributed.
    Exponential(ExponentialTable<T>),
    /// Pareto distributed.
    Pareto(ScaledTable<T>),
    /// Weibull distributed.
    Weibull(ScaledTable<T>),
    /// Always this value.
    #[serde(untagged)]
    Constant(Quantity<T>),
}

/// An exponential distribution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(bound = "T: Unit", deny_unknown_fields, expecting = "a table")]
#[schemars(bound = "T: Unit")]
pub struct ExponentialTable<T: Unit> {
    /// Mean of the distribution without `max`.
    pub mean: Quantity<T>,
    /// Largest value: the distribution is conditioned on not exceeding it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Quantity<T>>,
}

/// A distribution with a scale and a shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(bound = "T: Unit", deny_unknown_fields, expecting = "a table")]
#[schemars(bound = "T: Unit")]
pub struct ScaledTable<T: Unit> {
    /// k of Pareto, which is its least value, or b of Weibull.
    pub scale: Quantity<T>,
    /// alpha of Pareto or c of Weibull.
    pub shape: f64,
    /// Largest value: the distribution is conditioned on not exceeding it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Quantity<T>>,
}

impl<'de, T: Unit> Deserialize<'de> for Amount<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(bound = "T: Unit", deny_unknown_fields)]
        struct Keys<T: Unit> {
            constant: Option<Quantity<T>>,
            uniform: Option<[Quantity<T>; 2]>,
            exponential: Option<ExponentialTable<T>>,
            pareto: Option<ScaledTable<T>>,
            weibull: Option<ScaledTable<T>>,
        }
        struct Form<T>(PhantomData<T>);
        impl<'de, T: Unit> Visitor<'de> for Form<T> {
            type Value = Amount<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}, or one of {{uniform = [low, high]}}, {{exponential = {{mean, max}}}}, {{pareto = {{scale, shape, max}}}}, {{weibull = {{scale, shape, max}}}}", T::ALLOWED)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Amount<T>, E> {
                text.parse().map(|value| Amount::Constant(Quantity(value))).map_err(E::custom)
            }
            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Amount<T>, E> {
                Err(E::custom(format_args!("{n} has no unit; allowed: {}", T::ALLOWED)))
            }
            fn visit_f64<E: de::Error>(self, x: f64) -> Result<Amount<T>, E> {
                Err(E::custom(format_args!("{x} has no unit; allowed: {}", T::ALLOWED)))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Amount<T>, A::Error> {
                let keys = Keys::<T>::deserialize(MapAccessDeserializer::new(map))?;
                let given = [
                    keys.constant.map(Amount::Constant),
                    keys.uniform.map(Amount::Uniform),
                    keys.exponential.map(Amount::Exponential),
                    keys.pareto.map(Amount::Pareto),
                    keys.weibull.map(Amount::Weibull),
                ];
                let mut given = given.into_iter().flatten();
                match (given.next(), given.next()) {
                    (Some(amount), None) => Ok(amount),
                    _ => Err(de::Error::custom(
                        "does not name one distribution; allowed: exactly one of constant, uniform, exponential, pareto, weibull",
                    )),
                }
            }
        }
        deserializer.deserialize_any(Form(PhantomData))
    }
}
