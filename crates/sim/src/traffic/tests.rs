//! Generators against their formulas.
