// Charts of values over time: of the page, and of the reports of Sojourn.

import uPlot from "uplot";
import { digits } from "./stats.js";

const SYNC = uPlot.sync("time");
const HEIGHT = 190;

/**
 * Draws a chart into an element that gives it its width; returns the chart and what removes it.
 *
 * `lines` has label, colour (`stroke`) and whether it is dashed, `tones` the colours of text, grid and of the time up to
 * `warmUp`, which is shaded. `values` is the time and the values of each line, as uPlot takes them.
 */
export function plotted(box, { unit, lines, end, warmUp, tones, values }) {
  const axis = { stroke: tones.text, grid: { stroke: tones.grid, width: 1 }, ticks: { stroke: tones.grid }, font: "12px system-ui" };
  const chart = new uPlot({
    width: box.clientWidth,
    height: HEIGHT,
    cursor: { sync: { key: SYNC.key }, y: false },
    legend: { live: true },
    scales: { x: { time: false, range: (self, low, high) => (self.zoomed ? [low, high] : [0, end]) }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [
      { ...axis, size: 34, values: (_, all) => all.map((value) => `${value} s`) },
      { ...axis, size: 56, values: (_, all) => all.map((value) => digits(value, 3)) },
    ],
    series: [
      { label: "time", value: (_, value) => (value === null ? "–" : `${digits(value, 4)} s`) },
      ...lines.map((line) => ({
        label: line.label,
        stroke: line.stroke,
        width: 1.8,
        dash: line.dash ? [6, 4] : undefined,
        spanGaps: false,
        points: { show: false },
        value: (_, value) => (value === null || value === undefined ? "–" : `${digits(value, 4)} ${unit}`),
      })),
    ],
    hooks: {
      setSelect: [(self) => { self.zoomed = self.select.width > 0; }],
      drawClear: [(self) => {
        const { ctx, bbox } = self;
        const from = Math.max(bbox.left, self.valToPos(0, "x", true));
        ctx.fillStyle = tones.shade;
        ctx.fillRect(from, bbox.top, Math.max(0, Math.min(bbox.left + bbox.width, self.valToPos(warmUp, "x", true)) - from), bbox.height);
      }],
    },
  }, values, box);
  // A double click shows the whole again.
  box.addEventListener("dblclick", () => {
    chart.zoomed = false;
    chart.setData(chart.data);
  });
  const seen = new ResizeObserver(() => chart.setSize({ width: box.clientWidth, height: HEIGHT }));
  seen.observe(box);
  const remove = () => {
    seen.disconnect();
    chart.destroy();
  };
  return { chart, remove };
}
