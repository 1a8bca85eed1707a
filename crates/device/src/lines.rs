//! The state as lines on standard output, for a program that started the device.

use crate::run::Board;
use sojourn_units::Span;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Least time between two looks at the board.
const LEAST: Duration = Duration::from_millis(5);

/// A thread that prints each new state.
pub struct Lines {
    thread: JoinHandle<()>,
    ending: Arc<AtomicBool>,
}

impl Lines {
    /// Looks at `board` twice in the time `every` in which it changes once.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(board: Board, every: Span) -> io::Result<Self> {
        let ending = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&ending);
        let look = (Duration::from_nanos(every.nanos()) / 2).max(LEAST);
        let thread = std::thread::Builder::new().name("lines".into()).spawn(move || {
            let mut last = None;
            loop {
                // Before the look, so that the last state is printed.
                let is_last = asked.load(Ordering::Acquire);
                let status = board.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(status) = status.filter(|status| Some(status.uptime_s) != last) {
                    last = Some(status.uptime_s);
                    let mut line = serde_json::to_vec(&status).unwrap_or_default();
                    line.push(b'\n');
                    // Nobody reads any more: the device goes on without.
                    if io::stdout().lock().write_all(&line).and_then(|()| io::stdout().flush()).is_err() {
                        return;
                    }
                }
                if is_last {
                    return;
                }
                std::thread::sleep(look);
            }
        })?;
        Ok(Self { thread, ending })
    }

    /// Prints the last state, and ends.
    pub fn finish(self) {
        self.ending.store(true, Ordering::Release);
        // It cannot panic; if it did, everything else has ended well.
        let _ = self.thread.join();
    }
}
