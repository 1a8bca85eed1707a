// What a page runs: a scenario, overrides and two schemes, in the words of `sojourn compare`.

import { parse, stringify } from "smol-toml";

export const FIRST = {
  scenario: "home",
  set: [],
  aqms: ["pfifo limit 1000p", "fq_codel"],
  seed: 1,
  replicates: 5,
};

/** A state as the part of an address behind `#`; a scenario of the reader's own is in it as a whole. */
export function link(state) {
  const words = new URLSearchParams();
  words.set("scenario", state.scenario);
  state.set.forEach((one) => words.append("set", one));
  state.aqms.forEach((one) => words.append("aqm", one));
  words.set("seed", state.seed);
  words.set("replicates", state.replicates);
  if (state.tab && state.tab !== "compare") words.set("tab", state.tab);
  if (state.lesson) words.set("lesson", state.lesson);
  if (state.embed) words.set("embed", "1");
  for (const [name, text] of Object.entries(state.files ?? {})) words.append("file", `${name}\n${text}`);
  return `#${words}`;
}

/** The state of an address; what it leaves out is as in `FIRST`. */
export function unlink(hash) {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const whole = (name, least, most) => {
    const value = Number.parseInt(words.get(name) ?? "", 10);
    return Number.isInteger(value) ? Math.min(most, Math.max(least, value)) : FIRST[name];
  };
  const aqms = words.getAll("aqm");
  const files = words.getAll("file").map((one) => {
    const end = one.indexOf("\n");
    return [one.slice(0, end), one.slice(end + 1)];
  });
  return {
    scenario: words.get("scenario") ?? FIRST.scenario,
    set: words.getAll("set"),
    aqms: aqms.length === 2 ? aqms : FIRST.aqms,
    seed: whole("seed", 0, 2 ** 31),
    replicates: whole("replicates", 1, 100),
    tab: words.get("tab") ?? "compare",
    lesson: words.get("lesson") ?? "",
    embed: words.get("embed") === "1",
    files: Object.fromEntries(files),
  };
}

const quoted = (text) => (/^[\w.,:/=%+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** The command that runs the same. */
export function command({ scenario, set, aqms, seed, replicates }) {
  const name = scenario.replace(/\.toml$/, "");
  const words = ["sojourn compare", quoted(scenario)];
  set.forEach((one) => words.push("--set", quoted(one)));
  aqms.forEach((one) => words.push("--aqm", quoted(one)));
  words.push("--seed", seed, "--replicates", replicates, "--out", quoted(`out/${name}`));
  return words.join(" ");
}

/** Canonical JSON of a scenario as TOML. */
export function toml(json) {
  return stringify(JSON.parse(json));
}

/** Overrides with one more, in place of an earlier one of the same key. */
export function override(set, key, value) {
  const rest = set.filter((one) => one.slice(0, one.indexOf("=")).trim() !== key);
  return value === null ? rest : [...rest, `${key}=${value}`];
}

/** A value as TOML on one line. */
export function inline(value) {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (value !== null && typeof value === "object") {
    const entries = Object.entries(value).filter(([, one]) => one !== null);
    return `{ ${entries.map(([key, one]) => `${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)} = ${inline(one)}`).join(", ")} }`;
  }
  return JSON.stringify(value);
}

/** Name and description of a scenario's text. */
export function about(text) {
  try {
    const { name, description = "" } = parse(text);
    return { name, description };
  } catch {
    return { name: "", description: "" };
  }
}

const UNITS = { "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9 };
const TIMES = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1e3, min: 6e4 };

/** A number and its unit, of these units; NaN where it is another text. */
function measured(text, units) {
  const found = /^\s*([\d.eE+-]+)\s*(\S+)\s*$/.exec(String(text ?? ""));
  return found && found[2] in units ? Number(found[1]) * units[found[2]] : NaN;
}

export const mbitS = (text) => measured(text, UNITS) / 1e6;
export const milliseconds = (text) => measured(text, TIMES);

/** Links by name, as overrides call them. */
const key = (link, index) => `links.${link.name ?? index}`;

/** True where a node of a flow is at the end of a link that names nodes together: `server3` is one of `server`. */
const isAt = (node, end) => node === end || (node.startsWith(end) && /^\d+$/.test(node.slice(end.length)));

/** The links of the way from one node to another; none where there is no way over links alone. */
function way(links, from, to) {
  const ends = (link) => [[link.from, link.to], [link.to, link.from]];
  let ways = [[from, []]];
  const seen = new Set([from]);
  while (ways.length > 0) {
    const next = [];
    for (const [node, passed] of ways) {
      if (isAt(to, node) || isAt(node, to)) return passed;
      for (const one of links) {
        for (const [start, end] of ends(one)) {
          if ((isAt(node, start) || isAt(start, node)) && !seen.has(end)) {
            seen.add(end);
            next.push([end, [...passed, one]]);
          }
        }
      }
    }
    ways = next;
  }
  return [];
}

/**
 * What the sliders of a scenario set: the rate of the link under test, the base RTT by the delay of the longest other link,
 * the flows; what a scenario has not is null.
 */
export function knobs(scenario) {
  const links = scenario.links ?? [];
  const tested = links.find((link) => link.under_test);
  const first = scenario.flows?.[0];
  const passed = first ? way(links, first.from, first.to) : [];
  const delays = passed.map((link) => milliseconds(link.delay));
  const known = delays.length > 0 && delays.every(Number.isFinite);
  const other = passed.filter((link) => link !== tested).sort((a, b) => milliseconds(b.delay) - milliseconds(a.delay))[0];
  const longest = other ?? passed[0];
  const total = delays.reduce((sum, delay) => sum + delay, 0);
  const rate = tested ? mbitS(tested.rate) : NaN;
  return {
    rate: Number.isFinite(rate) ? { key: `${key(tested, links.indexOf(tested))}.rate`, mbit_s: rate } : null,
    rtt: known ? {
      key: `${key(longest, links.indexOf(longest))}.delay`,
      ms: 2 * total,
      least_ms: Math.ceil(2 * (total - milliseconds(longest.delay)) + 1),
      rest_ms: total - milliseconds(longest.delay),
    } : null,
    flows: (scenario.flows ?? []).map((flow, index) => ({
      name: flow.name ?? String(index),
      key: `flows.${flow.name ?? index}`,
      count: flow.count ?? 1,
      tcp: (flow.transport?.kind ?? "tcp") === "tcp",
      control: flow.transport?.congestion_control ?? "newreno",
      ecn: Boolean(flow.transport?.ecn),
      kind: flow.traffic?.kind ?? "bulk",
      from: flow.from,
      to: flow.to,
    })),
  };
}

/** How many packets of 1500 B a buffer of a scheme's text holds; NaN where it says nothing in packets. */
export function buffer(aqm) {
  const found = /(?:^|\s)limit\s+(\d+)p?(?=\s|$)/.exec(aqm);
  return found ? Number(found[1]) : NaN;
}

/** The scheme's text with another limit, where `about` has one in packets. */
export function withBuffer(aqm, about, packets) {
  const limit = about?.parameters.find((one) => one.name === "limit");
  if (!limit || !/p$/.test(String(limit.default))) return aqm;
  const limited = /(^|\s)limit\s+\S+/;
  return limited.test(aqm) ? aqm.replace(limited, `$1limit ${packets}p`) : `${aqm} limit ${packets}p`;
}

/** The scheme's text with ECN on or off, where it is a word of the scheme. */
export function withEcn(aqm, about, on) {
  const has = about?.parameters.some((one) => one.name === "ecn");
  const plain = aqm.replace(/\s+(no)?ecn(?=\s|$)/g, "");
  if (!has) return plain;
  const byDefault = String(about.parameters.find((one) => one.name === "ecn").default) === "true";
  if (on === byDefault) return plain;
  return `${plain} ${on ? "ecn" : "noecn"}`;
}

/** The parameters of a scheme's text and their defaults, by name. */
export function parameters(aqm, about) {
  const all = Object.fromEntries((about?.parameters ?? []).map((one) => [one.name, one.default]));
  const words = aqm.trim().split(/\s+/).slice(1);
  for (let at = 0; at < words.length; at++) {
    if (words[at] in all && typeof all[words[at]] !== "boolean") all[words[at]] = words[at + 1];
  }
  return all;
}

/** A spacing of time series that gives some 300 points. */
export function spacing(duration_s) {
  const steps = [10, 20, 50, 100, 200, 500, 1000];
  const wanted = (duration_s * 1000) / 300;
  return steps.find((step) => step >= wanted) ?? 2000;
}
