"""Profile-guided optimisation: builds for a profile, runs what is to be fast, and builds again with what was seen.

    packaging/pgo.py FOLDER            writes FOLDER/sojourn.profdata and prints the flags that use it
    packaging/pgo.py FOLDER --measure  builds benches/speed without and with it, and compares their CPU times by turns

The training is the dumbbell of `benches/speed` under several congestion controls and queues, and the algorithms of
`benches/cost`. Needs llvm-profdata of rustc's own LLVM: rustup component add llvm-tools. Without it the exit status
is 77.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TRAINING = (
    ("newreno", "pfifo limit 250p"),
    ("cubic", "codel"),
    ("cubic", "fq_codel"),
    ("reno", "pie"),
    ("bbr", "cake"),
)
SECONDS = 20
#: Simulated time of the two runs that are compared.
SHORT_S, LONG_S = 60, 600
#: Exit status where llvm-profdata is missing.
NO_TOOL = 77


def said(*words: str | Path, **environment: str) -> str:
    """Return what a program prints; its failure is that of the build."""
    run = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **environment}, check=True, stdout=subprocess.PIPE, text=True
    )
    return run.stdout


def profdata() -> Path:
    """Return the program that joins profiles, of rustc's own LLVM."""
    host = next(line.split()[1] for line in said("rustc", "-vV").splitlines() if line.startswith("host:"))
    program = Path(said("rustc", "--print", "sysroot").strip()) / "lib/rustlib" / host / "bin/llvm-profdata"
    if not program.is_file():
        print("pgo: llvm-profdata was not found: rustup component add llvm-tools", file=sys.stderr)
        raise SystemExit(NO_TOOL)
    return program


def build(flags: str, target: Path) -> Path:
    """Build the benches with flags of the compiler and return the folder of the programs."""
    packages = ("-p", "sojourn-bench-speed", "-p", "sojourn-bench-cost")
    said("cargo", "build", "--locked", "--quiet", "--release", "--target-dir", target, *packages, RUSTFLAGS=flags)
    return target / "release"


def learn(folder: Path) -> str:
    """Write the profile into a folder and return the flags that use it."""
    join = profdata()
    folder.mkdir(parents=True, exist_ok=True)
    raw, profile = folder / "raw", folder / "sojourn.profdata"
    for old in raw.glob("*.profraw"):
        old.unlink()
    programs = build(f"-Cprofile-generate={raw}", folder / "generate")
    for control, queue in TRAINING:
        said(programs / "speed", "--congestion-control", control, "--queue", queue, "--seconds", str(SECONDS))
    about = tomllib.loads((ROOT / "docs" / "algorithms.toml").read_text(encoding="utf-8"))
    said(programs / "cost", "--rounds", "1", *(entry["example"] for entry in about.values()))
    said(join, "merge", "-o", profile, *raw.glob("*.profraw"))
    return f"-Cprofile-use={profile}"


def cpu_s(program: Path, seconds: int) -> float:
    """Return the CPU time of the dumbbell."""
    # A clock of microseconds: that of os.times() has steps of 10 ms.
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    said(program, "--flows", "100", "--seconds", str(seconds))
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(flags: str, folder: Path, rounds: int = 7) -> None:
    """Print the CPU time of a simulated second without and with the profile, by the slope of two run lengths."""
    programs = {name: build(used, folder / name) / "speed" for name, used in (("plain", ""), ("pgo", flags))}
    slopes: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, program in programs.items():
            slopes[name].append((cpu_s(program, LONG_S) - cpu_s(program, SHORT_S)) / (LONG_S - SHORT_S))
    ratios = [pgo / plain for plain, pgo in zip(slopes["plain"], slopes["pgo"], strict=True)]
    for name, times in slopes.items():
        print(f"{name}: {statistics.median(times) * 1e3:.4f} ms of CPU a simulated second (median of {rounds})")
    print(f"with the profile {statistics.median(ratios):.3f} of plain ({min(ratios):.3f} to {max(ratios):.3f})")


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measure", action="store_true")
    options = parser.parse_args()
    folder = options.folder.resolve()
    flags = learn(folder)
    print(f"RUSTFLAGS={flags}")
    if options.measure:
        measure(flags, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
