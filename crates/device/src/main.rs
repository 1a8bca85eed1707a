//! `sojournd`.

fn main() {}
