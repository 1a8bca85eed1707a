//! The compiled form: steps over a stack.

use alloc::sync::Arc;
use alloc::vec::Vec;

/// Values that a program may keep at a time. A power of two, so that a place is found without a check.
pub(super) const STACK: usize = 16;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Number(f64),
    /// A place in the list of values.
    Input(usize),
    UnaryOp(UnaryOp),
    BinaryOp(BinaryOp),
}

/// A function of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnaryOp {
    Minus,
    Exp,
    Log,
    Sqrt,
    Abs,
}

/// A function of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Min,
    Max,
    Less,
    Greater,
}

impl UnaryOp {
    pub fn of(self, x: f64) -> f64 {
        match self {
            Self::Minus => -x,
            Self::Exp => libm::exp(x),
            Self::Log => libm::log(x),
            Self::Sqrt => libm::sqrt(x),
            Self::Abs => libm::fabs(x),
        }
    }
}

impl BinaryOp {
    pub fn of(self, x: f64, y: f64) -> f64 {
        match self {
            Self::Add => x + y,
            Self::Subtract => x - y,
            Self::Multiply => x * y,
            Self::Divide => x / y,
            Self::Power => libm::pow(x, y),
            // One that is not a number is not hidden by the other.
            Self::Min if x.is_nan() || y.is_nan() => f64::NAN,
            Self::Max if x.is_nan() || y.is_nan() => f64::NAN,
            Self::Min => x.min(y),
            Self::Max => x.max(y),
            Self::Less if x.is_nan() || y.is_nan() => f64::NAN,
            Self::Greater if x.is_nan() || y.is_nan() => f64::NAN,
            Self::Less => f64::from(u8::from(x < y)),
            Self::Greater => f64::from(u8::from(x > y)),
        }
    }
}

/// A formula in the order of its evaluation. The compiler has checked that every step finds its values and that at most
/// [`STACK`] are kept.
#[derive(Clone, Debug)]
pub(super) struct Program(Arc<[Step]>);

impl Program {
    pub fn new(steps: Vec<Step>) -> Self {
        Self(steps.into())
    }

    /// The places that it reads.
    pub fn inputs(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().filter_map(|step| match step {
            Step::Input(place) => Some(*place),
            _ => None,
        })
    }

    /// Its value.
    pub fn run(&self, values: &[f64]) -> f64 {
        let mut stack = [0.0; STACK];
        let mut next = 0_usize;
        for step in &*self.0 {
            match step {
                Step::Number(value) => {
                    stack[next % STACK] = *value;
                    next = next.wrapping_add(1);
                }
                Step::Input(place) => {
                    stack[next % STACK] = values.get(*place).copied().unwrap_or(f64::NAN);
                    next = next.wrapping_add(1);
                }
                Step::UnaryOp(one) => {
                    let top = next.wrapping_sub(1) % STACK;
                    stack[top] = one.of(stack[top]);
                }
                Step::BinaryOp(two) => {
                    next = next.wrapping_sub(1);
                    let top = next.wrapping_sub(1) % STACK;
                    stack[top] = two.of(stack[top], stack[next % STACK]);
                }
            }
        }
        stack[0]
    }
}
