import { cloneElement } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { plotted } from "./plot.js";
import { digits } from "./stats.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A chart over time. `lines` has label, values, side and whether it is dashed. */
function Chart({ title, unit, t, lines, end, warmUp, rank, dark }) {
  const place = useRef(null);
  const plot = useRef(null);
  const wanted = useRef(null);
  const kinds = lines.map((line) => `${line.label}|${line.tone}|${line.dash}`).join("\n");
  wanted.current = [t, ...lines.map((line) => line.values)];

  const make = () => {
    const tones = { text: color("--text"), grid: color("--grid"), shade: color("--shade") };
    const drawn = lines.map((line) => ({ ...line, stroke: color(line.tone) }));
    const { chart, remove } = plotted(place.current, { unit, lines: drawn, end, warmUp, tones, values: wanted.current });
    plot.current = chart;
    return () => {
      plot.current = null;
      remove();
    };
  };
  useEffect(() => {
    // One after the other: to make all at once holds the page for too long.
    let remove = () => undefined;
    const timer = setTimeout(() => { remove = make(); }, 25 * rank);
    return () => {
      clearTimeout(timer);
      remove();
    };
  }, [kinds, end, warmUp, unit, dark]);

  useEffect(() => plot.current?.setData(wanted.current));

  const last = lines.map((line) => {
    const known = line.values.filter((value) => value !== null && value !== undefined);
    return `${line.label}: ${known.length > 0 ? `${digits(known[known.length - 1], 3)} ${unit}` : "no value yet"}`;
  });
  return (
    <figure class="chart">
      <figcaption>{title} <span class="unit">({unit})</span></figcaption>
      <div ref={place} role="img" aria-label={`${title} over time. At present: ${last.join("; ")}`} />
    </figure>
  );
}

/** The four pictures of a comparison. */
export function Charts({ shown, labels, group, groups, onGroup, watch, dark }) {
  if (!shown) return <p class="note" role="status">The simulator is being loaded.</p>;
  const { sides, end_s: end, warm_up_s: warmUp } = shown;
  const longest = sides.reduce((one, side) => (side.points.t.length > one.length ? side.points.t : one), []);
  const padded = (values) => (values.length < longest.length ? [...values, ...Array(longest.length - values.length).fill(null)] : values);
  const lines = (pick) => sides.map((side, at) => ({ label: labels[at], values: padded(pick(side.points)), tone: `--side${at}` }));
  const has = (pick) => sides.some((side) => pick(side.points).some((value) => value));
  const capacity = has((points) => points.capacity)
    ? [{ label: "link", values: padded(sides[0].points.capacity), tone: "--muted", dash: true }] : [];
  const marks = has((points) => points.marks)
    ? sides.map((side, at) => ({ label: `${labels[at]}, marks`, values: padded(side.points.marks), tone: `--side${at}`, dash: true })) : [];
  const common = { t: longest, end, warmUp, dark };
  const all = {
    backlog: <Chart {...common} key="backlog" title="Queue" unit="packets" lines={lines((points) => points.queue)} />,
    delay: <Chart {...common} key="delay" title={`One-way delay of ${group}`} unit="ms" lines={lines((points) => points.delays[group] ?? [])} />,
    goodput: <Chart {...common} key="goodput" title="Goodput of all flows" unit="Mbit/s" lines={[...lines((points) => points.goodput), ...capacity]} />,
    signals: <Chart {...common} key="signals" title={marks.length > 0 ? "Drops, and marks (dashed)" : "Drops"} unit="packets/s" lines={[...lines((points) => points.drops), ...marks]} />,
  };
  const order = Object.keys(all).sort((a, b) => (b === watch) - (a === watch));
  return (
    <section aria-label="Pictures over time">
      {groups.length > 1 && (
        <label class="group">Delay of{" "}
          <select value={group} onChange={(event) => onGroup(event.currentTarget.value)}>
            {groups.map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
      )}
      <div class="charts">{order.map((name, rank) => cloneElement(all[name], { rank }))}</div>
      <p class="note">Grey: the warm-up, which the table leaves out.</p>
    </section>
  );
}
