crate::choice! {
    /// The functions of the governing text, section 2, by their names there.
    pub enum Shape {
        /// Small buffer.
        D0 = "d0",
        /// RED: one line.
        D1 = "d1",
        /// GRED: two lines, the second steeper.
        D2 = "d2",
        /// NLRED: a parabola.
        D3 = "d3",
        /// TRED: a cubic, a line, a cubic.
        D4 = "d4",
        /// REM: towards 1/2 exponentially.
        D5 = "d5",
        /// S shape.
        D6 = "d6",
        /// Exponential.
        D7 = "d7",
        /// Constant 1/2.
        D8 = "d8",
    }
}

impl Shape {
    /// d(n), with the constants as printed.
    #[must_use]
    pub fn at(self, length: u64) -> f64 {
        let n = length as f64;
        match self {
            Self::D0 if length < 100 => 0.0,
            Self::D0 => 1.0,

            Self::D1 if length < 91 => 0.0,
            Self::D1 if length < 121 => 0.016666 * n - 1.506666,

            Self::D2 if length < 87 => 0.0,
            Self::D2 if length < 102 => 0.008333 * n - 0.722833,
            Self::D2 if length < 117 => 0.025 * n - 2.4185,

            Self::D3 if length < 81 => 0.0,
            Self::D3 if length < 121 => 0.000312 * square(n - 80.88),

            Self::D4 if length < 89 => 0.0,
            Self::D4 if length < 99 => 4.5 * cube((n - 88.05) / 30.0),
            Self::D4 if length < 109 => 0.016666 * n - 1.467499,
            Self::D4 if length < 119 => 4.5 * cube((n - 118.05) / 30.0) + 0.5,

            Self::D5 if length < 94 => 0.0,
            Self::D5 => 0.5 - 0.5 * libm::exp(-(n - 93.86) / 10.0),

            Self::D6 if length < 101 => 0.25 * libm::exp((n - 100.74) / 3.0),
            Self::D6 => 0.5 - 0.25 * libm::exp((100.74 - n) / 3.0),

            Self::D7 if length < 108 => 0.5 * libm::exp((n - 107.3) / 5.0),

            Self::D8 if length < 99 => 0.0,

            Self::D1 | Self::D2 | Self::D3 | Self::D4 | Self::D7 | Self::D8 => 0.5,
        }
    }
}

fn square(x: f64) -> f64 {
    x * x
}

fn cube(x: f64) -> f64 {
    x * x * x
}
