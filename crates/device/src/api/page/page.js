// Fetches the page again, takes over what changed, and draws the last two minutes of what has a number.
"use strict";

const EVERY_MS = 1000;
const POINTS = 120;
const history = new Map();
const charts = document.getElementById("charts");
const live = document.getElementById("live");

function short(value) {
  const steps = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"]];
  const [step, prefix] = steps.find(([step]) => Math.abs(value) >= step) || [1, ""];
  return [(value / step).toPrecision(3).replace(/\.?0+$/, ""), prefix];
}

function chart(id, name) {
  const figure = document.createElement("figure");
  figure.id = "chart-" + id;
  figure.innerHTML = '<figcaption><span></span><span></span></figcaption>'
    + '<svg viewBox="0 0 119 100" preserveAspectRatio="none" role="img"><polyline points=""/></svg>';
  figure.querySelector("span").textContent = name;
  figure.querySelector("svg").setAttribute("aria-label", name + ", last two minutes");
  charts.append(figure);
  charts.hidden = false;
  return figure;
}

function draw(cell, now) {
  const { value, unit, name } = cell.dataset;
  const grows = "grows" in cell.dataset;
  const known = history.get(cell.id) || { points: [], last: null };
  history.set(cell.id, known);
  const number = Number(value);
  // Of what only grows the change a second is drawn; a restart of the device starts anew.
  const change = known.last && number >= known.last.number
    ? (number - known.last.number) / Math.max((now - known.last.now) / 1000, 0.001) : null;
  known.last = { number, now };
  if (grows && change === null) return;
  known.points.push(grows ? change : number);
  known.points.splice(0, known.points.length - POINTS);
  const figure = document.getElementById("chart-" + cell.id) || chart(cell.id, name);
  const top = Math.max(...known.points) || 1;
  const [digits, prefix] = short(top);
  figure.querySelectorAll("span")[1].textContent = `up to ${digits} ${prefix}${unit}`;
  const first = POINTS - known.points.length;
  const points = known.points.map((y, i) => `${first + i},${98 - 96 * y / top}`);
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
