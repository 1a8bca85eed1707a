import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { law } from "./equations.js";
import { parameters, spacing } from "./model.js";
import { digits } from "./stats.js";

/** Run number of the watched queue; those of the comparison are on other lines. */
const RUN = 2;
const LINE = 2;
/** Colours by flow, which differ for most colour-blind readers too (Okabe and Ito). */
const TONES = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999"];
const WHY = { overflow: "the queue is full", early: "decision of the algorithm", flow: "decision against its flow" };
/** Events that the list keeps. */
const KEPT = 60;
/** Internals that are instants or flags need no more digits than this. */
const DIGITS = 5;

const tone = (flow) => (flow === null || flow === undefined ? "#777777" : TONES[flow % TONES.length]);
const named = (flows, flow) => flows[flow]?.name ?? "another flow";

/** The packets of the queue, the oldest at the right, as many as there is room for. */
function Picture({ queue, recent, flows, dark }) {
  const place = useRef(null);
  useEffect(() => {
    const canvas = place.current;
    const draw = () => {
      const width = canvas.clientWidth;
      const size = width < 500 ? 16 : 22;
      const across = Math.max(8, Math.floor((width - 4) / size));
      const down = Math.min(12, Math.max(3, Math.ceil((queue.packets.length + 1) / across)));
      const ratio = window.devicePixelRatio || 1;
      canvas.style.height = `${down * size + 4}px`;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round((down * size + 4) * ratio);
      const pen = canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.font = `${size < 20 ? 9 : 11}px system-ui`;
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      const text = getComputedStyle(document.documentElement).getPropertyValue("--text").trim();
      queue.packets.slice(0, across * down).forEach((packet, at) => {
        // The oldest is at the right of the first row.
        const x = width - 2 - ((at % across) + 1) * size;
        const y = 2 + Math.floor(at / across) * size;
        pen.fillStyle = tone(packet.flow);
        // A small packet is a low box.
        const high = packet.bytes > 500 ? size - 3 : (size - 3) / 2;
        pen.fillRect(x + 1, y + 1 + (size - 3 - high), size - 3, high);
        if (packet.marked || packet.ecn === 3) {
          pen.strokeStyle = text;
          pen.lineWidth = 2;
          pen.strokeRect(x + 2, y + 2, size - 5, size - 5);
        }
        pen.fillStyle = packet.flow === 6 ? "#000" : "#fff";
        if (packet.bytes > 500) pen.fillText(packet.flow === null ? "?" : String(packet.flow), x + size / 2 - 0.5, y + size / 2 + 0.5);
      });
    };
    draw();
    const seen = new ResizeObserver(draw);
    seen.observe(canvas);
    return () => seen.disconnect();
  }, [queue, dark]);
  const counts = {};
  queue.packets.forEach(({ flow }) => { counts[flow] = (counts[flow] ?? 0) + 1; });
  const said = Object.entries(counts).map(([flow, many]) => `${many} of ${named(flows, flow)}`).join(", ");
  const drops = recent.filter((event) => event.what === "dropped").slice(-1)[0];
  return (
    <figure>
      <figcaption>{queue.waiting} packets wait, here in the order of their arrival: the oldest is at the right of the first row.</figcaption>
      <canvas ref={place} class="packets" role="img" aria-label={queue.waiting === 0 ? "The queue is empty." : `Waiting: ${said}.`} />
      <p class="note">A number and a colour for each flow; a low box is a packet of 500 B or less; a frame is a CE mark.
        {drops ? ` Last drop: packet ${drops.serial} of ${named(flows, drops.flow)}, ${WHY[drops.reason] ?? drops.reason}.` : ""}</p>
    </figure>
  );
}

const WORDS = { arrived: "arrives", dropped: "is dropped", marked: "is marked CE", left: "leaves" };

function Events({ recent, flows }) {
  return (
    <div class="scroll events" tabIndex="0" role="region" aria-label="What happened at the queue, the latest first">
      <table>
        <thead><tr><th scope="col">time</th><th scope="col">packet</th><th scope="col">flow</th><th scope="col">event</th></tr></thead>
        <tbody>
          {recent.slice().reverse().map((event, at) => (
            <tr key={at} class={event.what}>
              <td>{(event.at_ns / 1e9).toFixed(6)} s</td>
              <td>{event.serial}, {event.bytes} B{event.ack ? ", ACK" : ""}</td>
              <td><span class="dot" style={{ background: tone(event.flow) }} /> {named(flows, event.flow)}</td>
              <td>
                {WORDS[event.what]}
                {event.what !== "arrived" && ` after ${digits(event.waited_ms, 4)} ms`}
                {event.what === "dropped" && `: ${WHY[event.reason] ?? event.reason}`}
                {event.what === "left" && event.ce && ", with CE"}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function State({ aqm, about, queue, flows }) {
  const x = Object.fromEntries(Object.entries(queue.internals).map(([name, value]) => [name, value === null ? NaN : value]));
  const lines = law(aqm, x, parameters(aqm, about));
  const names = Object.keys(queue.internals).filter((name) => name !== "delay_before_s");
  return (
    <>
      {lines.length > 0 && (
        <div class="scroll" tabIndex="0" role="region" aria-label="Equations and their present values">
          <table><caption>What {about.title} computes</caption><tbody>{lines.map(([what, value]) => <tr key={what}><th scope="row">{what}</th><td>{value}</td></tr>)}</tbody></table>
        </div>
      )}
      {queue.queues.length > 0 && (
        <div class="scroll" tabIndex="0" role="region" aria-label="Queues in the order of their turns">
          <table>
            <caption>Queues in the order of their turns</caption>
            <thead><tr><th scope="col">list</th><th scope="col">flow at the head</th><th scope="col">waiting</th><th scope="col">deficit</th></tr></thead>
            <tbody>{queue.queues.map((turn, at) => (
              <tr key={at}><td>{turn.list}</td><td>{turn.flow === null ? "–" : <><span class="dot" style={{ background: tone(turn.flow) }} /> {named(flows, turn.flow)}</>}</td>
                <td>{turn.packets} packets, {turn.bytes} B</td><td>{turn.deficit_bytes} B</td></tr>))}</tbody>
          </table>
        </div>
      )}
      {names.length > 0 ? (
        <details open={lines.length === 0}>
          <summary>All {names.length} internals</summary>
          <table><tbody>{names.map((name) => <tr key={name}><th scope="row">{name}</th><td>{digits(x[name], DIGITS)}</td></tr>)}</tbody></table>
        </details>
      ) : <p class="note">{about.title} keeps no state besides the queue: it drops an arrival when its limit is reached.</p>}
    </>
  );
}

/** A queue packet by packet. */
export function Queue({ pool, scenario, state, labels, abouts, dark }) {
  const [side, setSide] = useState(1);
  const [at, setAt] = useState(Math.min(5, scenario.duration_s / 2));
  const [found, setFound] = useState(null);
  const [recent, setRecent] = useState([]);
  const [playing, setPlaying] = useState(false);
  const [error, setError] = useState("");
  const busy = useRef(false);
  /** Delays of a controller at its last two updates, in s: a scheme tells the last one. */
  const delays = useRef([NaN, NaN]);
  const aqm = state.aqms[side];
  const about = abouts[aqm.trim().split(/\s+/)[0]] ?? { title: aqm, parameters: [] };

  const take = useCallback(async (request) => {
    if (busy.current) return;
    busy.current = true;
    try {
      const answer = await pool.ask(LINE, { do: "watch", run: RUN, steps: 0, ...request });
      for (const { internals } of [...answer.steps, answer.queue]) {
        const now = internals.delay_s;
        if (Number.isFinite(now) && now !== delays.current[1]) delays.current = [delays.current[1], now];
      }
      answer.queue.internals.delay_before_s = delays.current[0];
      setFound(answer);
      const events = answer.steps.flatMap((step) => step.events);
      if (events.length > 0) setRecent((old) => [...old, ...events].slice(-KEPT));
    } catch (why) {
      setError(why.message);
      setPlaying(false);
    } finally {
      busy.current = false;
    }
  }, [pool]);

  const go = useCallback(async (to_s) => {
    setPlaying(false);
    setError("");
    setRecent([]);
    delays.current = [NaN, NaN];
    busy.current = false;
    try {
      const task = { scheme: aqm, seed: state.seed, replication: 0, series: `${spacing(scenario.duration_s)}ms` };
      await pool.ask(LINE, { do: "open", run: RUN, scenario: scenario.json, task, watch: scenario.queues[0] });
      await take({ from_ns: Math.round(to_s * 1e9) });
    } catch (why) {
      setError(why.message);
    }
  }, [pool, scenario, aqm, state.seed, take]);

  useEffect(() => { go(at); }, [go]);
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => take({ steps: 1 }), 120);
    return () => clearInterval(timer);
  }, [playing, take]);

  const flows = scenario.flows;
  return (
    <section aria-label="The queue, packet by packet">
      <div class="row">
        <fieldset class="inline"><legend>Scheme</legend>
          {labels.map((label, number) => (
            <label key={number}><input type="radio" name="watched" checked={side === number} onChange={() => setSide(number)} /> {label}</label>
          ))}
        </fieldset>
        <label>Begin at <input type="number" min="0" max={scenario.duration_s} step="0.1" value={at} onChange={(event) => { const to = Number(event.currentTarget.value); setAt(to); go(to); }} /> s</label>
        <span class="buttons">
          <button type="button" onClick={() => take({ steps: 1 })}>Next event</button>
          <button type="button" onClick={() => take({ steps: 20 })}>20 events</button>
          <button type="button" onClick={() => take({ steps: 500 })}>500 events</button>
          <button type="button" aria-pressed={playing} onClick={() => setPlaying(!playing)}>{playing ? "Pause" : "Play"}</button>
        </span>
      </div>
      {error && <p class="error" role="alert">{error}</p>}
      {found && (
        <>
          <p class="now" role="status">
            {(found.now_ns / 1e9).toFixed(6)} s. Since the start: {found.queue.arrivals} arrivals, {found.queue.drops} drops, {found.queue.marks} marks.
            {found.queue.rate_bit_s ? ` The link sends ${digits(found.queue.rate_bit_s / 1e6, 4)} Mbit/s.` : ""}
          </p>
          <Picture queue={found.queue} recent={recent} flows={flows} dark={dark} />
          <div class="halves">
            <div><State aqm={aqm} about={about} queue={found.queue} flows={flows} /></div>
            <div><Events recent={recent} flows={flows} />{recent.length === 0 && <p class="note">“Next event” goes on by one instant at which a packet arrives, leaves, is dropped or marked.</p>}</div>
          </div>
        </>
      )}
    </section>
  );
}
