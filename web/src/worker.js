// A worker: it holds one instance of the simulator, and answers one request after the other.

import { Engine } from "./engine.js";

let engine;

/** What the page shows of a report; the rest stays here. */
function reduced({ metrics, groups, flows, queues, measured_s }) {
  return {
    metrics,
    measured_s,
    groups: groups.map(({ name, metrics: own }) => ({ name, metrics: own })),
    flows: flows.length,
    internals: queues.find((queue) => queue.under_test)?.internals ?? {},
  };
}

/* global SIMULATOR */

/** An engine from the simulator, which is base64 of gzip. */
async function loaded() {
  const bytes = Uint8Array.from(atob(SIMULATOR), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return Engine.load(await new Response(stream).arrayBuffer());
}

async function answer({ request, load }) {
  if (load) {
    engine = await loaded();
    return true;
  }
  const found = engine.ask(request);
  return request.do === "report" || request.do === "run" ? reduced(found) : found;
}

let turn = Promise.resolve();
self.onmessage = ({ data }) => {
  turn = turn.then(async () => {
    try {
      self.postMessage({ id: data.id, answer: await answer(data) });
    } catch (error) {
      const defect = error instanceof WebAssembly.RuntimeError;
      const why = defect ? "The run ended by a defect of the program. Please report it with the link of this page." : error.message;
      self.postMessage({ id: data.id, error: why, defect });
    }
  });
};
