//! RED's averaging weight from a burst.

use alloc::format;
use alloc::string::String;

/// The largest weight 2^-n, n from 1 to 31, that lets `burst` packets pass: Floyd and Jacobson 1993, section 6, equation 3,
/// as tc solves it, `burst + 1 - min <= (1 - (1 - w)^burst) / w` (the paper's sum has one term more); `min` in mean packets.
///
/// # Errors
/// No such weight.
pub(super) fn weight(min: f64, burst: u64) -> Result<f64, String> {
    let excess = burst as f64 + 1.0 - min;
    if excess < 1.0 {
        let least = 1 + min as u64;
        return Err(format!(
            "burst {burst} is too small for min, which is {min} mean packets; allowed: {least} or more"
        ));
    }
    let weights = (1..32).map(|n| libm::ldexp(1.0, -n));
    let passes = |w: &f64| excess <= (1.0 - libm::pow(1.0 - w, burst as f64)) / w;
    weights.into_iter().find(passes).ok_or_else(|| format!("burst {burst} is too large: no averaging weight gives it"))
}
