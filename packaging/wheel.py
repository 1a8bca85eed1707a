"""Build a wheel: the Python package, and on Linux the program sojournd, manual pages and completions.

    packaging/wheel.py                 a wheel for this machine in dist/
    packaging/wheel.py --target NAME   for another one: a target of Rust (`rustup target add NAME`), see TARGETS
    packaging/wheel.py --out FOLDER    elsewhere
    packaging/wheel.py --pgo           optimised with the profile of `packaging/pgo.py`; takes twice the time
    packaging/wheel.py --sdist         the source distribution instead
    packaging/wheel.py --beside FILE   manual pages and completions alone, of a built sojournd, in FOLDER/share

Module and program for Linux are linked by zig (PyPI's ``ziglang`` and ``cargo-zigbuild``), with glibc against the
symbols of version 2.28, of 2018: manylinux_2_28. For other systems maturin builds the module alone with what is
installed there, because sojournd needs Linux (`.github/workflows/wheels.yml`). The module has Python's stable ABI:
one wheel for Python 3.11 and later. The program is built without DPDK. Where rustc's LLVM tools are not installed
(`rustup component add llvm-tools`), `--pgo` builds without a profile, and a message says so.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GLIBC = "2.28"
NAME = "sojournd"
#: Targets of Rust that zig links, with the tag of the wheel.
TARGETS = {
    f"{machine}-unknown-linux-{library}": tag
    for machine in ("x86_64", "aarch64")
    for library, tag in (("gnu", f"manylinux_{GLIBC.replace('.', '_')}"), ("musl", "musllinux_1_2"))
}
#: This machine's; "" where zig is not used.
HOST = f"{platform.machine()}-unknown-linux-gnu" if sys.platform == "linux" else ""
#: Exit status of `packaging/pgo.py` where llvm-profdata is missing.
NO_TOOL = 77


def environment() -> dict[str, str]:
    """Return the environment of the builds: the tools of this Python come first."""
    tools = str(Path(sys.executable).parent)
    return {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "VIRTUAL_ENV": str(Path(sys.prefix)),
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
    }


def call(*words: object, flags: str = "") -> None:
    """Run a program, with flags of the compiler; its failure is that of the build."""
    extra = {"RUSTFLAGS": flags} if flags else {}
    subprocess.run([str(word) for word in words], cwd=ROOT, env=environment() | extra, check=True)


def learn() -> str:
    """Write a profile and return the compiler's flags that use it; none where the tools are missing."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "pgo"
    words = (sys.executable, ROOT / "packaging" / "pgo.py", folder)
    done = subprocess.run(words, cwd=ROOT, env=environment(), check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode == NO_TOOL:
        print("wheel: built without a profile, so the simulator in it is slower", file=sys.stderr)
        return ""
    done.check_returncode()
    return done.stdout.partition("RUSTFLAGS=")[2].strip()


def program(target: str, flags: str) -> Path:
    """Build sojournd for a target and return where it is."""
    zig = f"{target}.{GLIBC}" if target.endswith("-gnu") else target
    words = ("cargo", "zigbuild", "--locked", "--quiet", "--release", "--target", zig, "-p", "sojourn-device")
    call(*words, flags=flags)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / target / "release" / NAME


def module(target: str, folder: Path, flags: str) -> Path:
    """Build the wheel with the compiled module and return where it is."""
    words = ["maturin", "build", "--locked", "--quiet", "--release", "--out", folder]
    words += ["--target", target] if target else []
    words += ["--zig", "--compatibility", TARGETS[target]] if target in TARGETS else []
    call(*words, flags=flags)
    [wheel] = folder.glob("*.whl")
    return wheel


def beside(device: Path, runs: Path | None = None) -> dict[str, tuple[bytes, int]]:
    """Return the files that are installed beside the package: place below ``.data``, contents and mode.

    Parameters
    ----------
    device
        The program sojournd.
    runs
        One that runs on this machine, which writes the manual page and completions; by default the same.
    """

    def said(*words: str | Path) -> bytes:
        extra = {"PYTHONPATH": str(ROOT / "python")}
        return subprocess.run(words, capture_output=True, check=True, env={**environment(), **extra}).stdout

    sojourn: tuple[str, ...] = (sys.executable, "-m", "sojourn")
    files = {f"scripts/{NAME}": (device.read_bytes(), 0o755)}
    for name, command in (("sojourn", sojourn), (NAME, (str(runs or device),))):
        files[f"data/share/man/man1/{name}.1"] = said(*command, "manual"), 0o644
        for shell, place in (
            ("bash", f"bash-completion/completions/{name}"),
            ("zsh", f"zsh/site-functions/_{name}"),
            ("fish", f"fish/vendor_completions.d/{name}.fish"),
        ):
            files[f"data/share/{place}"] = said(*command, "completion", shell), 0o644
    return files


def join(wheel: Path, files: dict[str, tuple[bytes, int]], out: Path) -> Path:
    """Write a wheel with further files and return where it is.

    Parameters
    ----------
    wheel
        The one with the package.
    files
        What :func:`beside` returns.
    out
        The folder of the new one.
    """
    joined = out / wheel.name
    out.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(joined, "w", zipfile.ZIP_DEFLATED) as new:
        [record] = [name for name in old.namelist() if name.endswith(".dist-info/RECORD")]
        data = record.removesuffix(".dist-info/RECORD") + ".data/"
        lines = [line for line in old.read(record).decode().splitlines() if not line.startswith(record)]
        for entry in old.infolist():
            if entry.filename != record:
                new.writestr(entry, old.read(entry))
        for name, (content, mode) in files.items():
            new.writestr(_entry(data + name, mode), content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{data}{name},sha256={digest},{len(content)}")
        new.writestr(_entry(record, 0o644), "\n".join([*lines, f"{record},,"]) + "\n")
    return joined


def _entry(name: str, mode: int) -> zipfile.ZipInfo:
    """One file, without a date: the same input gives the same wheel."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.external_attr = (0o100000 | mode) << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--target", default=HOST, help=f"one of {', '.join(TARGETS)}, or another target of Rust")
    parser.add_argument("--sdist", action="store_true")
    parser.add_argument("--pgo", action="store_true")
    parser.add_argument("--beside", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.sdist:
        call("maturin", "sdist", "--out", options.out.resolve())
        return 0
    if options.beside:
        for name, (content, _) in beside(options.beside.resolve()).items():
            if name.startswith("data/"):
                place = options.out / name.removeprefix("data/")
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        return 0
    flags = learn() if options.pgo else ""
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, tuple[bytes, int]] = {}
        if options.target in TARGETS:
            device = program(options.target, flags)
            call(sys.executable, ROOT / "packaging" / "notices.py", "--linked", device)
            foreign = options.target.partition("-")[0] != platform.machine()
            files = beside(device, program(HOST, flags) if foreign else device)
        print(join(module(options.target, Path(folder), flags), files, options.out))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"wheel: {error}")
