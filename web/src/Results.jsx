import { interval, paired, shown as text } from "./stats.js";

/** What the table shows of a run, and of each group of flows. */
const OF_RUN = ["sojourn_ms_mean", "sojourn_ms_p99", "queue_packets_mean", "goodput_bit_s", "utilisation", "loss_ratio", "mark_ratio", "jain_index"];
const OF_GROUP = ["one_way_delay_ms_p99", "goodput_bit_s", "loss_ratio", "flow_completion_s_p50"];

/** Means with 95 % intervals of both schemes, and their paired difference. */
export function Results({ shown, labels, metrics, groups }) {
  if (!shown || shown.sides.every((side) => side.reports.length === 0)) return null;
  const known = Object.fromEntries(metrics.map((metric) => [metric.name, metric]));
  const many = Math.min(...shown.sides.map((side) => side.reports.length));
  const value = (report, name, group) => {
    const own = group === null ? report.metrics : report.groups.find((one) => one.name === group)?.metrics;
    return own?.[name] ?? NaN;
  };
  const row = (name, group) => {
    const of = shown.sides.map((side) => side.reports.map((report) => value(report, name, group)));
    if (of.every((values) => values.every((one) => !Number.isFinite(one)))) return null;
    const { title, shown_unit: unit, scale, definition } = known[name];
    const difference = paired(...of.map((values) => values.slice(0, many)));
    return (
      <tr key={`${group} ${name}`}>
        <th scope="row" title={definition}>{title}{unit ? <span class="unit"> ({unit})</span> : null}</th>
        {of.map((values, at) => <td key={labels[at] + at}>{text(interval(values), scale)}</td>)}
        <td>{many > 1 ? text(difference, scale) : "–"}</td>
      </tr>
    );
  };
  const block = (title, names, group) => {
    const rows = names.map((name) => row(name, group)).filter(Boolean);
    return rows.length === 0 ? null : [<tr key={title} class="head"><th colSpan="4" scope="colgroup">{title}</th></tr>, ...rows];
  };
  const done = shown.sides.map((side) => side.reports.length);
  return (
    <section class="results" aria-label="Results">
      <p role="status">
        {shown.replicates === 1 ? "One replication, which has no interval." : shown.done
          ? `Means of ${shown.replicates} replications with 95 % intervals; the difference is paired by replication.`
          : `Replications: ${Math.min(...done)} of ${shown.replicates} done.`}
      </p>
      <div class="scroll" tabIndex="0" role="region" aria-label="Table of results">
        <table>
          <thead><tr><th scope="col">metric</th>{labels.map((label, at) => <th scope="col" key={at} class={`side${at}`}>{label}</th>)}<th scope="col">difference</th></tr></thead>
          <tbody>
            {block("All packets of the queue, all flows", OF_RUN, null)}
            {groups.length > 1 && groups.map((group) => block(`Flows “${group}”`, OF_GROUP, group))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
