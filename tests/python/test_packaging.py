"""Files for other programs: Grafana and Prometheus, citation, workflow, completion, manual pages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from shared import script
from sojourn import cli
from sojourn.base import core
from sojourn.cli import completion, manual
from sojourn.real.device.lab import find_sojournd
from sojourn.scaffold.kinds import KINDS

ROOT = Path(__file__).resolve().parents[2]
GRAFANA = ROOT / "packaging" / "grafana"


def metrics() -> set[str]:
    """Every name that a scrape can show, read from what writes them."""
    source = (ROOT / "crates/device/src/api/metrics.rs").read_text()
    names = set(re.findall(r'"(sojourn_[a-z_]+)"', source))
    events = re.findall(r'^    \("(\w+)", "[^"]*", \|', source, re.MULTILINE)
    shaped = {
        form.format(event)
        for form in ("sojourn_{}_packets", "sojourn_{}_bytes", "sojourn_class_{}_packets", "sojourn_port_{}")
        for event in events
    }
    names |= shaped
    # Counters have an ending; a histogram has three names.
    return names | {f"{name}_{end}" for name in names for end in ("total", "bucket", "sum", "count")}


def check_manual(page: str) -> None:
    """Have groff, if it is installed, format a manual page without a warning."""
    if shutil.which("groff"):
        done = subprocess.run(
            ["groff", "-man", "-ww", "-Tutf8"], input=page, capture_output=True, encoding="utf-8", check=True
        )
        assert done.stderr == ""


def test_the_device_has_the_metrics_that_the_source_names() -> None:
    known = metrics()
    for name in ("sojourn_arrived_packets_total", "sojourn_port_sent_frames_total", "sojourn_time_seconds_bucket"):
        assert name in known
    assert "sojourn_arrived_frames_total" not in known


def expressions(value: Any) -> list[str]:
    """Every query of a dashboard or of rules."""
    if isinstance(value, dict):
        own = [text for key in ("expr", "definition") if isinstance(text := value.get(key), str)]
        return own + [text for inner in value.values() for text in expressions(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in expressions(inner)]
    return []


@pytest.mark.parametrize("file", ["sojournd.json", "sojournd.rules.yml"])
def test_every_metric_that_is_asked_for_exists(file: str) -> None:
    text = (GRAFANA / file).read_text()
    document = json.loads(text) if file.endswith(".json") else yaml.safe_load(text)
    found = expressions(document)
    assert len(found) > 3
    asked = {name for text in found for name in re.findall(r"\bsojourn_\w+", text)}
    assert asked
    assert asked - metrics() == set()
    for text in found:
        assert all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}")), text


def test_the_dashboard_is_what_the_script_writes_and_has_what_grafana_needs() -> None:
    done = subprocess.run([sys.executable, str(GRAFANA / "make.py"), "--check"], check=False)
    assert done.returncode == 0
    board = json.loads((GRAFANA / "sojournd.json").read_text())
    assert {"uid", "title", "schemaVersion", "panels", "templating", "time"} <= set(board)
    variables = {one["name"] for one in board["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z]+)\b", json.dumps(board["panels"])))
    assert used <= variables
    places = set()
    for panel in board["panels"]:
        assert {"id", "type", "title", "description", "datasource", "gridPos", "targets", "fieldConfig"} <= set(panel)
        where = panel["gridPos"]
        assert where["x"] + where["w"] <= 24
        places.add((where["x"], where["y"]))
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    assert len(places) == len(board["panels"]) == len({panel["id"] for panel in board["panels"]})


def test_prometheus_asks_the_device_where_it_listens() -> None:
    text = (GRAFANA / "prometheus.yml").read_text()
    config = yaml.safe_load(text)
    [job] = config["scrape_configs"]
    keys = (ROOT / "docs/reference/device.md").read_text()
    assert job["static_configs"][0]["targets"][0] in keys
    # sojournd refuses a token that others may read, so Prometheus has a copy.
    ((token, copy),) = re.findall(r"install -o prometheus -m 600 (\S+) (\S+)", text)
    assert token in keys
    assert job["authorization"]["credentials_file"] == copy
    assert job.get("metrics_path", "/metrics") == "/metrics"
    assert [(GRAFANA / name).is_file() for name in config["rule_files"]] == [True]


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == core.version()
    assert {"cff-version", "title", "message", "authors", "license"} <= set(citation)


def test_the_workflow_calls_what_ci_has() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    called = {word for command in commands for word in command.split() if word.startswith(".ci/")}
    assert called == {".ci/run", ".ci/weekly"}
    assert all((ROOT / name).is_file() for name in called)
    # YAML reads the key "on" as true.
    assert {"push", "pull_request", "schedule", "workflow_dispatch"} == set(workflow[True])


def test_wheels_of_every_target_are_built() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text())
    targets = {one["target"] for one in workflow["jobs"]["linux"]["strategy"]["matrix"]["include"]}
    assert targets == set(script("packaging/wheel.py").TARGETS)
    made = subprocess.run(["make", "-n", "wheels"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(made.split("rustup target add ")[1].splitlines()[0].split()) == targets


def test_a_release_names_what_is_open_and_ends_at_the_first_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    module = script("packaging/release.py")
    assert module.check_version(tmp_path) == core.version()
    monkeypatch.setattr(
        sys, "argv", ["release.py", "--dry-run", "--only", "wheels", "--dist", str(tmp_path / "dist")]
    )
    assert module.main() == 0
    said = capsys.readouterr().out
    assert said.startswith(f"open  wheels      dist/sojourn-{core.version()}-*.whl is missing: make wheel [")
    assert said.endswith("Not ready: what is open above is needed for a release.\n")
    monkeypatch.setattr(sys, "argv", [word for word in sys.argv if word != "--dry-run"])
    with pytest.raises(module.ReleaseError, match=r"^wheels: dist/sojourn-.*make wheel$"):
        module.main()
    # What is wrong in itself is no matter of the time.
    monkeypatch.setattr(module, "version", lambda: "9.9.9")
    monkeypatch.setattr(sys, "argv", ["release.py", "--dry-run", "--only", "version"])
    with pytest.raises(module.ReleaseError, match=r"the version in CITATION.cff is .*; allowed: 9\.9\.9$"):
        module.main()


def test_provenance_and_sums_name_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    (tmp_path / "crates").mkdir()
    (tmp_path / "crates" / "a.crate").write_bytes(b"a")
    (tmp_path / "b.whl").write_bytes(b"b")
    script("packaging/release.py").write_provenance(tmp_path)
    statement = json.loads((tmp_path / "provenance.json").read_text())
    # From `printf a | sha256sum`.
    digest = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    assert {"name": "crates/a.crate", "digest": {"sha256": digest}} in statement["subject"]
    assert len(statement["subject"]) == 2
    done = subprocess.run(
        ["sha256sum", "--check", "SHA256SUMS"], cwd=tmp_path, capture_output=True, check=True, text=True
    )
    assert done.stdout.count(": OK") == 3


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_a_completion_is_a_script_of_its_shell(shell: str, tmp_path: Path) -> None:
    text = completion.script(shell)
    assert all(re.search(rf"\b{command}\b", text) for command in cli.COMMANDS)
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "script"
    file.write_text(text)
    subprocess.run([shell, "-n", str(file)], check=True)


COMPLETED = {
    ("sojourn", "pl"): {"place", "plan", "plot"},
    ("sojourn", "plan", "sh"): {"show"},
    ("sojourn", "run", "dumb"): {"dumbbell"},
    ("sojourn", "compare", "dumbbell", "--aqm", "fq_c"): {"fq_codel", "fq_cobalt"},
    # What belongs to an option is not the scenario.
    ("sojourn", "compare", "--aqm", "codel", "dumb"): {"dumbbell"},
    ("sojourn", "results", "export", "store", "--format", "ne"): {"netcdf"},
    ("sojourn", "run", "--rep"): {"--replicates"},
    ("sojourn", "list", "a"): {"aqms"},
    ("sojourn", "new", ""): {*KINDS},
    ("sojourn", "new", "co"): {"congestion-control"},
    ("sojourn", "run", "--seed", ""): set(),
}


@pytest.mark.parametrize("words", COMPLETED, ids=" ".join)
def test_bash_completes(words: tuple[str, ...], tmp_path: Path) -> None:
    script = tmp_path / "sojourn.bash"
    script.write_text(completion.script("bash"))
    quoted = " ".join(f"'{word}'" for word in words)
    command = (
        f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _sojourn; "
        "printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert set(done.stdout.split()) - {"sojourn.bash"} == COMPLETED[words]


def test_fish_completes(tmp_path: Path) -> None:
    if not shutil.which("fish"):
        pytest.skip("fish is not installed")
    script = tmp_path / "sojourn.fish"
    script.write_text(completion.script("fish"))
    for words, wanted in COMPLETED.items():
        if words[-1]:
            line = " ".join(words)
            done = subprocess.run(
                ["fish", "-c", f'source {script}; complete -C "{line}"'],
                capture_output=True,
                text=True,
                check=True,
                cwd=tmp_path,
                env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
            )
            found = {one.split("\t")[0] for one in done.stdout.splitlines()}
            assert wanted <= found, line


def test_manual_pages_are_clean_and_name_every_command() -> None:
    page = manual.man(manual.program())
    assert page.startswith(".TH SOJOURN 1")
    for command in manual.program().everything():
        if len(command.path) > 1:
            words = " ".join(command.path).replace("-", "\\-")
            assert f".SS {words}\n" in page
    # A line that begins with a dot would be a request.
    known = {".TH", ".SH", ".SS", ".TP", ".B", ".BR", ".I"}
    assert {line.split()[0] for line in page.splitlines() if line.startswith(".")} <= known
    check_manual(page)


def test_sojournd_says_its_name_completes_and_has_a_manual() -> None:
    def said(*words: str) -> str:
        done = subprocess.run([str(find_sojournd()), *words], capture_output=True, text=True, check=True)
        return done.stdout

    assert said("-V") == f"sojournd {core.version()}\n"
    name, ends, *rest = said("--version").splitlines()
    assert name == f"sojournd {core.version()}"
    assert ends.startswith("back ends: af_xdp, af_packet")
    assert ("dpdk" in ends) != any("without dpdk" in line for line in rest)
    page = said("manual")
    for command in (
        "run",
        "check",
        "doctor",
        "replay",
        "keys",
        "status",
        "windows",
        "switch",
        "set",
        "schedule",
        "reload",
    ):
        assert f".SS {command}\n" in page
        for shell in completion.SHELLS:
            assert command in said("completion", shell)
    check_manual(page)


def crates(*packages: str, edges: str = "normal,build") -> set[str]:
    """Return the crates that these packages are built from, each with the features that Cargo gives it."""
    words = ["cargo", "tree", "--locked", "--prefix", "none", "--no-dedupe", "--edges", edges]
    done = subprocess.run(
        [*words, "--format", "{p} {f}", *packages], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines())


def test_the_extension_module_shares_its_crates_with_the_device() -> None:
    """With other features a crate and all that use it would be built twice: a minute of `.ci/run`."""
    # What `cargo test` builds.
    together = crates("--workspace", "--exclude", "sojourn-bench-*", edges="normal,build,dev")
    assert crates("-p", "sojourn-python") - together == set()
    assert crates("-p", "sojourn-device", "-p", "sojourn-python") - together == set()


def test_a_crate_without_doctests_has_no_examples() -> None:
    """Cargo would not run them."""
    untested = [one.parent for one in (ROOT / "crates").glob("*/Cargo.toml") if "doctest = false" in one.read_text()]
    assert untested
    for crate in untested:
        for file in crate.glob("src/**/*.rs"):
            fences = re.findall(r"^\s*//[/!] ```(.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert set(fences[::2]) <= {"text"}, file


def test_addresses_are_written_where_they_belong(monkeypatch: pytest.MonkeyPatch) -> None:
    module = script("packaging/address.py")
    assert subprocess.run([sys.executable, ROOT / "packaging/address.py", "--check"], check=False).returncode == 0
    none = {"repository": "", "site": "", "contact": ""}
    given = {
        "repository": "https://git.test/sojourn",
        "site": "https://sojourn.test/",
        "contact": "people@sojourn.test",
    }
    texts = {str(path.relative_to(ROOT)): text for path, text in module.texts(given).items()}
    assert tomllib.loads(texts["Cargo.toml"])["workspace"]["package"]["repository"] == given["repository"]
    assert tomllib.loads(texts["crates/sim/Cargo.toml"])["package"]["repository"] == {"workspace": True}
    urls = {"Repository": given["repository"], "Documentation": given["site"]}
    assert tomllib.loads(texts["pyproject.toml"])["project"]["urls"] == urls
    cited = yaml.safe_load(texts["CITATION.cff"])
    assert (cited["repository-code"], cited["url"]) == (given["repository"], given["site"])
    assert all(given["contact"] in texts[name] for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"))
    # And back: what is written is found again, and nothing of it stays.
    monkeypatch.setattr(Path, "read_text", lambda path, *_, **__: texts.get(str(path.relative_to(ROOT)), ""))
    back = {str(path.relative_to(ROOT)): text for path, text in module.texts(none).items()}
    monkeypatch.undo()
    assert back == {name: (ROOT / name).read_text() for name in back}
