"""The page in the browser: its simulator gives the native library's reports byte for byte, and its own code agrees.

``SOJOURN_WASM`` names the simulator that was compiled for the page (`make test` sets it); Node.js runs it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from sojourn import _native

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "web" / "node_modules"
WASM = os.environ.get("SOJOURN_WASM", "")
TRACES = ROOT / "python" / "sojourn" / "model" / "traces"
EXAMPLES = {
    name: entry["example"]
    for name, entry in tomllib.loads((ROOT / "docs" / "algorithms.toml").read_text(encoding="utf-8")).items()
}
#: Ready-made scenarios, as long as is needed for each kind of event; lan's bus and wlan's cells among them.
SCENARIOS = {
    "home": ["duration=3 s", "warm_up=1 s", 'flows.web.start={ uniform = ["1 s", "2 s"] }'],
    "dumbbell": ["duration=3 s", "warm_up=1 s"],
    "lte": ["duration=6 s", "warm_up=2 s"],
    "varying": ["duration=24 s", "warm_up=2 s"],
    "wlan": ["duration=3 s", "warm_up=1 s"],
}
node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
compiled = pytest.mark.skipif(not Path(WASM).is_file(), reason="SOJOURN_WASM names no simulator (make web)")


def trace(file: str) -> str:
    return (TRACES / f"{file}.trace").read_text(encoding="utf-8")


def scenario(name: str) -> str:
    text = (ROOT / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")
    return _native.load(text, name, SCENARIOS[name], trace)


def differing(schemes: dict[str, str], names: list[str]) -> list[str]:
    """Pairs of scheme and scenario whose reports differ between native library and page."""
    documents = [scenario(name) for name in names]
    keys = [f"{scheme} {name}" for scheme in schemes for name in names]
    tasks = [
        (place, json.dumps({"scheme": text, "seed": 3, "replication": 1, "series": "100ms"}))
        for text in schemes.values()
        for place in range(len(names))
    ]
    native = _native.run_batch(documents, tasks)
    lines = [json.dumps({"scenario": documents[place], "task": json.loads(task)}) for place, task in tasks]
    command = ["node", str(ROOT / "web" / "digests.mjs"), WASM]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = done.stdout.split()
    assert len(found) == len(keys)
    assert all(good for good, _ in native), native
    expected = [hashlib.sha256(text.encode()).hexdigest() for _, text in native]
    return [key for key, one, other in zip(keys, expected, found, strict=True) if one != other]


@node
@compiled
def test_reports_are_those_of_the_native_library() -> None:
    schemes = {name: EXAMPLES[name] for name in ("pfifo", "pie", "fq_codel", "dualpi2")}
    assert differing(schemes, ["home", "wlan"]) == []


@node
@pytest.mark.skipif(not PACKAGES.is_dir(), reason="the packages of the page are not installed (make web)")
def test_the_page_reads_links_scenarios_and_intervals() -> None:
    done = subprocess.run(["node", "--test", "test/"], cwd=ROOT / "web", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@node
@pytest.mark.skipif(not PACKAGES.is_dir(), reason="the packages of the page are not installed (make web)")
def test_the_script_of_reports_is_made_from_its_sources(tmp_path: Path) -> None:
    made = tmp_path / "live.js"
    command = ["node", str(ROOT / "web" / "build.mjs"), "--live", str(made)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 0
    kept = ROOT / "python" / "sojourn" / "view" / "report" / "live.js"
    assert made.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")


@pytest.mark.long
@node
@compiled
def test_every_scheme_gives_the_reports_of_the_native_library() -> None:
    assert len(EXAMPLES) == 35
    assert differing(EXAMPLES, list(SCENARIOS)) == []
