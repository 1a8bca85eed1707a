import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { law } from "../src/equations.js";
import { buffer, command, inline, knobs, link, override, parameters, toml, unlink, withBuffer, withEcn } from "../src/model.js";
import { digits, interval, paired, shown, student } from "../src/stats.js";
import { parse } from "smol-toml";

const scenario = (name) => parse(readFileSync(new URL(`../../scenarios/${name}.toml`, import.meta.url), "utf8"));
const ABOUT = { parameters: [{ name: "limit", default: "1000p" }, { name: "ecn", default: "false" }, { name: "target", default: "5ms" }] };

test("a link gives the state back, files and odd letters included", () => {
  const state = {
    scenario: "mine.toml", set: ["links.neck.rate=5 Mbit/s", "flows=[{ name = \"a\" }]"], aqms: ["pfifo limit 3p", "dropping_function formula min(1,n/50)"],
    seed: 7, replicates: 3, tab: "queue", lesson: "", embed: true, files: { "mine.toml": "name = \"a & b\"\n# 100 %\n" },
  };
  assert.deepEqual(unlink(link(state)), state);
});

test("a link that says nonsense is the first state, within its bounds", () => {
  const state = unlink("#seed=x&replicates=100000&aqm=codel");
  assert.deepEqual([state.scenario, state.seed, state.replicates, state.aqms.length], ["home", 1, 100, 2]);
});

test("the command quotes what a shell would change", () => {
  const state = { scenario: "home", set: ["links.access.rate=5 Mbit/s"], aqms: ["codel", "dropping_function formula min(1,n/50)"], seed: 1, replicates: 5 };
  assert.equal(command(state), "sojourn compare home --set 'links.access.rate=5 Mbit/s' --aqm codel --aqm 'dropping_function formula min(1,n/50)' --seed 1 --replicates 5 --out out/home");
});

test("an override replaces an earlier one of its key", () => {
  assert.deepEqual(override(["a.b=1", "c=2"], "a.b", "3"), ["c=2", "a.b=3"]);
  assert.deepEqual(override(["a.b=1", "c=2"], "a.b", null), ["c=2"]);
});

test("the knobs of home and dumbbell", () => {
  // home: 10 + 5 ms there and as much back; the longest link besides the one under test has 10 ms.
  const home = knobs(scenario("home"));
  assert.deepEqual(home.rate, { key: "links.access.rate", mbit_s: 50 });
  assert.deepEqual(home.rtt, { key: "links.internet.delay", ms: 30, least_ms: 11, rest_ms: 5 });
  assert.deepEqual(home.flows.map((flow) => [flow.name, flow.tcp, flow.count]), [["download", true, 1], ["call", false, 1], ["game", false, 1], ["web", true, 30]]);
  // dumbbell: 5 + 10 + 5 ms.
  assert.equal(knobs(scenario("dumbbell")).rtt.ms, 40);
  assert.equal(knobs(scenario("lte")).rate, null);
});

test("buffer and ECN in a scheme's text", () => {
  assert.equal(buffer("pfifo limit 100p"), 100);
  assert.equal(withBuffer("codel target 9ms limit 3p", ABOUT, 50), "codel target 9ms limit 50p");
  assert.equal(withBuffer("codel", ABOUT, 50), "codel limit 50p");
  assert.equal(withEcn("codel limit 3p", ABOUT, true), "codel limit 3p ecn");
  assert.equal(withEcn("codel ecn", ABOUT, false), "codel");
  assert.equal(withEcn("fq_codel", { parameters: [{ name: "ecn", default: "true" }] }, false), "fq_codel noecn");
  assert.equal(withEcn("pfifo", { parameters: [] }, true), "pfifo");
  assert.equal(parameters("codel target 20ms", ABOUT).target, "20ms");
});

test("values as TOML on one line read back", () => {
  const value = { name: "a b", list: [1, 2.5, { "odd key": true }], none: null };
  const plain = (read) => JSON.parse(JSON.stringify(read));
  assert.deepEqual(plain(parse(`x = ${inline(value)}`).x), { name: "a b", list: [1, 2.5, { "odd key": true }] });
  assert.deepEqual(plain(parse(toml(JSON.stringify({ a: 1, links: [{ name: "n" }] })))), { a: 1, links: [{ name: "n" }] });
});

test("Student's t beyond its table is near the expansion's exact value", () => {
  // 2.0395 at 31 degrees of freedom, 1.9840 at 100 (tables of the t distribution).
  assert.ok(Math.abs(student(31) - 2.0395) < 1e-4);
  assert.ok(Math.abs(student(100) - 1.984) < 1e-4);
});

test("an interval, and that of paired differences", () => {
  // 1, 2, 3, 4: mean 2.5, s = sqrt(5/3); t(3) = 3.182446: 3.182446 * sqrt(5/12) = 2.054260.
  const found = interval([1, 2, 3, 4]);
  assert.ok(Math.abs(found.mean - 2.5) < 1e-12 && Math.abs(found.half - 2.05426) < 1e-5);
  assert.deepEqual(paired([1, 2, 3], [2, 3, 4]), { mean: 1, half: 0, n: 3 });
  assert.equal(interval([NaN, 5]).n, 1);
  assert.equal(shown({ mean: -205.234, half: 3.14 }), "−205.2 ± 3.1");
  assert.equal(shown({ mean: 0.001542, half: 0.000203 }, 100), "0.154 ± 0.020");
  assert.equal(shown({ mean: NaN, half: NaN }), "–");
  assert.equal(digits(0.00001234, 3), "1.23e-5");
});

test("CoDel's next drop and RED's probability beside their equations", () => {
  const codel = law("codel interval 100ms", { count: 4, dropping: 1, drop_next_s: 2.5, first_above_s: 2 }, { interval: "100ms" });
  // 100 ms / sqrt(4) = 50 ms.
  assert.match(codel.at(-1)[1], /2\.5000 s; interval \/ √4 = 50 ms/);
  const red = law("fq_red", { avg: 60, min: 30, max: 90, max_p: 0.1, w: 0.002, count: 2, fattest_packets: 5 }, {});
  // 0.1 (60 - 30) / (90 - 30) = 5 %.
  assert.match(red[2][1], /= 5 %$/);
  const pie = { drop_probability: 0.01, delay_s: 0.02, delay_before_s: 0.016, burst_allowance_s: 0 };
  const terms = law("pie", pie, { alpha: "0.125", beta: "1.25", target: "15ms" });
  // 0.125 (20 - 15) ms = 0.000625; 1.25 (20 - 16) ms = 0.005.
  assert.match(terms[2][1], /= 0\.000625$/);
  assert.match(terms[3][1], /= 0\.005$/);
  assert.deepEqual(law("pfifo", {}, {}), []);
});
