// Runs of a page: time series while they compute, then replications.

import { spacing } from "./model.js";

/** The longest time between two looks at a run, in ms: charts move ten times a second or more. */
const LOOK_MS = 40;

/** Points of one scheme, each an array by time. */
function empty() {
  return { t: [], queue: [], goodput: [], drops: [], marks: [], capacity: [], delays: {} };
}

/** Mean of the values of several series at each point, of those that have one. */
function mean(all, length) {
  return Array.from({ length }, (_, at) => {
    const known = all.map((values) => values[at]).filter((value) => value !== null && value !== undefined);
    return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  });
}

/** Adds the points of an answer; `groups` has the group of each flow. */
function append(points, series, groups, queue) {
  const of = (name) => (series.find((one) => one.name === name) ?? series.find((one) => one.name === `${name}:${queue}`))?.value;
  const length = series[0]?.t_s.length ?? 0;
  if (length === 0) return;
  const scaled = (values, scale) => (values ?? Array(length).fill(null)).map((value) => (value === null ? null : value * scale));
  points.t.push(...series[0].t_s);
  points.queue.push(...scaled(of("queue_packets"), 1));
  points.goodput.push(...scaled(of("goodput_bit_s"), 1e-6));
  points.drops.push(...scaled(of("drops_packets_s"), 1));
  points.marks.push(...(of("marks_packets_s") ?? Array(length).fill(0)));
  points.capacity.push(...scaled(of("capacity_bit_s"), 1e-6));
  const delays = {};
  for (const { name, value } of series) {
    const [quantity, flow] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
    if (quantity === "one_way_delay_ms" && groups[flow]) (delays[groups[flow]] ??= []).push(value);
  }
  for (const [group, all] of Object.entries(delays)) {
    // A group whose first packet came late has no value before.
    const before = points.t.length - length;
    const own = (points.delays[group] ??= Array(before).fill(null));
    own.push(...Array(before - own.length).fill(null), ...mean(all, length));
  }
  for (const own of Object.values(points.delays)) own.push(...Array(points.t.length - own.length).fill(null));
}

/** One run of both schemes and their replications. `tell` gets what there is, whenever there is more. */
export class Comparison {
  constructor(pool, tell) {
    this.pool = pool;
    this.tell = tell;
    this.number = 0;
  }

  /** Ends what runs. */
  stop() {
    this.number += 1;
  }

  /**
   * Runs both schemes of `state` on a scenario that the simulator has read: points while it runs, then the reports of all
   * replications, of which the first is what was shown.
   */
  async start(scenario, state) {
    this.stop();
    const number = this.number;
    const isOld = () => number !== this.number;
    const interval = spacing(scenario.duration_s);
    const document = JSON.parse(scenario.json);
    document.series = { interval: `${interval}ms`, flows: true };
    const json = JSON.stringify(document);
    const groups = Object.fromEntries(scenario.flows.map(({ name, group }) => [name, group]));
    const sides = state.aqms.map(() => ({ points: empty(), reports: [], error: null }));
    const shown = { sides, end_s: scenario.duration_s, warm_up_s: scenario.warm_up_s, replicates: state.replicates, done: false };
    this.tell(shown);
    // In slices, so that a reader who changes something does not wait for the end of a run.
    const step = async (side, replication, series) => {
      const { points } = sides[side];
      await this.pool.ask(side, {
        do: "open", run: 1, scenario: series ? json : scenario.json,
        task: { scheme: state.aqms[side], seed: state.seed, replication, series: series ? `${interval}ms` : null },
      });
      let slice = 5 * interval;
      for (let until = slice; ; until += slice) {
        const began = performance.now();
        const found = await this.pool.ask(side, { do: "advance", run: 1, until_ns: Math.round(until * 1e6), from: points.t.length });
        if (isOld()) return;
        if (series) append(points, found.series, groups, scenario.queues[0]);
        this.tell(shown);
        if (until >= scenario.duration_s * 1000) break;
        const took = performance.now() - began;
        slice = Math.max(interval, Math.min(4 * slice, (slice * LOOK_MS) / Math.max(1, took)));
      }
      sides[side].reports[replication] = await this.pool.ask(side, { do: "report", run: 1 });
    };
    const all = async (side) => {
      try {
        for (let replication = 0; replication < state.replicates && !isOld(); replication++) {
          await step(side, replication, replication === 0);
          this.tell(shown);
        }
      } catch (error) {
        if (!isOld()) sides[side].error = error.message;
      }
    };
    await Promise.all(state.aqms.map((_, side) => all(side)));
    if (isOld()) return;
    shown.done = true;
    this.tell(shown);
  }
}
