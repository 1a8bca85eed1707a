//! The device without a network: frames out of files, in the time that the files say, as fast as possible.

use crate::engine::{Direction, Engine};
use crate::path::Path;
use crate::pool::{Pool, HEADROOM};
use crate::port::{Account, Capture, Pace, Pcap, PortCounters, PortError, TimeSource, Writer};
use sojourn_units::{Instant, Span};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

/// What stands for a port.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Frames that arrive (pcap or pcapng); `None`: none do.
    pub input: Option<PathBuf>,
    /// Where frames that leave go (pcap with nanoseconds); `None`: they are counted.
    pub output: Option<PathBuf>,
}

/// What became of the frames of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Input {
    /// Frames that were taken, and those that were left out by reason.
    pub account: Account,
    /// Bytes of the longest frame that the pool had no room for; 0: there was none.
    pub longest_oversize: usize,
}

impl Input {
    /// What to know of `file` before the numbers are used: frames of it that were `oversize` for frames of `frame_bytes`, frames
    /// that were skipped, times that fall, an end in the middle of a frame.
    #[must_use]
    pub fn warnings(&self, file: &std::path::Path, oversize: u64, frame_bytes: u64) -> Vec<String> {
        // Those that a configuration may ask for.
        const SIZES: [u64; 3] = [2048, 4096, 16_384];
        let headroom = HEADROOM as u64;
        let Account { frames, ref skipped, out_of_order, cut, .. } = self.account;
        let mut told = Vec::new();
        if oversize > 0 {
            let longest = self.longest_oversize as u64;
            let what = match SIZES.iter().find(|size| **size >= longest + headroom) {
                Some(size) => format!("set `frames.size = \"{size} B\"`"),
                None => {
                    "record with `ethtool -K IF gro off gso off tso off`, which leaves packets as they are on the wire"
                        .to_owned()
                }
            };
            told.push(format!(
                "{oversize} of {frames} frames were left out (`oversize`): frames of {frame_bytes} B have room for {} B, and the \
                 longest has {longest} B; {what}",
                frame_bytes.saturating_sub(headroom)
            ));
        }
        if !skipped.is_empty() {
            let all: u64 = skipped.values().sum();
            let reasons: Vec<String> = skipped.iter().map(|(why, count)| format!("{why} {count}")).collect();
            told.push(format!("{all} of {frames} frames were skipped: {}", reasons.join(", ")));
        }
        if out_of_order > 0 {
            told.push(format!(
                "{out_of_order} of {frames} frames have a time before that of a frame above them, and arrive with it"
            ));
        }
        if cut {
            told.push("ends in the middle of a frame; what is whole was taken".to_owned());
        }
        told.into_iter().map(|what| format!("{}: {what}", file.display())).collect()
    }
}

/// A run that has come to its end.
pub struct Outcome {
    /// Time from the first frame on until nothing waited or travelled any more.
    pub took: Span,
    /// What the ports counted, A and B.
    pub ports: [PortCounters; 2],
    /// What they read, where they did.
    pub inputs: [Option<Input>; 2],
    /// Frames of the pool that are free: all, unless one got lost.
    pub frames_free: u64,
    /// Both directions as they were left, with counters and faults; their windows are closed.
    pub paths: [Path; 2],
}

/// Runs the frames of both files through `paths` in virtual time: 0 is the first frame of either. Decisions are those of a
/// live device at which the frames arrive at these instants.
///
/// # Errors
/// A file cannot be read or written.
pub fn run(pool: Pool, files: [Files; 2], paths: [Path; 2]) -> Result<Outcome, PortError> {
    for output in files.iter().filter_map(|files| files.output.as_ref()) {
        // What does not exist yet is no input either.
        let same =
            |input: &PathBuf| input.canonicalize().ok().zip(output.canonicalize().ok()).is_some_and(|(a, b)| a == b);
        if files.iter().filter_map(|files| files.input.as_ref()).any(same) {
            let what = "would be written over while it is read; give another output".to_owned();
            return Err(PortError { port: output.display().to_string(), what });
        }
    }
    let clock = Arc::new(AtomicU64::new(0));
    let [a, b] = files;
    let (a, b) = (open(&a)?, open(&b)?);
    let origin = [&a.0, &b.0].into_iter().filter_map(|input| input.as_ref()?.next_at()).min();
    let port = |name: &str, (input, output)| {
        Pcap::new(name, input, output, Pace::Recorded, TimeSource::Virtual(Arc::clone(&clock)), origin)
    };
    let (a, b) = (port("a", a), port("b", b));
    let due = [a.due(), b.due()];
    let mut engine = Engine::new(pool, [Box::new(a), Box::new(b)], paths);
    let mut now = Instant::ZERO;
    loop {
        let arrival = due.iter().map(|due| due.load(Ordering::Relaxed)).filter(|nanos| *nanos < u64::MAX).min();
        let next = arrival.map(Instant::from_nanos).into_iter().chain(engine.next_due()).min();
        let Some(next) = next else { break };
        now = now.max(next);
        clock.store(now.nanos(), Ordering::Relaxed);
        // Bound: a burst each turn of what arrives or leaves at this instant.
        while engine.step(now)? {}
    }
    Direction::ALL.into_iter().for_each(|direction| engine.path_mut(direction).0.recorder.finish(now));
    let ports = engine.port_counters();
    let mut inputs = [None, None];
    for (port, input) in engine.ports().iter_mut().zip(&mut inputs) {
        let read =
            |(account, longest_oversize): (&Account, usize)| Input { account: account.clone(), longest_oversize };
        *input = port.file().map(read);
        port.finish()?;
    }
    let took = now.since(Instant::ZERO);
    Ok(Outcome { took, ports, inputs, frames_free: engine.pool.free() as u64, paths: engine.into_paths() })
}

fn open(files: &Files) -> Result<(Option<Capture>, Option<Writer>), PortError> {
    let input = files.input.as_deref().map(Capture::open).transpose()?;
    Ok((input, files.output.as_deref().map(Writer::create).transpose()?))
}
