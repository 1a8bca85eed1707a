// Makes the page: one HTML file with everything in it. Or the script of the live figures in reports.
//
//     node build.mjs SIMULATOR.wasm OUT.html
//     node build.mjs --live OUT.js

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { parse } from "smol-toml";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);
const text = (...path) => readFileSync(join(...path), "utf8");
const [simulator, out] = process.argv.slice(2);
if (!simulator || !out) {
  console.error("build.mjs: name the compiled simulator and the file to write");
  process.exit(2);
}

/** A program and its style sheet as one text each. */
async function bundled(entry, format, loader = {}) {
  const made = await build({
    entryPoints: [join(here, "src", entry)],
    bundle: true, minify: true, write: false, format, target: ["chrome100", "firefox113", "safari16.4"],
    loader, jsx: "automatic", jsxImportSource: "preact", outdir: "/", legalComments: "inline",
  });
  const of = (ending) => made.outputFiles.filter((file) => file.path.endsWith(ending)).map((file) => file.text).join("\n");
  return { script: of(".js"), style: of(".css") };
}

/** Text for an element `script`, which ends at the first `</script`. */
const held = (script) => script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");

/** The licences of packages that a file contains, as a comment. */
function licences(open, close, ...names) {
  const all = names.map((name) => `${name}\n${text(here, "node_modules", name, "LICENSE").trim()}`);
  return `${open}\nContains packages of others.\n\n${all.join("\n\n")}\n${close}\n`;
}

if (simulator === "--live") {
  const { script } = await bundled("live.js", "iife", { ".css": "text" });
  writeFileSync(out, `// Made by web/build.mjs of web/src/live.js.\n${licences("/*", "*/", "uplot")}${script}`);
  process.exit(0);
}

const model = join(root, "python", "sojourn", "model");
/** Texts of a folder of the library, by name. */
const texts = (folder, ending) => Object.fromEntries(readdirSync(join(model, folder)).filter((name) => name.endsWith(ending))
  .map((name) => [name.replace(ending, ""), text(model, folder, name)]));
const algorithms = parse(text(root, "docs", "algorithms.toml"));
const examples = Object.fromEntries(Object.entries(algorithms).map(([name, entry]) => [name, entry.example]));
const given = { scenarios: texts("scenarios", ".toml"), traces: texts("traces", ".trace"), examples, lessons: JSON.parse(text(here, "lessons.json")) };
const page = await bundled("main.jsx", "iife");
const worker = await bundled("worker.js", "iife");
const wasm = gzipSync(readFileSync(simulator), { level: 9 }).toString("base64");
// Nothing may be asked of any host.
const policy = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; style-src 'unsafe-inline'; img-src data: blob:";
const icon = Buffer.from(text(root, "docs", "favicon.svg")).toString("base64");

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Sojourn in the browser</title>
<link rel="icon" href="data:image/svg+xml;base64,${icon}">
<style>${page.style}</style>
</head>
<body>
<div id="page"><noscript>This page simulates networks, which needs JavaScript.</noscript></div>
<script type="application/json" id="given">${held(JSON.stringify(given))}</script>
<script type="text/plain" id="worker">${held(worker.script)}</script>
<script type="text/plain" id="simulator">${wasm}</script>
<script>${held(page.script)}</script>
</body>
</html>
${licences("<!--", "-->", "preact", "smol-toml", "uplot")}`;
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, html);
console.log(`${out}: ${(html.length / 1e6).toFixed(2)} MB, ${(gzipSync(html, { level: 9 }).length / 1e6).toFixed(2)} MB compressed`);
