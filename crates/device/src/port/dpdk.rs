//! Ports of DPDK, through a small shim in C (`shim/dpdk.c`). Frames are copied between DPDK's memory and the pool.
//!
//! Where DPDK has cores besides the first, these receive and send: each task (receiving at port A, at port B, sending at
//! A, at B) belongs to one of them, and a ring lies between it and the packet thread, which decides. `received` counts what
//! the packet thread took out of a ring, `sent` what the driver took, `leaving` what is in between; a frame that finds its
//! ring full, or is left in it at the end, is `missed`, as is what the driver says it lost (net_af_packet of DPDK 22.11 says
//! nothing of what the kernel had no room for). Without further cores the packet thread polls the ports itself.
//!
//! Polls: it has no descriptor to wait on. Works without huge pages where DPDK's arguments say so: `--no-huge -m 512 --no-pci
//! --no-telemetry --vdev=net_af_packet0,iface=eth0`.

use super::{Port, PortCounters, PortError, BURST};
use crate::pool::{Frame, Pool};
use sojourn_aqm::Backlog;
use std::collections::VecDeque;
use std::ffi::{c_char, c_int, CString};
use std::ptr::NonNull;
use std::sync::Mutex;

#[allow(unsafe_code)]
mod shim {
    use super::{c_char, c_int};

    /// An open port, of the shim's.
    #[repr(C)]
    pub struct Line {
        private: [u8; 0],
    }

    #[repr(C)]
    #[derive(Default)]
    pub struct Counts {
        pub sent: u64,
        pub sent_bytes: u64,
        pub missed: u64,
        pub failed: u64,
    }

    extern "C" {
        pub fn sojourn_dpdk_start(argc: c_int, argv: *mut *mut c_char) -> c_int;
        pub fn sojourn_dpdk_workers() -> u32;
        pub fn sojourn_dpdk_everywhere(what: extern "C" fn()) -> c_int;
        pub fn sojourn_dpdk_open(name: *const c_char, opened: *mut *mut Line) -> c_int;
        pub fn sojourn_dpdk_receive(line: *mut Line, to: *const *mut u8, lengths: *mut u32, n: u16, room: u32) -> u32;
        pub fn sojourn_dpdk_send(line: *mut Line, from: *const *const u8, lengths: *const u32, n: u16) -> u32;
        pub fn sojourn_dpdk_longest() -> u32;
        pub fn sojourn_dpdk_counts(line: *const Line, counts: *mut Counts);
        pub fn sojourn_dpdk_left(line: *const Line, frames: *mut u64, bytes: *mut u64);
        pub fn sojourn_dpdk_carrier(line: *const Line) -> c_int;
        pub fn sojourn_dpdk_finish(line: *mut Line);
        pub fn sojourn_dpdk_close(line: *mut Line);
    }
}

/// DPDK starts once a process.
static STARTED: Mutex<bool> = Mutex::new(false);

fn reason(code: c_int) -> String {
    std::io::Error::from_raw_os_error(-code).to_string()
}

/// Starts DPDK with the arguments of its environment layer, program name left out.
///
/// # Errors
/// It was started before, or refuses; it says more itself.
#[allow(unsafe_code)]
pub fn start(arguments: &[String]) -> Result<(), PortError> {
    let failed = |what: String| PortError { port: "dpdk".to_owned(), what };
    let mut started = STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if *started {
        return Err(failed("cannot be started twice in one process".to_owned()));
    }
    let words = ["sojournd"].into_iter().chain(arguments.iter().map(String::as_str));
    let texts: Result<Vec<CString>, _> = words.map(CString::new).collect();
    let texts = texts.map_err(|_| failed("an argument has a zero byte".to_owned()))?;
    // DPDK keeps what it is given; a few words for the life of the process.
    let mut pointers: Vec<*mut c_char> = texts.into_iter().map(CString::into_raw).collect();
    let count = pointers.len() as c_int;
    pointers.push(std::ptr::null_mut());
    // SAFETY: `count` texts that end in zero and are never freed, and a null pointer, as main() has them.
    let code = unsafe { shim::sojourn_dpdk_start(count, pointers.leak().as_mut_ptr()) };
    if code < 0 {
        return Err(failed(format!("cannot be started with the arguments {}: {}", arguments.join(" "), reason(code))));
    }
    *started = true;
    Ok(())
}

/// Calls `what` once on every thread that DPDK started. The work at the ports rests meanwhile.
///
/// # Errors
/// DPDK cannot reach its threads.
#[allow(unsafe_code)]
pub fn everywhere(what: extern "C" fn()) -> Result<(), PortError> {
    if !*STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Ok(());
    }
    // SAFETY: DPDK runs; `what` may be called from any thread, as it is safe and has no state of its own.
    match unsafe { shim::sojourn_dpdk_everywhere(what) } {
        0.. => Ok(()),
        code => {
            Err(PortError { port: "dpdk".to_owned(), what: format!("does not reach its threads: {}", reason(code)) })
        }
    }
}

/// A port of DPDK's; at most two at a time.
#[derive(Debug)]
pub struct Dpdk {
    name: String,
    mode: String,
    line: NonNull<shim::Line>,
    /// Of frames that can be sent.
    longest: u32,
    /// Frames for the driver, and their bytes.
    handed: Backlog,
    /// Of receiving, and of frames that never reached the shim.
    counters: PortCounters,
}

#[allow(unsafe_code)]
// SAFETY: the line belongs to this port alone, and the shim does not mind which thread calls it.
unsafe impl Send for Dpdk {}

impl Dpdk {
    /// The port that DPDK calls `name`: `net_ring0`, `net_af_packet0`, `0000:01:00.0`. [`start`] comes before.
    ///
    /// # Errors
    /// There is none, or it does not start, or two are open.
    #[allow(unsafe_code)]
    pub fn open(name: &str) -> Result<Self, PortError> {
        let failed = |what: String| PortError { port: name.to_owned(), what };
        // Held to the end: ports are opened one at a time.
        let started = STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !*started {
            return Err(failed("DPDK was not started".to_owned()));
        }
        let text = CString::new(name).map_err(|_| failed("has a zero byte in its name".to_owned()))?;
        let mut line = std::ptr::null_mut();
        // SAFETY: DPDK runs; the name ends in zero and is only looked at; the place for the line is ours.
        let code = unsafe { shim::sojourn_dpdk_open(text.as_ptr(), &raw mut line) };
        let (0, Some(line)) = (code, NonNull::new(line)) else {
            return Err(failed(format!("cannot be opened: {}", reason(code))));
        };
        // SAFETY: DPDK runs.
        let (longest, workers) = unsafe { (shim::sojourn_dpdk_longest(), shim::sojourn_dpdk_workers()) };
        let mode = match workers {
            0 => "dpdk, polled by the packet thread".to_owned(),
            1 => "dpdk, 1 core receives and sends".to_owned(),
            n => format!("dpdk, {n} cores receive and send"),
        };
        Ok(Self {
            name: name.to_owned(),
            mode,
            line,
            longest,
            handed: Backlog::default(),
            counters: PortCounters::default(),
        })
    }
}

impl Drop for Dpdk {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let _one_at_a_time = STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: the line is open, and nobody uses it afterwards.
        unsafe { shim::sojourn_dpdk_close(self.line.as_ptr()) };
    }
}

impl Port for Dpdk {
    fn name(&self) -> &str {
        &self.name
    }

    fn mode(&self) -> &str {
        &self.mode
    }

    #[allow(unsafe_code)]
    fn receive(&mut self, pool: &mut Pool, into: &mut Vec<Frame>) -> Result<(), PortError> {
        let (mut frames, mut places) = ([Frame::from_index(0); BURST], [std::ptr::null_mut(); BURST]);
        let mut lengths = [0_u32; BURST];
        let mut n = 0;
        while n < BURST {
            // Without a free frame what comes waits at the port, and is missed there.
            let Some(frame) = pool.take() else { break };
            (frames[n], places[n]) = (frame, pool.room_of(frame).as_mut_ptr());
            n += 1;
        }
        let room = pool.room();
        // SAFETY: `n` places of `room` bytes each, in frames that nobody else has; `lengths` has as many entries.
        let got = unsafe {
            shim::sojourn_dpdk_receive(self.line.as_ptr(), places.as_ptr(), lengths.as_mut_ptr(), n as u16, room as u32)
        };
        let got = (got as usize).min(n);
        for (frame, length) in frames.into_iter().zip(lengths).take(got) {
            let length = length as usize;
            if length > room {
                self.counters.oversize += 1;
                pool.give(frame);
                continue;
            }
            pool.filled(frame, length);
            self.counters.received += 1;
            self.counters.received_bytes += length as u64;
            into.push(frame);
        }
        // The last that was taken goes back first.
        frames[got..n].iter().rev().for_each(|frame| pool.give(*frame));
        Ok(())
    }

    #[allow(unsafe_code)]
    fn send(&mut self, pool: &mut Pool, frames: &mut VecDeque<Frame>) -> Result<(), PortError> {
        let (mut places, mut lengths) = ([std::ptr::null(); BURST], [0_u32; BURST]);
        let mut n = 0;
        for frame in frames.iter().take(BURST) {
            let contents = pool.contents(*frame);
            if contents.len() as u64 > u64::from(self.longest) {
                break;
            }
            (places[n], lengths[n]) = (contents.as_ptr(), contents.len() as u32);
            n += 1;
        }
        if n == 0 {
            // The first is too long for DPDK's memory.
            if let Some(frame) = frames.pop_front() {
                self.counters.send_failed += 1;
                pool.give(frame);
            }
            return Ok(());
        }
        // SAFETY: `n` places with as many lengths, in frames that are not changed meanwhile; they are copied.
        let taken = unsafe { shim::sojourn_dpdk_send(self.line.as_ptr(), places.as_ptr(), lengths.as_ptr(), n as u16) };
        for frame in frames.drain(..(taken as usize).min(n)) {
            self.handed.packets += 1;
            self.handed.bytes += u64::from(pool.note(frame).length);
            pool.give(frame);
        }
        Ok(())
    }

    #[allow(unsafe_code)]
    fn counters(&mut self) -> PortCounters {
        let mut counts = shim::Counts::default();
        // SAFETY: the line is open; the place for the counts is ours.
        unsafe { shim::sojourn_dpdk_counts(self.line.as_ptr(), &raw mut counts) };
        let shim::Counts { sent, sent_bytes, missed, failed } = counts;
        PortCounters {
            sent,
            sent_bytes,
            missed,
            send_failed: self.counters.send_failed + failed,
            leaving: self.handed.packets.saturating_sub(sent + failed),
            ..self.counters
        }
    }

    #[allow(unsafe_code)]
    fn leaving(&self) -> Backlog {
        let (mut frames, mut bytes) = (0, 0);
        // SAFETY: the line is open; the places for the two numbers are ours.
        unsafe { shim::sojourn_dpdk_left(self.line.as_ptr(), &raw mut frames, &raw mut bytes) };
        // A frame that failed, at the end alone, is in none of the bytes.
        let Backlog { packets, bytes: handed } = self.handed;
        Backlog { packets: packets.saturating_sub(frames), bytes: handed.saturating_sub(bytes) }
    }

    #[allow(unsafe_code)]
    fn carrier(&mut self) -> Option<bool> {
        // SAFETY: the line is open.
        let code = unsafe { shim::sojourn_dpdk_carrier(self.line.as_ptr()) };
        (code >= 0).then_some(code > 0)
    }

    #[allow(unsafe_code)]
    fn finish(&mut self) -> Result<(), PortError> {
        let _one_at_a_time = STARTED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // SAFETY: the line is open.
        unsafe { shim::sojourn_dpdk_finish(self.line.as_ptr()) };
        Ok(())
    }
}
