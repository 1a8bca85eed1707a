//! Many independent runs on all cores.

use crate::simulation::{Options, RunError, RunReport, Simulation};
use sojourn_scenario::Network;
use sojourn_units::{Instant, Span};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Slices of a run between two looks at the stop sign.
const SLICES: u64 = 100;

/// How far a batch is, shared between the threads that run it and one that watches.
#[derive(Debug, Default)]
pub struct Progress {
    finished: AtomicUsize,
    /// Hundredths of a run.
    slices: AtomicUsize,
    stop: AtomicBool,
}

impl Progress {
    /// Runs finished.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.finished.load(Ordering::Relaxed)
    }

    /// Work done, in runs, those under way in part.
    #[must_use]
    pub fn runs(&self) -> f64 {
        self.slices.load(Ordering::Relaxed) as f64 / SLICES as f64
    }

    /// Asks the batch to end soon; runs that have not finished give no report.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Runs every task on `jobs` threads. Report `k` is of task `k`, whatever the number of threads;
/// `None` where the batch was stopped before.
pub fn run_all(
    network: &Arc<Network>,
    tasks: &[Options],
    jobs: usize,
    progress: &Progress,
) -> Vec<Option<Result<RunReport, RunError>>> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<RunReport, RunError>>>> = Mutex::new(tasks.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        let work = || loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            let Some(options) = tasks.get(task) else { return };
            let Some(result) = run_one(network, options, progress) else { return };
            progress.finished.fetch_add(1, Ordering::Relaxed);
            results.lock().unwrap_or_else(PoisonError::into_inner)[task] = Some(result);
        };
        // This thread is one of them; where the system gives no more, those that there are do the work.
        for _ in 1..jobs.clamp(1, tasks.len().max(1)) {
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs one task in this thread; `None` where it was stopped before its end.
pub fn run_one(network: &Arc<Network>, options: &Options, progress: &Progress) -> Option<Result<RunReport, RunError>> {
    let mut simulation = Simulation::new(Arc::clone(network), options.clone());
    for slice in 1..=SLICES {
        if progress.stop.load(Ordering::Relaxed) {
            return None;
        }
        let until =
            Span::from_nanos((u128::from(network.duration.nanos()) * u128::from(slice) / u128::from(SLICES)) as u64);
        simulation.run_until(Instant::ZERO + until);
        progress.slices.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = simulation.check_traces().and(simulation.check_schemes()) {
            return Some(Err(error));
        }
    }
    Some(simulation.run())
}
