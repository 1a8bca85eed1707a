"""Other systems than Linux: the package imports, stores have their lock, and what needs Linux says so.

A process without the modules and names that are missing on Windows stands for it. Nothing here runs on Windows.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WINDOWS = """
import contextlib, importlib, json, os, pkgutil, runpy, signal, socket, sys, types
import asyncio, http.client, multiprocessing, selectors, socketserver, subprocess, tempfile, uuid
import dask, distributed, duckdb, gymnasium, jinja2, matplotlib.pyplot
import numpy, numba, pandas, platform, pyarrow.parquet, pytest, rich.console, scipy.stats

for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in ("SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSYS", "SIGTSTP", "SIGTTIN", "SIGTTOU"):
    delattr(signal, name)
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fork", "getegid", "geteuid", "getgid", "getuid"):
    delattr(os, name)
del os.sched_getaffinity, signal.pthread_sigmask, socket.AF_UNIX

locked = []
def locking(handle, how, count):
    place = (os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR))
    if place in locked:
        raise PermissionError("locked")
    locked.append(place)

sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)
sys.platform = "win32"
"""


def as_on_windows(program: str, folder: Path) -> str:
    words = [sys.executable, "-c", WINDOWS + program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


#: What runs only within what refuses before.
INSIDE = {"sojourn.plugins.confined", "sojourn.real.shell.inside", "sojourn.real.shell.traffic"}


def test_every_module_imports(tmp_path: Path) -> None:
    program = f"""
import sojourn
from sojourn.cli import manual
inside = {INSIDE!r}
for module in pkgutil.walk_packages(sojourn.__path__, "sojourn.", onerror=lambda _: None):
    if module.name in inside or module.name.endswith("__main__") or ".papers.studies" in module.name:
        continue
    importlib.import_module(module.name)
    print(module.name)
print(len(manual.program().commands))
"""
    found = as_on_windows(program, tmp_path).split()
    assert len(found) > 150
    assert {"sojourn.plan.store", "sojourn.cli.shell", "sojourn.real.shell.world"} <= set(found)


def test_what_needs_linux_says_so(tmp_path: Path) -> None:
    program = """
from sojourn import cli
open("mine.py", "w").close()
for words in ("shell -- true", "check aqm mine.py", "compare one.toml --world real --aqm codel"):
    with contextlib.redirect_stderr(sys.stdout):
        print(cli.main(words.split()))
"""
    (tmp_path / "one.toml").write_text(
        'name = "one"\nduration = "4 s"\nwarm_up = "1 s"\n[[links]]\nname = "access"\nfrom = "net"\nto = "home"\n'
        'rate = "20 Mbit/s"\ndelay = "9 ms"\nunder_test = true\n[[flows]]\nname = "bulk"\nfrom = "net"\nto = "home"\n'
    )
    lines = as_on_windows(program, tmp_path).splitlines()
    assert lines == [
        "sojourn: sojourn shell needs Linux; this is Windows",
        "2",
        "sojourn: sojourn check aqm needs Linux or macOS; this is Windows",
        "2",
        "sojourn: a run on real packets needs Linux; this is Windows",
        "2",
    ]


def test_a_store_is_written_by_one_at_a_time(tmp_path: Path) -> None:
    program = """
from sojourn.base.errors import StoreError
from sojourn.plan.store import Store
with Store.writing("store"):
    try:
        with Store.writing("store"):
            print("twice")
    except StoreError as error:
        print(error)
print(len(locked), locked[0][1] > 1 << 20)
"""
    said = as_on_windows(program, tmp_path)
    # Behind the text, which others may then read.
    assert said.endswith("1 True\n")
    assert "another plan is being run into this store (process " in said


def test_schemes_are_compared(tmp_path: Path) -> None:
    program = """
from sojourn import cli
short = "--set duration=3s --set warm_up=1s --replicates 2 --jobs 2"
print(cli.main(f"compare dumbbell --aqm codel --aqm pie {short} --out out".split()))
"""
    assert as_on_windows(program, tmp_path).endswith("0\n")
    assert (tmp_path / "out" / "report.html").is_file()
