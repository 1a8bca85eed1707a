//! The E-model: how people rate a telephone call, from its delay and losses (ITU-T G.107, 06/2015).
//!
//! Equations have the numbers of G.107, clause 7. All parameters that do not depend on the network have G.107's default
//! values (table 3), which stand for two ordinary telephones. Echo is that of the defaults: `T` = `Ta`, `Tr` = 2 `Ta`.

/// What a network and a codec do to a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// Absolute one-way delay from mouth to ear in ms, `Ta`.
    pub delay_ms: f64,
    /// Packets lost, or too late to be played, in percent, `Ppl`.
    pub loss_percent: f64,
    /// Mean length of runs of losses over that of independent losses, `BurstR`.
    pub burst_ratio: f64,
    /// The codec.
    pub codec: Codec,
}

/// A codec's impairment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Codec {
    /// Equipment impairment factor without losses, `Ie`.
    pub impairment: f64,
    /// Packet-loss robustness factor, `Bpl`.
    pub robustness: f64,
}

impl Codec {
    /// G.711 without concealment of losses (ITU-T G.113, 11/2007, appendix I: Ie 0, Bpl 4.3).
    pub const G711: Self = Self { impairment: 0.0, robustness: 4.3 };
    /// G.711 with the concealment of its appendix I (ITU-T G.113, 11/2007, appendix I: Ie 0, Bpl 25.1).
    pub const G711_PLC: Self = Self { impairment: 0.0, robustness: 25.1 };
}

// Table 3 of G.107.
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
const STMR: f64 = 15.0;
const D_R: f64 = 3.0;
const D_S: f64 = 3.0;
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
const QDU: f64 = 1.0;
const NC: f64 = -70.0;
const N_FOR: f64 = -64.0;
const P_S: f64 = 35.0;
const P_R: f64 = 35.0;
const OLR: f64 = SLR + RLR;
/// Of clause 7.4: the delay that is noticed, in ms, and the sensitivity to it.
const M_T: f64 = 100.0;
const S_T: f64 = 1.0;

fn power(base: f64, exponent: f64) -> f64 {
    libm::pow(base, exponent)
}

fn ten_to(exponent: f64) -> f64 {
    power(10.0, exponent)
}

fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// (1 + x^n)^(1/n).
fn knee(x: f64, n: f64) -> f64 {
    power(1.0 + power(x, n), 1.0 / n)
}

/// All noise, (7-3) to (7-7).
fn noise() -> f64 {
    let sender = P_S - SLR - D_S - 100.0 + 0.004 * power(P_S - OLR - D_S - 14.0, 2.0);
    let listener_sidetone = STMR + D_R;
    let effective = P_R + 10.0 * log10(1.0 + ten_to((10.0 - listener_sidetone) / 10.0));
    let receiver = RLR - 121.0 + effective + 0.008 * power(effective - 35.0, 2.0);
    let floor = N_FOR + RLR;
    10.0 * log10(ten_to(NC / 10.0) + ten_to(sender / 10.0) + ten_to(receiver / 10.0) + ten_to(floor / 10.0))
}

/// Basic signal-to-noise ratio, (7-2).
fn basic(noise: f64) -> f64 {
    15.0 - 1.5 * (SLR + noise)
}

/// Impairments at the same time as speech, (7-8) to (7-17).
fn simultaneous(noise: f64, basic: f64) -> f64 {
    let loudness = OLR + 0.2 * (64.0 + noise - RLR);
    let too_loud = 20.0 * (knee(loudness / 8.0, 8.0) - loudness / 8.0);
    let sidetone = -10.0 * log10(ten_to(-STMR / 10.0) + ten_to(-TELR / 10.0));
    let sidetones = 12.0 * knee((sidetone - 13.0) / 6.0, 8.0)
        - 28.0 * knee((sidetone + 1.0) / 19.4, 35.0)
        - 13.0 * knee((sidetone - 3.0) / 33.0, 13.0)
        + 29.0;
    let q = 37.0 - 15.0 * log10(QDU);
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let y = (basic - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let z = 46.0 / 30.0 - g / 40.0;
    let quantising = 15.0 * log10(1.0 + ten_to(y) + ten_to(z));
    too_loud + sidetones + quantising
}

/// Impairments by delay, (7-18) to (7-28).
fn delayed(delay_ms: f64, noise: f64, basic: f64) -> f64 {
    let t = delay_ms;
    let talker = if t < 1.0 {
        0.0
    } else {
        let loss = TELR - 40.0 * log10((1.0 + t / 10.0) / (1.0 + t / 150.0)) + 6.0 * libm::exp(-0.3 * t * t);
        let half = (-1.5 * (noise - RLR) - (80.0 + 2.5 * (loss - 14.0))) / 2.0;
        (half + libm::sqrt(half * half + 100.0) - 1.0) * (1.0 - libm::exp(-t))
    };
    let half = (basic - 10.5 * (WEPL + 7.0) * power(2.0 * t + 1.0, -0.25)) / 2.0;
    let listener = half + libm::sqrt(half * half + 169.0);
    let absolute = if t <= M_T {
        0.0
    } else {
        let x = log10(t / M_T) / log10(2.0);
        25.0 * (knee(x, 6.0 * S_T) - 3.0 * knee(x / 3.0, 6.0 * S_T) + 2.0)
    };
    talker + listener + absolute
}

impl Call {
    /// The transmission rating factor `R`, (7-1); 93.2 without delay and losses. G.107 allows burst ratios from 1 to 8 and no
    /// others: one outside is taken as the nearest.
    #[must_use]
    pub fn rating(&self) -> f64 {
        let noise = noise();
        let basic = basic(noise);
        let Codec { impairment, robustness } = self.codec;
        let (loss, burst) = (self.loss_percent, self.burst_ratio.clamp(1.0, 8.0));
        // (7-29).
        let equipment = impairment + (95.0 - impairment) * loss / (loss / burst + robustness);
        basic - simultaneous(noise, basic) - delayed(self.delay_ms, noise, basic) - equipment
    }

    /// The mean opinion score of such a call, from 1 (bad) to 4.5.
    #[must_use]
    pub fn mos(&self) -> f64 {
        mos(self.rating())
    }
}

/// The mean opinion score of a rating, (B-4).
#[must_use]
pub fn mos(rating: f64) -> f64 {
    if rating <= 0.0 {
        1.0
    } else if rating >= 100.0 {
        4.5
    } else {
        1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(delay_ms: f64, loss_percent: f64, codec: Codec) -> Call {
        Call { delay_ms, loss_percent, burst_ratio: 1.0, codec }
    }

    #[test]
    fn the_defaults_give_the_values_that_g_107_states() {
        // G.107, clause 7.7: with all defaults R = 93.2, and MOS = 4.41.
        let best = call(0.0, 0.0, Codec::G711);
        assert!((best.rating() - 93.2).abs() < 0.05, "{}", best.rating());
        assert!((best.mos() - 4.41).abs() < 0.005, "{}", best.mos());
        // What an independent implementation (Flent's, in Python) has for the noise, No, and for Is.
        let noise = noise();
        assert!((noise + 61.179_214_386).abs() < 1e-6, "{noise}");
        assert!((simultaneous(noise, basic(noise)) - 1.413_568_081).abs() < 1e-6);
    }

    #[test]
    fn mos_is_that_of_table_b_1() {
        // G.107, table B.1: lower limits of the categories of satisfaction. Its 4.03 for 80 is 4.024 by its own equation.
        for (rating, score) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            assert!((mos(rating) - score).abs() < 0.0065, "{rating}: {}", mos(rating));
        }
        assert_eq!((mos(-1.0), mos(101.0)), (1.0, 4.5));
    }

    #[test]
    fn losses_cost_what_equation_7_29_says() {
        // Ppl = 5 and Bpl = 25.1, independent: 95 * 5 / 30.1 = 15.78. Runs of 2: 95 * 5 / 27.6 = 17.21.
        let best = call(0.0, 0.0, Codec::G711_PLC).rating();
        let lossy = call(0.0, 5.0, Codec::G711_PLC);
        assert!((best - lossy.rating() - 15.78).abs() < 0.01);
        let bursty = Call { burst_ratio: 2.0, ..lossy };
        assert!((best - bursty.rating() - 17.21).abs() < 0.01);
    }

    #[test]
    fn delay_costs_what_g_107_says() {
        // By hand for Ta = 200 ms. Idd: X = log2(2) = 1, 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2) = 3.044. Idle: Rle = 10.5 * 117 *
        // 401^-0.25 = 274.5, Ro = 94.77, half the difference -89.88: 0.935 more than at 0, where it is 0.149. Idte: TERV = 65 -
        // 40 log10(21 / 2.333) = 26.83, Re = 112.07, Roe = 94.77, half the difference -8.65: 13.22 - 8.65 - 1 = 3.57.
        let cost = call(0.0, 0.0, Codec::G711).rating() - call(200.0, 0.0, Codec::G711).rating();
        assert!((cost - (3.044 + 0.935 - 0.149 + 3.57)).abs() < 0.02, "{cost}");
    }
}
