// Fetches the page again, takes over what changed, and draws the last two minutes of what has a number.
"use strict";

const EVERY_MS = 1000;
const POINTS = 120;
const history = new Map();
const charts = document.getElementById("charts");
const live = document.getElementById("live");

// Three significant digits, and the prefix of the unit.
function short(value) {
  const steps = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]];
  if (!Number.isFinite(value) || value === 0) return ["0", ""];
  const [step, prefix] = steps.find(([step]) => Math.abs(value) >= step) || [1e-6, "µ"];
  // As a number, so that 150 keeps its zero and 1.50 loses its own.
  return [String(Number((value / step).toPrecision(3))), prefix];
}

// What is a percentage or a count has no prefix: 250 %, 4194 p, 0.5 /s.
function label(value, unit) {
  if (unit === "p" && Number.isInteger(value)) return `${value} p`;
  if (["%", "p", "/s"].includes(unit)) return `${Number(value.toPrecision(3))} ${unit}`;
  const [digits, prefix] = short(value);
  return `${digits} ${prefix}${unit}`;
}

// The end of the axis: 1, 2 or 5 times a power of ten, not below the largest value.
function ceiling(value, least) {
  const wanted = Math.max(value, least);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = [1, 2, 5, 10].find((step) => step * power >= wanted * (1 - 1e-9));
  return step * power;
}

function chart(id, name) {
  const figure = document.createElement("figure");
  figure.id = "chart-" + id;
  figure.innerHTML = '<figcaption><span class="name"></span><span class="now"></span></figcaption>'
    + '<div class="y" aria-hidden="true"><span></span><span></span><span>0</span></div>'
    + `<svg viewBox="0 0 ${POINTS - 1} 100" preserveAspectRatio="none" role="img">`
    + `<line class="grid" x1="0" x2="${POINTS - 1}" y1="0" y2="0"/><line class="grid" x1="0" x2="${POINTS - 1}" y1="50" y2="50"/>`
    + '<polyline points=""/></svg>'
    + '<div class="x" aria-hidden="true"><span>2 min ago</span><span>1 min</span><span>now</span></div>';
  figure.querySelector(".name").textContent = name;
  figure.querySelector("svg").setAttribute("aria-label", name + ", last two minutes");
  charts.append(figure);
  charts.hidden = false;
  return figure;
}

// No axis ends below this: noise of a few microseconds would fill the picture.
const LEAST = { s: 1e-5, p: 2, "%": 1, "/s": 2 };

function draw(cell, now) {
  const { value, unit, name } = cell.dataset;
  const grows = "grows" in cell.dataset;
  const known = history.get(cell.id) || { points: [], last: null };
  history.set(cell.id, known);
  const number = Number(value);
  if (!Number.isFinite(number)) return;
  // Of what only grows the change a second is drawn; a restart of the device starts anew.
  const change = known.last && number >= known.last.number
    ? (number - known.last.number) / Math.max((now - known.last.now) / 1000, 0.001) : null;
  known.last = { number, now };
  if (grows && change === null) return;
  known.points.push(grows ? change : number);
  known.points.splice(0, known.points.length - POINTS);
  const figure = document.getElementById("chart-" + cell.id) || chart(cell.id, name);
  const top = ceiling(Math.max(...known.points), LEAST[unit] || 1e-9);
  const [high, middle] = figure.querySelectorAll(".y span");
  high.textContent = label(top, unit);
  middle.textContent = label(top / 2, unit);
  figure.querySelector(".now").textContent = label(known.points.at(-1), unit);
  const first = POINTS - known.points.length;
  const points = known.points.map((y, i) => `${first + i},${100 - 100 * y / top}`);
  figure.querySelector("polyline").setAttribute("points", points.join(" "));
}

function drawAll() {
  const now = performance.now();
  document.querySelectorAll("td[data-value]").forEach((cell) => draw(cell, now));
}

function takeOver(fresh) {
  for (const element of fresh.querySelectorAll("td[id], span[id], div[id]")) {
    if (element.id === "live") continue;
    const here = document.getElementById(element.id);
    if (!here) continue;
    if (here.innerHTML !== element.innerHTML) here.innerHTML = element.innerHTML;
    if (here.tagName === "TD") {
      for (const key of Object.keys(here.dataset)) delete here.dataset[key];
      Object.assign(here.dataset, element.dataset);
    }
  }
}

async function look() {
  try {
    const answer = await fetch("/", { cache: "no-store" });
    if (answer.redirected) { location.reload(); return; }
    if (!answer.ok) throw new Error(answer.statusText);
    takeOver(new DOMParser().parseFromString(await answer.text(), "text/html"));
    drawAll();
    live.textContent = "Live.";
    live.className = "";
  } catch (error) {
    live.textContent = "The device does not answer; these numbers are old.";
    live.className = "late";
  }
  setTimeout(look, EVERY_MS);
}

drawAll();
look();
