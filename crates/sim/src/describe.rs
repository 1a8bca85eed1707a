//! What there is to choose from and to measure, as JSON: for front ends in other languages.

use crate::simulation::catalogue;
use serde_json::{json, Value};
use sojourn_aqm::acts::Acts;
use sojourn_aqm::registry;
use sojourn_transport::congestion;
use std::collections::BTreeMap;

/// Every algorithm with its parameters, as a JSON list; of those that were added, the newest of each name.
#[must_use]
pub fn aqms() -> Value {
    let one = |entry: &registry::Entry| {
        let parameters: Vec<Value> = entry.params()
            .into_iter()
            .map(|p| {
                json!({"name": p.name, "kind": p.kind, "default": p.value, "doc": p.doc, "allowed": p.allowed, "words": p.words, "needs": needs(p.acts)})
            })
            .collect();
        let old = sojourn_aqm::FORMER_PRESETS.iter().chain([&sojourn_aqm::NEWEST_KERNEL]);
        let old: BTreeMap<_, _> = old.filter(|(_, present)| entry.presets.contains(present)).copied().collect();
        json!({
            "name": entry.short_name(),
            "title": entry.title(),
            "summary": entry.summary(),
            "source": entry.source(),
            "signals_on": entry.about.signals_on,
            "drops_at": entry.about.drops_at.name(),
            "ecn": entry.about.ecn,
            "per_flow_state": entry.about.per_flow_state,
            "lower_limit": entry.excess.text(),
            "presets": entry.presets,
            "former_presets": old,
            "parameters": parameters,
        })
    };
    Value::Array(registry::names().into_iter().filter_map(registry::find).map(one).collect())
}

/// What a parameter needs to have an effect, for tests: other parameters with their values, and what else.
fn needs(acts: &[Acts]) -> Vec<Value> {
    let one = |acts: &Acts| match *acts {
        Acts::With(other, values) => json!({"with": [other], "values": values}),
        Acts::WithOneOf(others) => json!({"with": others, "values": ["*"]}),
        Acts::Without(other, values) => json!({"without": other, "values": values}),
        other => json!({"else": format!("{other:?}")}),
    };
    acts.iter().map(one).collect()
}

/// Every congestion control with its own keys of the TCP table, as a JSON list.
#[must_use]
pub fn congestion_controls() -> Value {
    let one = |algorithm: &congestion::Algorithm| {
        let keys = (algorithm.keys)(&congestion::Keys::default()).into_iter();
        let keys: Vec<Value> =
            keys.map(|key| json!({"name": key.name, "default": key.value, "doc": key.doc})).collect();
        json!({"name": algorithm.name, "summary": algorithm.description(), "keys": keys})
    };
    Value::Array(congestion::ALGORITHMS.iter().map(one).collect())
}

/// Every kind of traffic, as a JSON list; the schema has their keys.
#[must_use]
pub fn traffic_kinds() -> Value {
    let one = |kind: &sojourn_traffic::About| json!({"name": kind.name, "title": kind.title, "example": kind.example, "own_rate": kind.own_rate});
    Value::Array(sojourn_traffic::KINDS.iter().map(one).collect())
}

/// Every metric, as a JSON list.
#[must_use]
pub fn metrics() -> Value {
    let one = |metric: &catalogue::Metric| {
        let scopes: Vec<&str> = metric.scopes().map(catalogue::Scope::name).collect();
        let real: Vec<&str> = metric.real.iter().map(|scope| scope.name()).collect();
        // JSON has no infinity.
        let bound = |value: f64| value.is_finite().then_some(value);
        json!({
            "name": metric.name,
            "unit": metric.unit,
            "shown_unit": metric.shown,
            "scale": metric.scale(),
            "title": metric.title,
            "better": metric.better.name(),
            "scopes": scopes,
            "real": real,
            "cohort": metric.cohort.name(),
            "cohort_definition": metric.cohort.definition(),
            "least": bound(metric.least),
            "most": bound(metric.most),
            "estimator": metric.estimator,
            "definition": metric.definition,
        })
    };
    Value::Array(catalogue::METRICS.iter().map(one).collect())
}

/// What a link may do to packets besides carrying them, as a JSON list: keys, count, metric, words and the shell's options.
#[must_use]
pub fn link_effects() -> Value {
    let one = |effect: &sojourn_aqm::EffectAbout| {
        json!({
            "key": effect.key, "reverse": effect.reverse, "count": effect.count, "metric": effect.metric,
            "words": effect.words, "option": effect.option,
        })
    };
    Value::from_iter(sojourn_aqm::EFFECTS.iter().map(one))
}
