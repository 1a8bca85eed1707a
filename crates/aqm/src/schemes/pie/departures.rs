use sojourn_units::{Bytes, Instant};

/// What is averaged over measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Weight {
    /// The time that DQ_THRESHOLD bytes take, with weight DQ_THRESHOLD/2^16 (RFC 8033 section 5.2).
    OfTime,
    /// Bytes over time, with this weight.
    OfRate(f64),
}

/// Departure rate estimation (RFC 8033 section 5.2): measured only while enough waits to keep the link busy.
#[derive(Clone, Debug)]
pub(super) struct Departures {
    threshold: f64,
    weight: Weight,
    measurement: Option<Measurement>,
    /// Bytes a second; 0 before the first measurement is complete.
    bytes_s: f64,
}

/// `in_measurement_`: since when, and `dq_count_`, the bytes that have left.
#[derive(Clone, Copy, Debug)]
struct Measurement {
    start: Instant,
    bytes: f64,
}

impl Departures {
    pub(super) fn new(threshold: Bytes, weight: Weight) -> Self {
        Self { threshold: threshold.get() as f64, weight, measurement: None, bytes_s: 0.0 }
    }

    /// What `old` has measured.
    pub(super) fn keep(&mut self, old: &Self) {
        (self.measurement, self.bytes_s) = (old.measurement, old.bytes_s);
    }

    pub(super) fn restart(&mut self) {
        self.measurement = None;
        self.bytes_s = 0.0;
    }

    pub(super) fn bytes_s(&self) -> f64 {
        self.bytes_s
    }

    /// Little's law: `queue_.byte_length() / dequeue_rate`, in seconds; 0 before the first measurement.
    pub(super) fn delay(&self, backlog: u64) -> f64 {
        if self.bytes_s > 0.0 {
            backlog as f64 / self.bytes_s
        } else {
            0.0
        }
    }

    /// A packet of `bytes` leaves and `backlog` bytes stay.
    pub(super) fn departure(&mut self, now: Instant, bytes: u32, backlog: u64) {
        let enough = backlog as f64 >= self.threshold;
        let begun = Measurement { start: now, bytes: 0.0 };
        let Some(mut measurement) = self.measurement.or(enough.then_some(begun)) else {
            return;
        };
        measurement.bytes += f64::from(bytes);
        let time = now.since(measurement.start).seconds();
        // Several packets may leave at one instant: go on until time has passed.
        if measurement.bytes < self.threshold || time == 0.0 {
            self.measurement = Some(measurement);
            return;
        }
        self.average(measurement.bytes, time);
        self.measurement = match self.weight {
            Weight::OfTime => None,
            Weight::OfRate(_) => enough.then_some(begun),
        };
    }

    fn average(&mut self, bytes: f64, time: f64) {
        let first = self.bytes_s == 0.0;
        self.bytes_s = match self.weight {
            Weight::OfTime if first => self.threshold / time,
            Weight::OfTime => {
                let weight = (self.threshold / 65_536.0).min(1.0);
                let average = self.threshold / self.bytes_s;
                self.threshold / (weight * time + (1.0 - weight) * average)
            }
            Weight::OfRate(_) if first => bytes / time,
            Weight::OfRate(weight) => (1.0 - weight) * self.bytes_s + weight * bytes / time,
        };
    }
}
