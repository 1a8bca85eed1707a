import { useState } from "preact/hooks";
import { about as described, buffer, inline, knobs, override, withBuffer, withEcn } from "./model.js";

/** A slider over powers, with the number beside it. */
function Slider({ label, unit, value, least, most, onValue, digits = 3 }) {
  const steps = 200;
  const low = Math.log(least);
  const high = Math.log(most);
  const place = Math.round(((Math.log(Math.min(most, Math.max(least, value))) - low) / (high - low)) * steps);
  const from = (at) => Number(Math.exp(low + ((high - low) * at) / steps).toPrecision(digits));
  return (
    <div class="slider">
      <label>{label}
        <input type="range" min="0" max={steps} value={place} aria-valuetext={`${value} ${unit}`} onInput={(event) => onValue(from(Number(event.currentTarget.value)))} />
      </label>
      <span><input type="number" aria-label={`${label}, ${unit}`} value={value} min={least} max={most} step="any"
        onChange={(event) => { const to = Number(event.currentTarget.value); if (to >= least && to <= most) onValue(to); }} /> {unit}</span>
    </div>
  );
}

/** A scheme: a name from the list, and its text as tc writes it. */
function Scheme({ number, value, abouts, examples, onValue }) {
  const name = value.trim().split(/\s+/)[0];
  const isFormula = /^dropping_function\s+formula\s/.test(value);
  return (
    <fieldset class={`scheme side${number}`}>
      <legend>Scheme {number + 1}</legend>
      <label>Algorithm
        <select value={isFormula ? "formula" : name} onChange={(event) => {
          const to = event.currentTarget.value;
          onValue(to === "formula" ? "dropping_function formula min(1,max(0,(sojourn-5ms)/50ms))" : examples[to] ?? to);
        }}>
          {!(name in abouts) && <option value={name}>{name}</option>}
          {Object.values(abouts).map((one) => <option key={one.name} value={one.name}>{one.name}: {one.title}</option>)}
          <option value="formula">your own formula</option>
        </select>
      </label>
      {isFormula ? (
        <label>Drop probability of an arrival
          <input type="text" spellcheck={false} value={value.replace(/^dropping_function\s+formula\s+/, "").replace(/^"|"$/g, "")}
            onChange={(event) => onValue(`dropping_function formula ${event.currentTarget.value.replaceAll(/\s+/g, "")}`)} />
        </label>
      ) : (
        <label>With parameters, as tc writes it
          <input type="text" spellcheck={false} value={value} onChange={(event) => onValue(event.currentTarget.value)} />
        </label>
      )}
      {abouts[name] && <p class="note">{abouts[name].summary[0].toUpperCase() + abouts[name].summary.slice(1)}.</p>}
    </fieldset>
  );
}

/** What a reader chooses. */
export function Controls({ state, scenario, original, scenarios, abouts, examples, controls, onState }) {
  const [dropped, setDropped] = useState("");
  const document = JSON.parse(scenario.json);
  const { rate, rtt, flows } = knobs(document);
  const all = knobs(JSON.parse(original.json)).flows;
  const set = (key, value) => onState({ ...state, set: override(state.set, key, value) });
  const ecn = flows.some((flow) => flow.tcp && flow.ecn);
  const packets = buffer(state.aqms[0]);

  const turnEcn = (on) => {
    let next = state.set;
    flows.filter((flow) => flow.tcp).forEach((flow) => { next = override(next, `${flow.key}.transport.ecn`, on); });
    const aqms = state.aqms.map((aqm) => withEcn(aqm, abouts[aqm.trim().split(/\s+/)[0]], on));
    onState({ ...state, set: next, aqms });
  };
  /** Leaves the groups in `kept`, with what they have by now. */
  const keep = (kept) => {
    const originals = JSON.parse(original.json).flows;
    const present = Object.fromEntries(document.flows.map((flow, at) => [flow.name ?? String(at), flow]));
    const chosen = originals.map((flow, at) => present[flow.name ?? String(at)] ?? flow).filter((flow, at) => kept.includes(flow.name ?? String(at)));
    const rest = state.set.filter((one) => !one.startsWith("flows"));
    onState({ ...state, set: chosen.length === originals.length && rest.length === state.set.length ? rest : [...rest, `flows=${inline(chosen)}`] });
  };
  const take = async (files) => {
    for (const file of files) {
      const text = await file.text();
      if (file.name.endsWith(".toml") || file.name.endsWith(".json")) {
        onState({ ...state, scenario: file.name, set: [], files: { [file.name]: text } });
        setDropped(`The scenario is that of ${file.name}.`);
      } else {
        onState({ ...state, scenario: "lte", set: [`links.cell.trace={ file = ${JSON.stringify(file.name)} }`], files: { [file.name]: text } });
        setDropped(`The cellular link of the scenario lte follows ${file.name}.`);
      }
    }
  };

  return (
    <form class="controls" aria-label="What is run" onSubmit={(event) => event.preventDefault()}
      onDragOver={(event) => event.preventDefault()} onDrop={(event) => { event.preventDefault(); take(event.dataTransfer.files); }}>
      <label>Scenario
        <select value={state.scenario} onChange={(event) => onState({ ...state, scenario: event.currentTarget.value, set: [], files: {} })}>
          {!(state.scenario in scenarios) && <option value={state.scenario}>{state.scenario}</option>}
          {Object.keys(scenarios).map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
      </label>
      <p class="note">{described(state.files[state.scenario] ?? scenarios[state.scenario] ?? "").description}</p>
      {rate && <Slider label="Rate of the link" unit="Mbit/s" value={rate.mbit_s} least={0.1} most={1000} onValue={(to) => set(rate.key, `${to} Mbit/s`)} />}
      {rtt && <Slider label="Base RTT" unit="ms" value={Number(rtt.ms.toPrecision(4))} least={rtt.least_ms} most={Math.max(500, rtt.ms)}
        onValue={(to) => set(rtt.key, `${Number((to / 2 - rtt.rest_ms).toPrecision(6))} ms`)} />}
      <Slider label="Buffer of the first scheme" unit="packets" value={Number.isFinite(packets) ? packets : 1000} least={2} most={10000}
        onValue={(to) => onState({ ...state, aqms: [withBuffer(state.aqms[0], abouts[state.aqms[0].trim().split(/\s+/)[0]], Math.round(to)), state.aqms[1]] })} />
      <fieldset><legend>Flows</legend>
        {all.map((flow) => {
          const present = flows.find((one) => one.name === flow.name);
          return (
            <div class="flow" key={flow.name}>
              <label><input type="checkbox" checked={Boolean(present)} disabled={Boolean(present) && flows.length === 1}
                onChange={() => keep(present ? flows.map((one) => one.name).filter((name) => name !== flow.name) : [...flows.map((one) => one.name), flow.name])} /> {flow.name}
                <span class="unit"> ({flow.tcp ? "TCP" : "UDP"}, {flow.kind})</span></label>
              {present && (
                <span>
                  <label>flows from each sender <input type="number" min="1" max="1000" value={present.count} onChange={(event) => set(`${flow.key}.count`, Math.max(1, Math.round(Number(event.currentTarget.value))))} /></label>
                  {present.tcp && <label>control <select value={present.control} onChange={(event) => set(`${flow.key}.transport.congestion_control`, `"${event.currentTarget.value}"`)}>
                    {controls.map((one) => <option key={one.name}>{one.name}</option>)}</select></label>}
                </span>
              )}
            </div>
          );
        })}
        {flows.some((flow) => flow.tcp) && <label><input type="checkbox" checked={ecn} onChange={() => turnEcn(!ecn)} /> ECN of the TCP flows and the schemes</label>}
      </fieldset>
      {state.aqms.map((aqm, number) => (
        <Scheme key={number} number={number} value={aqm} abouts={abouts} examples={examples}
          onValue={(to) => onState({ ...state, aqms: state.aqms.map((old, at) => (at === number ? to : old)) })} />
      ))}
      <div class="row">
        <label>Replications <input type="number" min="1" max="100" value={state.replicates} onChange={(event) => onState({ ...state, replicates: Math.min(100, Math.max(1, Math.round(Number(event.currentTarget.value)))) })} /></label>
        <label>Seed <input type="number" min="0" max="2147483648" value={state.seed} onChange={(event) => onState({ ...state, seed: Math.max(0, Math.round(Number(event.currentTarget.value))) })} /></label>
      </div>
      <details>
        <summary>Further settings, and files</summary>
        <label>One KEY=VALUE in a line, as --set takes it
          <textarea rows="4" spellcheck={false} value={state.set.join("\n")} onChange={(event) => onState({ ...state, set: event.currentTarget.value.split("\n").map((one) => one.trim()).filter(Boolean) })} />
        </label>
        <label>A scenario (.toml, .json), or a trace of a link (Mahimahi, CSV); both can be dropped here
          <input type="file" onChange={(event) => take(event.currentTarget.files)} />
        </label>
        {dropped && <p class="note" role="status">{dropped}</p>}
      </details>
    </form>
  );
}
