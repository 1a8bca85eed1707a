use crate::Value;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sojourn_units::Probability;

crate::choice! {
    /// What holds between two points of a table.
    pub enum Between {
        /// The straight line from one to the next.
        Linear = "linear",
        /// The value of the one before.
        Step = "step",
    }
}

/// A dropping function by points: lengths in packets, rising from 0, and their probabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct Table(Vec<(u64, f64)>);

impl Table {
    /// d(n); the last value holds beyond the last point.
    #[must_use]
    pub fn at(&self, n: u64, between: Between) -> f64 {
        let after = self.0.partition_point(|(length, _)| *length <= n);
        let before = after.checked_sub(1).and_then(|i| self.0.get(i));
        match (before, self.0.get(after)) {
            (Some((n0, d0)), Some((n1, d1))) if between == Between::Linear => {
                d0 + (d1 - d0) * ((n - n0) as f64 / (n1 - n0) as f64)
            }
            (Some((_, d0)), _) => *d0,
            (None, _) => 0.0,
        }
    }
}

impl Value for Table {
    const KIND: &'static str = "table";

    fn read(text: &str) -> Result<Self, String> {
        let refuse = |why: String| Err(format!("{why}; allowed: {}", Self::allowed()));
        let mut points: Vec<(u64, f64)> = Vec::new();
        for point in text.split(',') {
            let Some((length, d)) = point.split_once(':') else {
                return refuse(format!("\"{point}\" is not a point n:d"));
            };
            let Ok(length) = length.trim().parse::<u64>() else {
                return refuse(format!("\"{length}\" is not a number of packets"));
            };
            let d = d.parse::<Probability>().map_err(|e| e.to_string())?.get();
            match points.last() {
                None if length != 0 => return refuse(format!("the first point is at {length}, not at 0")),
                Some((last, _)) if length <= *last => return refuse(format!("{length} does not follow {last}")),
                _ => points.push((length, d)),
            }
        }
        Ok(Self(points))
    }

    fn print(&self) -> String {
        let points: Vec<String> = self.0.iter().map(|(n, d)| format!("{n}:{d}")).collect();
        points.join(",")
    }

    fn allowed() -> String {
        "points n:d without blanks, n rising from 0 in packets, d a probability, as in \"0:0,50:0.1,100:1\"".into()
    }
}
