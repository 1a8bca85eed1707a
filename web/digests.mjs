// SHA-256 of reports of the compiled page's simulator, to compare with those of the native library.
//
//     node digests.mjs SIMULATOR.wasm < RUNS
//
// RUNS has a line of JSON for each run, with `scenario` and `task` as crates/web takes them. A line is printed for each.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Engine } from "./src/engine.js";

const engine = await Engine.load(readFileSync(process.argv[2]));
for (const line of readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  console.log(createHash("sha256").update(engine.text({ do: "run", ...JSON.parse(line) })).digest("hex"));
}
