import { useState } from "preact/hooks";
import { command, link, toml } from "./model.js";

function Copied({ label, text, rows = 2 }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 2000);
  };
  return (
    <div class="copied">
      <label>{label}<textarea readOnly rows={rows} value={text} onFocus={(event) => event.currentTarget.select()} /></label>
      <button type="button" onClick={copy}>{done ? "Copied" : "Copy"}</button>
    </div>
  );
}

/** The run as a link, a command, a scenario, and a frame for other pages; made when a reader opens it. */
export function Share({ state, scenario }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="share" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Link, command, scenario and frame of this run</summary>
      {isOpen && <Shared state={state} scenario={scenario} />}
    </details>
  );
}

function Shared({ state, scenario }) {
  const page = window.location.href.replace(/#.*$/, "");
  const address = page + link({ ...state, tab: "compare", lesson: "", embed: false });
  const frame = page + link({ ...state, tab: "compare", lesson: "", embed: true });
  const text = toml(scenario.json);
  const save = () => {
    const made = document.createElement("a");
    made.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
    made.download = `${scenario.name}.toml`;
    made.click();
    URL.revokeObjectURL(made.href);
  };
  return (
    <>
      <Copied label="This run as a link" text={address} />
      <Copied label="Open in Sojourn: the command" text={command(state)} />
      {state.scenario in state.files && <p class="note">The command needs the file {state.scenario}, which is the scenario below without the settings.</p>}
      <Copied label="The scenario with all settings, as TOML" text={text} rows={6} />
      <p><button type="button" onClick={save}>Save {scenario.name}.toml</button></p>
      <Copied label="Embed: a frame for another page" text={`<iframe src="${frame.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}" width="900" height="620" title="Sojourn: ${state.aqms.join(" and ").replaceAll('"', "&quot;")}"></iframe>`} />
    </>
  );
}
