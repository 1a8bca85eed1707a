//! The sending side: what to send now, and what an acknowledgement or the timer means.
//!
//! Texts: RFC 9293 (transmission), RFC 5681, 6582, 6675 (recovery), 3042 (limited transmit), 6937 (PRR), 6298 (timer),
//! 3168 (ECN; its negotiation in 6.1.1), 7661 in Linux's form (window validation). Work: amortised O(1) a segment sent or acknowledged.
//!
//! Where texts and implementations differ:
//! * The window is counted in bytes, also where an algorithm counts segments: small segments weigh what they are, unless
//!   `WindowUnit::Packets` has each weigh a full one (Linux and ns-2 count packets).
//! * Without SACK, a duplicate acknowledgement takes one segment out of `pipe` instead of adding one to `cwnd` (RFC 5681's inflation):
//!   the same transmissions, and PRR and ECN need no second set of rules.
//! * Without SACK, no fast retransmit before the cumulative acknowledgement has passed all that was outstanding at the last reduction
//!   (RFC 6582's `recover`; ns-2's `bugFix_`), for `Recovery::Reno` too, for which RFC 5681 asks no such care.
//! * [`Recovery::Ns3`] is ns-3's, with what that does otherwise: see `ns3`.
//! * RFC 6675's rescue retransmission and F-RTO are not part of it. With `Recovery::Sack` a lost retransmission waits for the
//!   timer; `Recovery::Rack` finds it. Tail loss probes have a switch of their own.
//! * As Linux, `ssthresh` is not reduced again by a timeout within a recovery that already reduced it.
//! * The timer has no granularity (Linux: one jiffy).

mod acknowledge;
mod config;
mod connection;
mod ns3;
mod rack;
mod rate;
mod rtt;
mod scoreboard;
mod stats;
mod transmit;
mod window;

pub use config::{Config, Ect, IdleRestart, Recovery, RtoRule, WindowUnit};
pub use stats::SenderStats;

use crate::transport::congestion::{CongestionControl, Phase};
use connection::Step;
use rack::{Early, Rack, Tail};
use rate::RateSampler;
use rtt::RttEstimator;
use scoreboard::Scoreboard;
use sojourn_units::{BitRate, Bytes, Instant, Span};
use window::{Prr, Usage};

/// Where the sender stands towards congestion.
#[derive(Clone, Copy, Debug)]
enum State {
    /// No episode.
    Open,
    /// Reducing in answer to a mark, until something sent after `point` is acknowledged.
    Reducing { point: u64, prr: Option<Prr> },
    /// Fast recovery, until `point` is acknowledged.
    Recovery { point: u64, prr: Option<Prr> },
    /// After a timeout, until `point` is acknowledged.
    Loss { point: u64 },
}

impl State {
    fn phase(&self) -> Phase {
        match self {
            Self::Open => Phase::Open,
            Self::Reducing { .. } => Phase::Reducing,
            Self::Recovery { .. } => Phase::Recovery,
            Self::Loss { .. } => Phase::Loss,
        }
    }
}

/// A TCP sender.
#[derive(Clone, Debug)]
pub struct Sender {
    config: Config,
    congestion: Box<dyn CongestionControl>,
    state: State,
    board: Scoreboard,
    step: Step,
    rate: RateSampler,
    rtt: RttEstimator,
    usage: Usage,
    stats: SenderStats,
    /// Taken as lost since the start, in bytes.
    total_lost: u64,
    mss: u64,
    /// The window in force: congestion control's, or that of the episode.
    cwnd: u64,
    /// The receiver takes data up to here; unknown before the first acknowledgement.
    receiver_edge: Option<u64>,
    /// End of what the application has written; `u64::MAX` without end.
    written: u64,
    closed: bool,
    /// ECN is in use: asked for, and agreed to where there is a handshake.
    ecn: bool,
    /// The largest window that the receiver has offered.
    widest: u64,
    /// Probes in a row of a closed window.
    probes: u32,
    duplicates: u32,
    /// Without SACK: what the duplicate acknowledgements of this episode take out of `pipe`, in bytes.
    anonymous: u64,
    /// Without SACK: bytes that duplicate acknowledgements have reported and no cumulative one has confirmed.
    reported: u64,
    /// `next` at the last reduction.
    reduced_at: Option<u64>,
    /// The cumulative acknowledgement as the application of an unlimited source has heard of it.
    told: u64,
    /// It hears of an advance once a segment that must go out is on its way.
    tells: bool,
    /// A partial acknowledgement of this recovery has come.
    partial_seen: bool,
    /// One retransmission goes out whatever the window; as ns-3 has it, one segment.
    force: bool,
    /// The next new segment carries CWR.
    announce_reduction: bool,
    /// Something was sent since the last pause.
    sending: bool,
    last_sent: Instant,
    rto_deadline: Instant,
    /// Expiries in a row, for the back-off.
    backoff: u32,
    rack: Option<Box<Rack>>,
    /// The tail loss probe that is not yet accounted for.
    tail: Option<Tail>,
    /// The timer of RACK or TLP, which comes before the retransmission timer.
    early: Option<(Instant, Early)>,
    /// Expiries since the cumulative acknowledgement last advanced.
    expiries: u32,
    ce_packets: u16,
    pacing_rate: Option<BitRate>,
    next_paced: Instant,
    /// Segments of the present burst that may go at once.
    burst_left: u64,
    pacing_waits: bool,
}

impl Sender {
    /// A sender at the start of its stream.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self::seeded(config, 0)
    }

    /// As [`Sender::new`], with the seed of what congestion control draws at random.
    #[must_use]
    pub fn seeded(config: Config, seed: u64) -> Self {
        Self::with_congestion_control(config, (config.congestion_control.build)(&config.parameters(seed)))
    }

    /// As [`Sender::new`], with an algorithm that is not in the registry.
    #[must_use]
    pub fn with_congestion_control(config: Config, congestion: Box<dyn CongestionControl>) -> Self {
        let mss = config.mss.get().clamp(1, u64::from(u32::MAX));
        Self {
            state: State::Open,
            board: Scoreboard::new(mss, config.window_unit, config.recovery == Recovery::Ns3),
            step: if config.handshake { Step::Syn } else { Step::Stream },
            rate: RateSampler::default(),
            rtt: RttEstimator::new(&config),
            usage: Usage::default(),
            stats: SenderStats::default(),
            total_lost: 0,
            mss,
            cwnd: congestion.cwnd().get(),
            receiver_edge: None,
            written: if config.unlimited { u64::MAX } else { 0 },
            closed: false,
            ecn: config.ecn && !config.handshake,
            widest: 0,
            probes: 0,
            duplicates: 0,
            anonymous: 0,
            reported: 0,
            reduced_at: None,
            told: 0,
            tells: false,
            partial_seen: false,
            force: false,
            announce_reduction: false,
            sending: false,
            last_sent: Instant::ZERO,
            rto_deadline: Instant::NEVER,
            backoff: 0,
            rack: (config.recovery == Recovery::Rack).then(Box::default),
            tail: None,
            early: None,
            expiries: 0,
            ce_packets: 0,
            pacing_rate: congestion.pacing_rate(),
            next_paced: Instant::ZERO,
            burst_left: 0,
            pacing_waits: false,
            congestion,
            config,
        }
    }

    // The application's side.

    /// The application hands over `bytes`; returns how many the send buffer took.
    pub fn write(&mut self, bytes: Bytes) -> Bytes {
        let taken = bytes.min(self.buffer_space());
        self.written += taken.get();
        taken
    }

    /// No more data will be written; an unlimited source ends with what it has sent.
    pub fn close(&mut self) {
        if self.config.unlimited && !self.closed {
            self.written = self.board.next;
        }
        self.closed = true;
    }

    /// What [`Sender::write`] would take.
    #[must_use]
    pub fn buffer_space(&self) -> Bytes {
        match self.config.send_buffer {
            _ if self.closed || self.config.unlimited => Bytes::ZERO,
            None => Bytes::new(u64::MAX - 1 - self.written),
            Some(buffer) => buffer.saturating_sub(Bytes::new(self.written - self.board.una)),
        }
    }

    /// Closed, and everything written is acknowledged, the FIN included.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.closed && self.board.una == self.end()
    }

    /// End of the stream of a sender that is closed, its FIN included.
    fn end(&self) -> u64 {
        self.written + u64::from(self.config.handshake)
    }

    /// End of the data in the send buffer.
    fn data_end(&self) -> u64 {
        match self.config.send_buffer {
            Some(buffer) if self.config.unlimited => match self.config.write_size {
                Some(size) => {
                    let size = u64::from(size.get());
                    self.written.min((self.told + buffer.get()) / size * size)
                }
                // Whole segments: an application that refills the buffer never has a short one sent.
                None => {
                    let segments = (buffer.get() / self.mss).max(1);
                    self.written.min(self.told + segments * self.mss)
                }
            },
            _ => self.written,
        }
    }

    fn in_slow_start(&self) -> bool {
        self.cwnd < self.congestion.ssthresh().get()
    }

    // Looking in.

    /// The window in force.
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        Bytes::new(self.cwnd)
    }

    /// Slow-start threshold; `u64::MAX` bytes when unset.
    #[must_use]
    pub fn ssthresh(&self) -> Bytes {
        self.congestion.ssthresh()
    }

    /// Smoothed RTT; zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Span {
        self.rtt.srtt()
    }

    /// The retransmission timeout, back-off included.
    #[must_use]
    pub fn rto(&self) -> Span {
        self.rtt.rto(self.backoff)
    }

    /// In flight: sent, neither acknowledged nor SACKed nor lost (RFC 6675's pipe).
    #[must_use]
    pub fn in_flight(&self) -> Bytes {
        Bytes::new(self.board.pipe())
    }

    /// Everything before this offset is acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> Bytes {
        Bytes::new(self.board.una.min(self.written))
    }

    /// ECN is in use: asked for, and agreed to where there is a handshake.
    #[must_use]
    pub fn ecn(&self) -> bool {
        self.ecn
    }

    /// Counts since the start.
    #[must_use]
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Parameters.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The algorithm, for its name and internals.
    #[must_use]
    pub fn congestion_control(&self) -> &dyn CongestionControl {
        &*self.congestion
    }
}

// 100,000 flows must fit.
const _: () = assert!(size_of::<Sender>() <= 1024);
