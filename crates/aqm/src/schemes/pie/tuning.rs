//! RFC 8033, section 4.2: automatic tuning.

/// Section 4.2: how much of an adjustment is made while p is small, so that relative changes stay alike.
pub(super) fn auto_tune(p: f64) -> f64 {
    // Looked up: branches would be foreseen badly where many flows take turns.
    let exponent = (p.to_bits() >> 52) as usize;
    let (bound, factors) = TUNING[exponent.saturating_sub(LEAST_EXPONENT).min(TUNING.len() - 1)];
    factors[usize::from(p < bound)]
}

/// The binary exponent, as a number's bits hold it, below which every p is below all bounds.
const LEAST_EXPONENT: usize = 1002;

/// For each exponent of p up to that of 1: the bound among these p, and the factors from it on and below it.
const TUNING: [(f64, [f64; 2]); 22] = {
    const BOUNDS: [f64; 6] = [0.1, 0.01, 0.001, 0.000_1, 0.000_01, 0.000_001];
    const FACTORS: [f64; 7] = [1.0, 1.0 / 2.0, 1.0 / 8.0, 1.0 / 32.0, 1.0 / 128.0, 1.0 / 512.0, 1.0 / 2048.0];
    let mut rows = [(0.0, [1.0, 1.0]); 22];
    let mut row = 0;
    while row < rows.len() {
        let mut at = 0;
        while at < BOUNDS.len() && (BOUNDS[at].to_bits() >> 52) as usize > LEAST_EXPONENT + row {
            at += 1;
        }
        rows[row].1 = [FACTORS[at], FACTORS[at]];
        if at < BOUNDS.len() && (BOUNDS[at].to_bits() >> 52) as usize == LEAST_EXPONENT + row {
            rows[row] = (BOUNDS[at], [FACTORS[at], FACTORS[at + 1]]);
        }
        row += 1;
    }
    rows
};
