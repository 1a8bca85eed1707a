"""examples/forwarder, a program outside of the workspace, builds with the two published crates alone and forwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "forwarder"


@pytest.fixture(scope="module")
def program() -> Path:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "forwarder"
    command = [cargo, "build", "--locked", "--quiet", "--manifest-path", str(FOLDER / "Cargo.toml")]
    subprocess.run([*command, "--target-dir", str(target)], check=True)
    return target / "debug" / "forwarder"


def forwarded(program: Path, scheme: str, datagrams: int) -> tuple[list[bytes], str]:
    """Send numbered datagrams through the program: what arrives behind it, and its last line."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver,
    ):
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(20)
        target = f"127.0.0.1:{receiver.getsockname()[1]}"
        command = [str(program), "127.0.0.1:0", target, "10Mbit/s", scheme, str(datagrams)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            port = int(running.stdout.readline().rpartition(":")[2])
            for number in range(datagrams):
                sender.sendto(f"{number}".encode() * 100, ("127.0.0.1", port))
            counts = running.stdout.readline().strip()
        assert running.returncode == 0
        sent = int(counts.split()[2])
        return [receiver.recv(65535) for _ in range(sent)], counts


def test_it_depends_on_the_two_crates_alone() -> None:
    document = tomllib.loads((FOLDER / "Cargo.toml").read_text(encoding="utf-8"))
    assert set(document["dependencies"]) == {"sojourn-aqm", "sojourn-units"}
    assert document["workspace"] == {}
    # The versions that it asks for are those of the workspace.
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    assert all(version.startswith(one["version"]) for one in document["dependencies"].values())


def test_datagrams_are_forwarded_in_order(program: Path) -> None:
    # 40 datagrams fit into any of the limits, so nothing is dropped however the process is scheduled.
    got, counts = forwarded(program, "pfifo limit 100p", 40)
    assert counts == "40 arrived, 40 forwarded, 0 dropped"
    assert got == [f"{number}".encode() * 100 for number in range(40)]


def test_a_formula_decides(program: Path) -> None:
    # Probability 1 for every arrival.
    got, counts = forwarded(program, "dropping_function formula size/1B", 10)
    assert (got, counts) == ([], "10 arrived, 0 forwarded, 10 dropped")


def test_bad_input_is_refused_with_what_is_allowed(program: Path) -> None:
    command = [str(program), "127.0.0.1:0", "127.0.0.1:9", "10Mbit/s", "coddel", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'unknown algorithm "coddel" (did you mean "codel"?)' in done.stderr


@pytest.mark.parametrize("name", ["units", "aqm"])
def test_its_crates_can_be_published(name: str) -> None:
    # What `cargo publish --dry-run` also does, it downloads: an index and the dependencies.
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not installed")
    command = [cargo, "package", "--list", "--offline", "--allow-dirty", "-p", f"sojourn-{name}"]
    files = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    assert {"README.md", "LICENSE-MIT", "LICENSE-APACHE", "src/lib.rs"} <= set(files)
    crate = tomllib.loads((ROOT / "crates" / name / "Cargo.toml").read_text(encoding="utf-8"))["package"]
    # `repository` is filled from packaging/address.toml, once there is an address.
    assert {"description", "license", "readme", "keywords", "categories"} <= set(crate)
    assert "#![no_std]" in (ROOT / "crates" / name / "src" / "lib.rs").read_text(encoding="utf-8")
