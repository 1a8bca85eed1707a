import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Charts } from "./Charts.jsx";
import { Controls } from "./Controls.jsx";
import { Lessons } from "./Lessons.jsx";
import { Queue } from "./Queue.jsx";
import { Results } from "./Results.jsx";
import { Comparison } from "./run.js";
import { Share } from "./Share.jsx";
import { link, unlink } from "./model.js";

const TABS = { compare: "Compare", queue: "Watch the queue", lessons: "Lessons" };
/** A slider that moves starts one run, not a hundred. */
const REST_MS = 200;
/** A comparison is drawn anew at most this often. */
const DRAWN_MS = 70;

/** What two schemes are called where both are shown. */
function names(aqms) {
  const labels = aqms.map((aqm) => (aqm.length > 34 ? `${aqm.slice(0, 33)}…` : aqm));
  return labels[0] === labels[1] ? [`${labels[0]} (1)`, `${labels[1]} (2)`] : labels;
}

export function App({ pool, given: { scenarios, traces, lessons, examples } }) {
  const [state, setState] = useState(() => unlink(window.location.hash));
  const [about, setAbout] = useState(null);
  const [scenario, setScenario] = useState(null);
  const [original, setOriginal] = useState(null);
  const [shown, setShown] = useState(null);
  const [error, setError] = useState("");
  const [group, setGroup] = useState("");
  const [dark, setDark] = useState(() => window.matchMedia("(prefers-color-scheme: dark)").matches);
  const [settled, setSettled] = useState(false);
  const newest = useRef(null);
  const timer = useRef(0);
  const comparison = useMemo(() => new Comparison(pool, (what) => {
    newest.current = what;
    timer.current ||= setTimeout(() => {
      timer.current = 0;
      setShown({ ...newest.current });
      // For benches/web.py.
      if (newest.current.sides.some((side) => side.points.t.length > 0)) performance.mark("points");
    }, DRAWN_MS);
  }), [pool]);

  useEffect(() => { document.documentElement.dataset.theme = dark ? "dark" : "light"; }, [dark]);
  useEffect(() => {
    pool.ask(1, { do: "about" }).then(setAbout, (why) => setError(`The simulator cannot be loaded: ${why.message}`));
    const back = () => setState(unlink(window.location.hash));
    window.addEventListener("hashchange", back);
    return () => window.removeEventListener("hashchange", back);
  }, [pool]);

  const change = useCallback((next) => {
    setState(next);
    window.history.replaceState(null, "", link(next));
  }, []);

  // The pictures come first: to draw everything at once holds the page for too long.
  const hasBegun = Boolean(shown) || error !== "";
  useEffect(() => {
    if (hasBegun) setTimeout(() => setSettled(true), 100);
  }, [hasBegun]);

  // What is run: a new one begins after the reader has stopped moving.
  const run = JSON.stringify([state.scenario, state.set, state.aqms, state.seed, state.replicates, state.files]);
  const begun = useRef(false);
  useEffect(() => {
    const begin = async () => {
      begun.current = true;
      const text = state.files[state.scenario] ?? scenarios[state.scenario];
      try {
        if (text === undefined) throw new Error(`There is no scenario “${state.scenario}”; allowed: ${Object.keys(scenarios).join(", ")}.`);
        const request = { do: "scenario", text, source: state.scenario, files: { ...traces, ...state.files } };
        const plain = await pool.ask(0, { ...request, sets: state.set.filter((one) => /^links\.\w+\.trace=/.test(one)) });
        const read = await pool.ask(0, { ...request, sets: state.set });
        if (read.queues.length === 0) throw new Error(`The scenario “${state.scenario}” has no queue under test, for which a scheme could be chosen.`);
        for (const aqm of state.aqms) await pool.ask(0, { do: "scheme", text: aqm });
        setError("");
        setOriginal(plain);
        setScenario({ ...read, run });
        setGroup((old) => (read.groups.includes(old) ? old : read.groups.find((one) => one === "call") ?? read.groups[0]));
        comparison.start(read, state);
      } catch (why) {
        comparison.stop();
        setError(why.message);
      }
    };
    const wait = setTimeout(begin, begun.current ? REST_MS : 0);
    return () => clearTimeout(wait);
  }, [run]);

  const abouts = useMemo(() => Object.fromEntries((about?.aqms ?? []).map((one) => [one.name, one])), [about]);
  const labels = names(state.aqms);
  const lesson = lessons.find((one) => one.id === state.lesson);
  const isLesson = (one) => JSON.stringify([one.scenario, one.set, one.aqms, one.seed]) === JSON.stringify([state.scenario, state.set, state.aqms, state.seed]);
  const failed = shown?.sides.map((side) => side.error).filter(Boolean) ?? [];
  const ready = settled && about && scenario && original;
  const watch = state.tab === "lessons" ? lesson?.watch : undefined;
  const pictures = (
    <>
      {scenario?.warnings.map((one) => <p class="warning" role="status" key={one}>{one}</p>)}
      {failed.map((one) => <p class="error" role="alert" key={one}>{one}</p>)}
      <Charts shown={shown} labels={labels} group={group} groups={scenario?.groups ?? []} onGroup={setGroup} watch={watch} dark={dark} />
    </>
  );
  const table = <Results shown={shown} labels={labels} metrics={about?.metrics ?? []} groups={scenario?.groups ?? []} />;
  if (state.embed) {
    return (
      <main class="embedded">
        <p class="title"><a href={link({ ...state, embed: false })} target="_blank" rel="noopener">Sojourn: {labels.join(" and ")}, scenario {state.scenario}</a></p>
        {error && <p class="error" role="alert">{error}</p>}
        {pictures}
        {about && table}
      </main>
    );
  }
  return (
    <>
      <header>
        <h1>Sojourn</h1>
        <p>Two queue management schemes on one network, simulated in this page.</p>
        <nav aria-label="Parts of the page">
          {Object.entries(TABS).map(([name, title]) => (
            <button type="button" key={name} aria-current={state.tab === name ? "page" : undefined} onClick={() => change({ ...state, tab: name })}>{title}</button>
          ))}
          <button type="button" class="theme" aria-pressed={dark} onClick={() => setDark(!dark)}>{dark ? "Light" : "Dark"}</button>
        </nav>
      </header>
      <main>
        {ready && state.tab !== "lessons" && (
          <Controls state={state} scenario={scenario} original={original} scenarios={scenarios} abouts={abouts} examples={examples} controls={about.congestion_controls} onState={change} />
        )}
        {ready && state.tab === "lessons" && (
          <Lessons lessons={lessons} chosen={state.lesson} isRun={lesson ? isLesson(lesson) : false} finished={Boolean(shown?.sides.every((side) => side.reports.length > 0))}
            onChoose={(one) => change({ ...state, lesson: one.id })}
            onRun={(one) => change({ ...state, scenario: one.scenario, set: one.set, aqms: one.aqms, seed: one.seed, files: {}, replicates: 1, lesson: one.id })} />
        )}
        {!ready && <div class="controls" aria-hidden="true" />}
        <div class="shown">
          {error && <p class="error" role="alert">{error}</p>}
          {state.tab === "queue" || (state.tab === "lessons" && lesson?.watch === "queue" && isLesson(lesson))
            ? ready && scenario.run === run && <Queue key={run} pool={pool} scenario={scenario} state={state} labels={labels} abouts={abouts} dark={dark} />
            : pictures}
          {about && state.tab !== "queue" && table}
          {ready && <Share state={state} scenario={scenario} />}
        </div>
      </main>
      <footer><p>Sojourn {about?.version}: the library of the command <code>sojourn</code>, compiled to WebAssembly. The same seed gives the same numbers here and there. Nothing is sent to another host.</p></footer>
    </>
  );
}
