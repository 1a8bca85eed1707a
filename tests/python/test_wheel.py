"""The wheel: old enough for glibc 2.28, complete, and good outside of the tree; the source distribution builds.

Builds take minutes, so that `.ci/weekly` (step wheel) sets SOJOURN_TEST_WHEEL to a folder with both;
``make wheel sdist`` fills dist/.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from shared import script
from sojourn.base.core import version

ROOT = Path(__file__).resolve().parents[2]
FOLDER = os.environ.get("SOJOURN_TEST_WHEEL")
needs_wheel = pytest.mark.skipif(FOLDER is None, reason="SOJOURN_TEST_WHEEL names no folder: .ci/weekly wheel")


def only(pattern: str) -> Path:
    assert FOLDER is not None
    [found] = Path(FOLDER).resolve().glob(pattern)
    return found


def run(*words: object, **options: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_files_beside_the_package_are_recorded(tmp_path: Path) -> None:
    plain = tmp_path / "x-1-py3-none-any.whl"
    with zipfile.ZipFile(plain, "w") as wheel:
        wheel.writestr("x/__init__.py", "")
        wheel.writestr("x-1.dist-info/RECORD", "x/__init__.py,sha256=abc,0\nx-1.dist-info/RECORD,,\n")
    joined = script("packaging/wheel.py").join(plain, {"scripts/tool": (b"#!/bin/sh\n", 0o755)}, tmp_path / "out")
    with zipfile.ZipFile(joined) as wheel:
        assert wheel.read("x-1.data/scripts/tool") == b"#!/bin/sh\n"
        assert wheel.getinfo("x-1.data/scripts/tool").external_attr >> 16 == 0o100755
        rows = list(csv.reader(io.StringIO(wheel.read("x-1.dist-info/RECORD").decode())))
    assert [row[0] for row in rows] == ["x/__init__.py", "x-1.data/scripts/tool", "x-1.dist-info/RECORD"]
    # From `printf '#!/bin/sh\n' | sha256sum`, in base 64 for URLs without padding.
    assert rows[1][1:] == ["sha256=qAdtPSjSHgIBKyDq99v3VAmmJ3E0Q5Al8oLjaOMwWr8", "10"]
    assert rows[2][1:] == ["", ""]


def test_without_llvm_profdata_the_wheel_is_built_without_a_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    rustc = tmp_path / "rustc"
    rustc.write_text(f'#!/bin/sh\n[ "$1" = -vV ] && echo "host: here" || echo "{tmp_path}"\n')
    rustc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CARGO_TARGET_DIR", str(tmp_path / "target"))
    assert script("packaging/wheel.py").learn() == ""
    said = capfd.readouterr().err
    assert "rustup component add llvm-tools" in said
    assert "built without a profile" in said


@needs_wheel
def test_no_symbol_is_younger_than_glibc_2_28(tmp_path: Path) -> None:
    wheel = only("sojourn-*.whl")
    assert re.fullmatch(r"sojourn-[\d.]+-cp311-abi3-manylinux_2_28_\w+\.whl", wheel.name), wheel.name
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    programs = [*tmp_path.glob("sojourn/_native*.so"), *tmp_path.glob("*.data/scripts/sojournd")]
    assert len(programs) == 2
    for program in programs:
        table = run("objdump", "-T", program).stdout
        found = {tuple(map(int, name.split("."))) for name in re.findall(r"GLIBC_([\d.]+)", table)}
        assert found
        assert max(found) <= (2, 28), program
    shown = run(sys.executable, "-m", "auditwheel", "show", wheel).stdout
    assert re.search(r"manylinux_2_(\d+)", shown), shown
    assert min(int(minor) for minor in re.findall(r"manylinux_2_(\d+)", shown)) <= 28


@needs_wheel
def test_it_works_in_a_fresh_environment(tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    bin_ = tmp_path / "venv" / "bin"
    run(bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", only("sojourn-*.whl"))
    here = tmp_path / "here"
    here.mkdir()
    # Nothing of the tree, neither by path nor by variable.
    clean = {"PATH": f"{bin_}:/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}

    def said(*words: object) -> str:
        return run(*words, cwd=here, env=clean).stdout

    where = said(bin_ / "python", "-c", "import sojourn; print(sojourn.__file__)")
    assert where.startswith(str(tmp_path))
    assert said("sojourn", "--version").strip() == f"sojourn {version()}"
    assert "--replicates" in said("sojourn", "demo", "--help")
    assert json.loads(said("sojourn", "run", "dumbbell", "--json"))
    listed = said("sojourn", "papers", "list")
    for name in ("daqm", "dropping-functions", "fairness", "threshold"):
        assert name in listed
    assert "--minutes" in said("sojourn", "device", "experiment", "--help")
    short = ("--set", "duration=10 s", "--set", "warm_up=2 s", "--replicates", 3)
    said("sojourn", "compare", "dumbbell", "--aqm", "codel", "--aqm", "pie", *short, "--out", "out")
    assert (here / "out" / "report.html").is_file()
    spoken = said("sojournd", "--version")
    assert spoken.startswith(f"sojournd {version()}\n")
    assert "without dpdk" in spoken
    config = here / "device.toml"
    config.write_text(
        '[ports.a]\nback_end = "dpdk"\ndevice = "0000:01:00.0"\n'
        '[ports.b]\nback_end = "dpdk"\ndevice = "0000:01:00.1"\n[a_to_b]\nscheme = "codel"\nrate = "1 Mbit/s"\n'
    )
    refused = subprocess.run(
        [bin_ / "sojournd", "run", config], capture_output=True, text=True, check=False, env=clean
    )
    assert refused.returncode == 2
    assert "dpdk" in refused.stderr
    share = tmp_path / "venv" / "share"
    for name in ("sojourn", "sojournd"):
        assert (share / "man" / "man1" / f"{name}.1").read_text().count(".SH") > 3
        assert (share / "bash-completion" / "completions" / name).is_file()
        assert (share / "zsh" / "site-functions" / f"_{name}").is_file()
        assert (share / "fish" / "vendor_completions.d" / f"{name}.fish").is_file()
    notices = list((tmp_path / "venv").rglob("THIRD-PARTY-LICENSES.txt"))
    assert len(notices) == 1
    done = run(
        sys.executable, ROOT / "packaging" / "notices.py", "--linked", bin_ / "sojournd", "--notices", notices[0]
    )
    assert "each has its notice" in done.stdout


@needs_wheel
def test_the_source_distribution_builds(tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    bin_ = tmp_path / "venv" / "bin"
    # Any build will do: the time goes into the optimiser.
    quick = {"CARGO_PROFILE_RELEASE_LTO": "off", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16"}
    quick |= {"CARGO_PROFILE_RELEASE_OPT_LEVEL": "1", "CARGO_TARGET_DIR": str(tmp_path / "target")}
    words = (
        bin_ / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        only("sojourn-*.tar.gz"),
    )
    run(*words, env={**os.environ, **quick})
    done = run(bin_ / "sojourn", "run", "dumbbell", "--json", cwd=tmp_path, env={"PATH": "/usr/bin:/bin"})
    assert json.loads(done.stdout)
