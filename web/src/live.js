// Live figures of a report: values over time with a cursor, and a part of the time chosen by dragging.

import style from "uplot/dist/uPlot.min.css";
import { plotted } from "./plot.js";

const tone = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function draw(given) {
  const { t_s: times, end_s: end, warm_up_s: warmUp, schemes, figures } = JSON.parse(given.textContent);
  const tones = { text: tone("--ink"), grid: tone("--rule"), shade: "rgb(120 130 140 / 12%)" };
  for (const { title, unit, values } of figures) {
    const figure = document.createElement("figure");
    const caption = document.createElement("figcaption");
    caption.textContent = `${title} (${unit})`;
    const box = document.createElement("div");
    box.role = "img";
    box.ariaLabel = `${title} over time; the figures above show the same.`;
    figure.append(caption, box);
    given.before(figure);
    const lines = schemes.map(({ label, color }) => ({ label, stroke: color }));
    plotted(box, { unit, lines, end, warmUp, tones, values: [times, ...values] });
  }
}

const sheet = document.createElement("style");
sheet.textContent = style;
document.head.append(sheet);
for (const given of document.querySelectorAll("script.live")) {
  // Drawn when first looked at: what is folded has no width.
  const folded = given.closest("details");
  folded.style.display = "block";
  folded.addEventListener("toggle", () => draw(given), { once: true });
}
