//! A telephone call: frames of speech at constant intervals. `application/call.rs` is the receiver that plays them.

use super::renewal::{Gap, Renewal};
use super::{Check, Distribution, Kind, Source, Traffic};
use crate::application::call::{Call, Playout};
use crate::application::Listener;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_document::bounds::{up_to, DELAY};
use sojourn_document::words;
use sojourn_document::{Error, Quantity};
use sojourn_measure::emodel;
use sojourn_units::{BitRate, Bytes, Span};

words! {
    /// A codec of speech.
    pub enum SpeechCodec {
        /// ITU-T G.711: 64 kbit/s.
        #[default]
        G711 = "g711",
        /// Opus (RFC 6716).
        Opus = "opus",
    }
}

/// One direction of a telephone call; UDP only. R and MOS (ITU-T G.107) are of G.711 alone: we know of no impairment factor of Opus
/// for this model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table")]
pub struct Voip {
    /// Codec. The look-ahead is 0 for G.711, 3.75 ms with the concealment of its appendix I, and 6.5 ms for Opus.
    #[serde(default)]
    pub codec: SpeechCodec,
    /// Length of a frame; each is a packet with 12 B of RTP header.
    #[serde(default = "frame")]
    pub frame: Quantity<Span>,
    /// Bit rate of Opus; by default 32 kbit/s, within RFC 6716's 28 to 40 kbit/s for fullband speech.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Quantity<BitRate>>,
    /// How the receiver chooses its playout delay.
    #[serde(default)]
    pub playout: Playout,
    /// Length of the de-jitter buffer: the playout delay beyond that of the first frame; with `adaptive` only at the start.
    #[serde(default = "jitter_buffer")]
    pub jitter_buffer: Quantity<Span>,
    /// G.711 with the concealment of losses of its appendix I: Bpl is 25.1 instead of 4.3 (ITU-T G.113, appendix I).
    #[serde(default = "yes")]
    pub concealment: bool,
}

fn frame() -> Quantity<Span> {
    Quantity(Span::from_millis(20))
}

fn jitter_buffer() -> Quantity<Span> {
    Quantity(Span::from_millis(60))
}

fn yes() -> bool {
    true
}

/// RTP header without extensions (RFC 3550).
const RTP: u64 = 12;
/// Of G.711.
const G711_BIT_S: u64 = 64_000;
const OPUS_BIT_S: u64 = 32_000;

impl Kind for Voip {
    const TITLE: &'static str = "telephone call";
    const EXAMPLE: &'static str = "codec = \"g711\", playout = \"fixed\", jitter_buffer = \"60 ms\"";
    const UDP_ONLY: bool = true;

    fn resolve(&self, check: &Check<'_>) -> Result<Traffic, Error> {
        let frame = self.frame.0;
        if frame < Span::from_micros(2500) || frame > Span::from_millis(120) {
            return Err(check.refuse("frame", format!("is {frame}; allowed: 2.5 ms to 120 ms")));
        }
        up_to(self.jitter_buffer.0, &DELAY, || check.path.then("jitter_buffer"))?;
        let bit_s = match (self.codec, self.rate) {
            (SpeechCodec::G711, None) => G711_BIT_S,
            (SpeechCodec::G711, Some(_)) => {
                return Err(
                    check.refuse("rate", "is of `codec` \"opus\" alone; G.711 has 64 kbit/s; allowed: no `rate`")
                );
            }
            (SpeechCodec::Opus, rate) => rate.map_or(OPUS_BIT_S, |rate| rate.0.bit_s()),
        };
        // RFC 6716, 2.1.1.
        if !(6000..=510_000).contains(&bit_s) {
            return Err(
                check.refuse("rate", format!("is {}; allowed: 6 kbit/s to 510 kbit/s", BitRate::from_bit_s(bit_s)))
            );
        }
        let speech = libm::round(bit_s as f64 * frame.seconds() / 8.0).max(1.0) as u64;
        let look_ahead = match (self.codec, self.concealment) {
            (SpeechCodec::G711, false) => Span::ZERO,
            (SpeechCodec::G711, true) => Span::from_micros(3750),
            (SpeechCodec::Opus, _) => Span::from_micros(6500),
        };
        let rated = match (self.codec, self.concealment) {
            (SpeechCodec::G711, false) => Some(emodel::Codec::G711),
            (SpeechCodec::G711, true) => Some(emodel::Codec::G711_PLC),
            (SpeechCodec::Opus, _) => None,
        };
        let process = Renewal::new(Gap::Drawn(Distribution::Constant(frame)));
        let source = Source::new(Distribution::Constant(Bytes::new(speech + RTP)), Box::new(process));
        let call = Call::new(self.playout, self.jitter_buffer.0, frame + look_ahead, rated);
        Ok(Traffic::Heard(source, Listener::Call(Box::new(call))))
    }
}
