use crate::Value;
use alloc::format;
use alloc::string::String;
use core::ops::Mul;

/// A gain of PIE's controller, in Hz.
///
/// Linux's alpha and beta are whole numbers of sixteenths of a Hz, 0 to 32, and so is here every whole number that has no
/// unit. Anything else cannot be Linux's and is in Hz: `0.125`, `2.0`, `2Hz`. A gain prints in this form too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain(f64);

impl Gain {
    /// tc-pie(8): "These should be in the range between 0 and 32".
    const SIXTEENTHS: u32 = 32;

    /// `hz` Hz.
    #[must_use]
    pub const fn from_hz(hz: f64) -> Self {
        Self(hz)
    }

    /// Hz.
    #[must_use]
    pub const fn hz(self) -> f64 {
        self.0
    }
}

impl Mul<f64> for Gain {
    type Output = f64;
    /// A change of probability, for a delay in seconds.
    fn mul(self, seconds: f64) -> f64 {
        self.0 * seconds
    }
}

impl Value for Gain {
    const KIND: &'static str = "number";

    fn read(text: &str) -> Result<Self, String> {
        let hz = match text.strip_suffix("Hz") {
            Some(number) => f64::read(number.trim_end()).ok(),
            None if text.bytes().all(|b| b.is_ascii_digit()) => {
                let sixteenths = text.parse::<u32>().ok().filter(|n| *n <= Self::SIXTEENTHS);
                sixteenths.map(|n| f64::from(n) / 16.0)
            }
            None => f64::read(text).ok(),
        };
        hz.map(Self).ok_or_else(|| format!("\"{text}\" is refused; allowed: {}", Self::allowed()))
    }

    fn print(&self) -> String {
        // Debug keeps the point of a whole number: "2.0".
        format!("{:?}", self.0)
    }

    fn allowed() -> String {
        "a finite number, 0 or more: in Hz with a point or its unit, as in \"0.125\", \"2.0\" or \"2Hz\"; \
         a whole number 0 to 32 is sixteenths of a Hz, as in tc"
            .into()
    }
}
