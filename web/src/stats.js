// Means over replications with their 95 % intervals, as `sojourn compare` computes them.

// Quantiles 0.975 of Student's t for 1 to 30 degrees of freedom; beyond, the expansion of Abramowitz and Stegun, 26.7.5.
const T = [
  12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139, 2.200985, 2.178813,
  2.160369, 2.144787, 2.13145, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873, 2.068658, 2.063899,
  2.059539, 2.055529, 2.051831, 2.048407, 2.04523, 2.042272,
];

/** The quantile 0.975 of Student's t. */
export function student(freedom) {
  if (freedom <= T.length) return T[freedom - 1];
  const z = 1.959963985;
  const first = (z ** 3 + z) / 4;
  const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96;
  return z + first / freedom + second / freedom ** 2;
}

/** Mean, and half the width of the 95 % interval: none of fewer than two values. */
export function interval(values) {
  const known = values.filter((value) => Number.isFinite(value));
  const n = known.length;
  if (n === 0) return { mean: NaN, half: NaN, n };
  const mean = known.reduce((sum, value) => sum + value, 0) / n;
  if (n === 1) return { mean, half: NaN, n };
  const variance = known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (n - 1);
  return { mean, half: student(n - 1) * Math.sqrt(variance / n), n };
}

/** The interval of paired differences: value k of both is of replication k. */
export function paired(first, second) {
  return interval(first.map((value, k) => second[k] - value));
}

/** A mean and its interval with the digits that the interval leaves: 13.25 ± 0.42. */
export function shown({ mean, half }, scale = 1) {
  if (!Number.isFinite(mean)) return "–";
  const value = mean * scale;
  const width = half * scale;
  const minus = (text) => text.replace(/^-/, "−");
  if (!Number.isFinite(width)) return minus(digits(value, 4));
  if (width === 0) return `${minus(digits(value, 4))} ± 0`;
  const places = Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(width))));
  return `${minus(value.toFixed(places))} ± ${width.toFixed(places)}`;
}

/** A number with so many digits, without an exponent where one is not needed. */
export function digits(value, many) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e-4 && size < 1e7 ? String(Number(value.toPrecision(many))) : value.toExponential(2);
}
