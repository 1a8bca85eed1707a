/// Jain's fairness index of shares (Jain, Chiu and Hawe 1984): `(sum x)^2 / (n sum x^2)`, from 1/n to 1; `None` when all are 0.
#[must_use]
pub fn jain(shares: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for share in shares {
        n += 1.0;
        sum += share;
        squares += share * share;
    }
    // Rounding can lead past 1.
    (squares > 0.0).then(|| (sum * sum / (n * squares)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_of_known_shares() {
        assert_eq!(jain([2.0, 2.0, 2.0]), Some(1.0));
        // One of four has all: 1/4.
        assert_eq!(jain([5.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 2 + 3)^2 / (3 * 14) = 36/42.
        assert!((jain([1.0, 2.0, 3.0]).unwrap() - 36.0 / 42.0).abs() < 1e-15);
        assert_eq!(jain([0.0]), None);
    }
}
