//! Parameters that are declared at run time.

use crate::abi;
use crate::definition::Definition;
use crate::values::ParamValue;
use sojourn_aqm::{Limit, Param, Parameters, Value};
use sojourn_units::Span;

/// The values of an algorithm's parameters, and `limit`, which the host keeps.
#[derive(Clone, Debug)]
pub struct Params {
    /// None has no parameters and accepts every packet: what `Default` gives.
    pub(crate) definition: Option<&'static Definition>,
    pub(crate) limit: Limit,
    pub(crate) values: Vec<ParamValue>,
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
    /// The parameters of an algorithm with their defaults.
    pub(crate) fn of(definition: &'static Definition) -> Self {
        let values = definition.parameters.iter().map(|one| one.initial.clone()).collect();
        Self { definition: Some(definition), limit: definition.limit, values }
    }

    /// As the functions of the table get them.
    pub(crate) fn given(&self) -> Vec<abi::Value> {
        self.values.iter().map(ParamValue::give).collect()
    }

    pub(crate) fn time(&self, index: usize) -> Option<Span> {
        match self.values.get(index) {
            Some(ParamValue::Time(span)) => Some(*span),
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
            acts: &[],
        };
        let own = self.declared().iter().zip(&self.values).map(|(one, value)| value.param(one.name, one.doc));
        std::iter::once(limit).chain(own).collect()
    }

    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }
}
