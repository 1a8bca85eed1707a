//! Questions and answers as JSON.

use crate::general::{self, Service};
use crate::phases::{Arrivals, Phased};
use crate::quasi::Quasi;
use crate::{birth_death, decide, runs, transient, Error, Law, Steady};
use nalgebra::{DMatrix, RowDVector};
use serde::Deserialize;
use serde_json::{json, Value};
use sojourn_aqm::Config;

#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
enum Question {
    Law {
        law: LawDocument,
    },
    Steady {
        load: f64,
        law: LawDocument,
        arrivals: ArrivalsDocument,
        service: ServiceDocument,
        quantiles: Vec<f64>,
    },
    Runs {
        load: f64,
        law: LawDocument,
        arrivals: ArrivalsDocument,
        service: ServiceDocument,
        longest: usize,
    },
    Change {
        before: f64,
        load: f64,
        law: LawDocument,
        arrivals: ArrivalsDocument,
        service: ServiceDocument,
        times: Vec<f64>,
    },
    Admission {
        load: f64,
        delay: f64,
        loss: f64,
    },
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum LawDocument {
    Scheme { scheme: String, endless: bool },
    Table { table: Vec<f64>, beyond: f64 },
}

impl LawDocument {
    fn read(&self) -> Result<Law, Error> {
        match self {
            Self::Scheme { scheme, endless } => {
                let config: Config = scheme.parse().map_err(|error| Error::new(format!("{error}")))?;
                Law::of(&config, *endless)
            }
            Self::Table { table, beyond } => Law::new(table.clone(), *beyond),
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum ArrivalsDocument {
    Poisson {},
    Switched { ratio: f64, busy: f64, cycle: f64 },
    Map { silent: Vec<Vec<f64>>, arriving: Vec<Vec<f64>> },
}

impl ArrivalsDocument {
    fn read(&self, load: f64) -> Result<Arrivals, Error> {
        match self {
            Self::Poisson {} => Arrivals::poisson(load),
            Self::Switched { ratio, busy, cycle } => Arrivals::switched(load, *ratio, *busy, *cycle),
            Self::Map { silent, arriving } => Arrivals::new(matrix(silent)?, matrix(arriving)?, load),
        }
    }
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum ServiceDocument {
    Exponential {},
    Deterministic {},
    Erlang { stages: u32 },
    Hyperexponential { scv: f64 },
    Sizes { sizes: Vec<(f64, f64)> },
    Phased { start: Vec<f64>, silent: Vec<Vec<f64>> },
}

impl ServiceDocument {
    fn phased(&self) -> Result<Phased, Error> {
        match self {
            Self::Exponential {} => Phased::exponential(),
            Self::Erlang { stages } => Phased::erlang(*stages),
            Self::Hyperexponential { scv } => Phased::hyperexponential(*scv),
            Self::Phased { start, silent } => Phased::new(RowDVector::from_row_slice(start), matrix(silent)?),
            Self::Deterministic {} | Self::Sizes { .. } => Err(Error::new(
                "a fixed service time cannot be used here; allowed: exponential, erlang, hyperexponential, phased \
                 (erlang of 64 stages is near a fixed one)",
            )),
        }
    }

    fn general(&self) -> Option<Service> {
        match self {
            Self::Exponential {} => Some(Service::Exponential),
            Self::Deterministic {} => Some(Service::Deterministic),
            Self::Erlang { stages } => Some(Service::Erlang { stages: *stages }),
            Self::Hyperexponential { scv } => Some(Service::Hyperexponential { scv: *scv }),
            Self::Sizes { sizes } => Some(Service::Sizes(sizes.clone())),
            Self::Phased { .. } => None,
        }
    }
}

fn matrix(rows: &[Vec<f64>]) -> Result<DMatrix<f64>, Error> {
    let order = rows.len();
    if order == 0 || order > 64 || rows.iter().any(|row| row.len() != order) {
        return Err(Error::new("a matrix must be square, of order 1 to 64"));
    }
    Ok(DMatrix::from_fn(order, order, |i, j| rows[i][j]))
}

/// The answer to a question; both are JSON.
///
/// # Errors
/// A text that is no question, and questions without an answer.
pub fn answer(question: &str) -> Result<String, Error> {
    let question: Question = serde_json::from_str(question).map_err(|error| Error::new(error.to_string()))?;
    let found = match question {
        Question::Law { law } => {
            let law = law.read()?;
            let table: Vec<f64> = (0..law.len()).map(|n| law.at(n)).collect();
            json!({"table": table, "beyond": law.beyond()})
        }
        Question::Steady { load, law, arrivals, service, quantiles } => {
            steady(load, &law.read()?, &arrivals, &service, &quantiles)?
        }
        Question::Runs { load, law, arrivals, service, longest } => {
            let (law, arrivals, service) = (law.read()?, arrivals.read(load)?, service.phased()?);
            let found = runs::runs(&Quasi { arrivals: &arrivals, service: &service, law: &law }, longest.min(10_000))?;
            // JSON has no NaN: null where nothing is lost.
            json!({"mean": found.mean, "ratio": found.ratio, "lengths": found.lengths})
        }
        Question::Change { before, load, law, arrivals, service, times } => {
            let (law, service) = (law.read()?, service.phased()?);
            let (low, high) = (arrivals.read(before)?, arrivals.read(load)?);
            let found = transient::change(
                &Quasi { arrivals: &low, service: &service, law: &law },
                &Quasi { arrivals: &high, service: &service, law: &law },
                &times,
            )?;
            let of = |value: fn(&transient::Instant) -> f64| found.iter().map(value).collect::<Vec<f64>>();
            json!({"time": of(|i| i.time), "mean": of(|i| i.mean), "sd": of(|i| i.sd), "loss": of(|i| i.loss)})
        }
        Question::Admission { load, delay, loss } => {
            let found = decide::admission(load, delay, loss)?;
            json!({"length": found.length, "cost": found.cost})
        }
    };
    Ok(found.to_string())
}

fn steady(
    load: f64,
    law: &Law,
    arrivals: &ArrivalsDocument,
    service: &ServiceDocument,
    quantiles: &[f64],
) -> Result<Value, Error> {
    let is_poisson = matches!(arrivals, ArrivalsDocument::Poisson {});
    let is_exponential = matches!(service, ServiceDocument::Exponential {});
    let mut found = if is_poisson && is_exponential {
        of(&birth_death::steady(load, law)?)
    } else if let (true, Some(service)) = (is_poisson, service.general()) {
        of(&general::steady(load, law, &service)?)
    } else {
        let (arrivals, service) = (arrivals.read(load)?, service.phased()?);
        of(&Quasi { arrivals: &arrivals, service: &service, law }.steady()?)
    };
    if !quantiles.is_empty() {
        if !(is_poisson && is_exponential) {
            return Err(Error::new("quantiles of the delay: allowed with Poisson arrivals and exponential service"));
        }
        if let Some(q) = quantiles.iter().find(|q| !(**q > 0.0 && **q < 1.0)) {
            return Err(Error::new(format!("the quantile {q}; allowed: between 0 and 1")));
        }
        let delay = birth_death::delay(load, law)?;
        found["quantiles"] = quantiles.iter().map(|&q| delay.quantile(q)).collect();
    }
    Ok(found)
}

fn of(found: &Steady) -> Value {
    json!({
        "p": found.p, "mean": found.mean, "sd": found.sd, "waiting": found.waiting, "loss": found.loss,
        "response": found.response, "utilisation": found.utilisation,
    })
}

#[cfg(test)]
mod tests {
    use super::answer;

    #[test]
    fn questions_are_answered() {
        let found = answer(
            r#"{"ask": "steady", "load": 0.8, "law": {"table": [0.0], "beyond": 0.0}, "arrivals": {"kind": "poisson"},
                "service": {"kind": "exponential"}, "quantiles": [0.95]}"#,
        )
        .unwrap();
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        assert!((found["mean"].as_f64().unwrap() - 4.0).abs() < 1e-9);
        // 5 ln 20 = 14.979.
        assert!((found["quantiles"][0].as_f64().unwrap() - 14.979).abs() < 1e-3);
    }

    #[test]
    fn what_is_no_question_is_refused() {
        assert!(answer("{}").is_err());
        assert!(answer(r#"{"ask": "admission", "load": 1.0, "delay": 1.0, "loss": 1.0, "more": 1}"#).is_err());
        let error = answer(
            r#"{"ask": "steady", "load": 1.2, "law": {"table": [0.0], "beyond": 0.0}, "arrivals": {"kind": "poisson"},
                "service": {"kind": "exponential"}, "quantiles": []}"#,
        )
        .unwrap_err();
        assert!(error.to_string().starts_with("no steady state"));
    }
}
