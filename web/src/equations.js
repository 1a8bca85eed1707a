// What a scheme computes, beside the values that it has now. `x` has its internals, and `delay_before_s` of the update before
// the last one where that was seen; `p` has its parameters as texts.
// Sources: RFC 8289 (CoDel), RFC 8033 (PIE), Floyd and Jacobson 1993 (RED), RFC 9332 (DualPI2), RFC 8290 (FQ-CoDel), Shu 2023
// (dAQM), Hollot et al. 2001 (PI), Athuraliya et al. 2001 (REM), Kunniyur and Srikant 2004 (AVQ), Feng et al. 2002 (BLUE).

import { milliseconds } from "./model.js";
import { digits } from "./stats.js";

const number = (value) => (Number.isFinite(value) ? digits(value, 4) : "–");
const seconds = (value) => (Number.isFinite(value) ? `${value.toFixed(4)} s` : "–");
const share = (value) => (Number.isFinite(value) ? `${digits(value * 100, 3)} %` : "–");

const codel = (x, p) => {
  const interval = milliseconds(p.interval ?? "100ms");
  const gap = interval / Math.sqrt(Math.max(1, x.count));
  return [
    ["the sojourn time has been above target since", Number.isFinite(x.first_above_s) ? `${seconds(x.first_above_s - interval / 1000)} (drops begin one interval later, at ${seconds(x.first_above_s)})` : "it is below target"],
    ["dropping", x.dropping ? "yes" : "no"],
    ["count, drops of this or the last dropping state", number(x.count)],
    ["next drop = last + interval / √count", `${x.dropping ? seconds(x.drop_next_s) : "none is due"}; interval / √${number(x.count)} = ${digits(gap, 4)} ms`],
  ];
};

const red = (x) => {
  const band = (x.avg - x.min) / (x.max - x.min);
  const base = Number.isFinite(band) ? Math.min(Math.max(band, 0), 1) * x.max_p : NaN;
  return [
    ["avg ← (1 − w) avg + w · queue", `${number(x.avg)} packets, with w = ${number(x.w)}`],
    ["p_b = max_p (avg − min) / (max − min)", Number.isFinite(base) ? `${number(x.max_p)} · (${number(x.avg)} − ${number(x.min)}) / (${number(x.max)} − ${number(x.min)}) = ${share(base)}` : share(x.probability)],
    ["p_a = p_b / (1 − count · p_b)", `count = ${number(x.count)} packets since the last drop or mark`],
  ];
};

const pie = (x, p) => {
  const target = milliseconds(p.target ?? "15ms") / 1000;
  const error = Number(p.alpha ?? 0.125) * (x.delay_s - target);
  return [
    ["p ← p + α (delay − target) + β (delay − delay_old)", share(x.drop_probability)],
    ["delay, as of the last update", `${digits(x.delay_s * 1000, 4)} ms`],
    ["α (delay − target), before it is scaled by the size of p", `${number(Number(p.alpha ?? 0.125))} · (${digits(x.delay_s * 1000, 4)} ms − ${digits(target * 1000, 4)} ms) = ${number(error)}`],
    ["β (delay − delay_old), likewise", Number.isFinite(x.delay_before_s)
      ? `${number(Number(p.beta ?? 1.25))} · (${digits(x.delay_s * 1000, 4)} ms − ${digits(x.delay_before_s * 1000, 4)} ms) = ${number((Number(p.beta ?? 1.25) * (x.delay_s - x.delay_before_s)))}`
      : "known after the next update: step on"],
    ["burst allowance, in which nothing is dropped", `${digits(x.burst_allowance_s * 1000, 4)} ms`],
  ];
};

const daqm = (x, p) => ["s3", "q3", "s2", "q2", "s1", "q1", "s0", "q0"].map((feature) => {
  const name = { s0: "s0_ms", q0: "q0_packets" }[feature] ?? feature;
  const threshold = p[feature] === "none" ? "not examined" : `threshold ${p[feature]}`;
  return [`|${feature.toUpperCase()}|`, `${number(x[name])} (${threshold})`];
}).concat([["arrivals are dropped with", x.dropping ? share(x.drop_rate) : "nothing: no feature was above its threshold"]]);

const LAWS = {
  codel,
  red, ared: red, nlred: red,
  pie,
  daqm,
  cobalt: (x, p) => [...codel({ ...x, first_above_s: NaN }, p).slice(1), ["BLUE: p rises when the queue is full, falls when it is empty", share(x.drop_probability)]],
  dualpi2: (x, p) => [
    ["p′ ← p′ + α (delay − target) + β (delay − delay_old)", share(x.base_probability)],
    ["delay of the classic queue", `${digits(x.delay_s * 1000, 4)} ms, target ${p.target}`],
    ["classic: p_C = p′²", share(x.classic_probability)],
    ["L4S: p_CL = k · p′", `${number(Number(p.coupling_factor ?? 2))} · ${share(x.base_probability)} = ${share(x.coupled_probability)}`],
    ["waiting", `${number(x.l4s_packets)} packets L4S, ${number(x.classic_packets)} packets classic`],
  ],
  pi: (x, p) => [["p ← p + a (queue − q_ref) − b (queue_old − q_ref)", share(x.drop_probability)], ["queue − q_ref", `${number(x.excess_packets)} packets, q_ref ${p.q_ref}`]],
  rem: (x) => [["p = 1 − φ^(−price)", share(x.drop_probability)], ["price ← max(0, price + γ (α (queue − b_ref) + input − capacity))", number(x.price)]],
  avq: (x) => [["virtual capacity ← virtual capacity + α (γ C − arrival rate) dt", `${digits(x.virtual_capacity_bit_s / 1e6, 4)} Mbit/s`], ["virtual queue; an arrival that it has no room for is dropped or marked", `${digits(x.virtual_queue, 5)} of ${digits(x.virtual_buffer, 5)} B`]],
  blue: (x) => [["p rises by increment at overflow and falls by decrement when the link is idle", share(x.probability)]],
  threshold: (x) => [["drop an arrival where queue ≥ q_th", `q_th = ${number(x.q_th)} packets`]],
  dropping_function: (x) => [["drop an arrival with probability d(n), n waiting", share(x.probability)]],
  sfb: (x) => [["a flow's p is the least of its bins", `the greatest bin: p = ${share(x.greatest_probability)}, ${number(x.greatest_bin_packets)} packets`]],
  green: (x) => [["p from the number of flows, their segment and RTT (Mathis)", `${share(x.probability)} for ${number(x.active_flows)} flows`]],
  sred: (x) => [["p grows with 1 / hit frequency squared", `${share(x.probability)}; some ${number(x.n_flows)} flows by their hits`]],
};

/** Lines of equation and value of a scheme; none where it has no equation here. */
export function law(aqm, x, p) {
  const name = aqm.trim().split(/\s+/)[0];
  const inner = name.startsWith("fq_") ? name.slice(3) : name;
  const lines = LAWS[inner]?.(x, p) ?? [];
  return name.startsWith("fq_") && lines.length > 0
    ? [["the longest queue, with its own state of the scheme", `${number(x.fattest_packets)} packets`], ...lines]
    : lines;
}
