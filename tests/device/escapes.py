#!/usr/bin/env python3
"""Try to get out of ``sojourn shell`` and to cheat ``sojourn check aqm``, and print what became of each attempt.

*Held*: nothing outside was reached. *Flagged*: the check, or an error, says what the plug-in did. *TAKEN*: neither.
Exit status 1 if one was taken.

    sudo .venv/bin/python tests/device/escapes.py
    sudo .venv/bin/python tests/device/escapes.py --only root plug-ins

The attempts from a shell start as root and as an ordinary user, so they need root. They change nothing that is not
changed back: they write the present value, or a file with a name of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from namespaces import ORDINARY, of_ordinary_user

from sojourn.plugins import header

#: Where it was tried, what, what became of it, and how.
Row = tuple[str, str, str, str]
HELD, FLAGGED, TAKEN = "held", "flagged", "TAKEN"
LIMIT_S = 600
MARK = "sojourn-escape"
HOME = Path.home()

# From a shell: a script that ends with status 0 if it reached what it wanted.
SHELL: dict[str, str] = {
    "change a setting of the kernel": "v=$(cat /proc/sys/kernel/domainname); echo $v > /proc/sys/kernel/domainname",
    "write to /etc": f"echo x > /etc/{MARK}",
    "write to /usr/local/bin": f"echo x > /usr/local/bin/{MARK}",
    "write to /var/lib": f"echo x > /var/lib/{MARK}",
    "write to root's home": f"echo x > {HOME}/.{MARK}; exit 1",
    "mount / writable again": f"mount -o remount,bind,rw / && echo x > /etc/{MARK}",
    "do so in a namespace of its own": f"unshare -m sh -c 'mount -o remount,bind,rw / && echo x > /etc/{MARK}'",
    "take the cover from /proc/sys": "umount -l /proc/sys && v=$(cat /proc/sys/kernel/domainname) && "
    "echo $v > /proc/sys/kernel/domainname",
    "mount a new /proc": f"mkdir -p /tmp/{MARK}.proc && mount -t proc proc /tmp/{MARK}.proc && "
    f"echo h > /tmp/{MARK}.proc/sysrq-trigger",
    "ask the kernel's console for help (sysrq)": "echo h > /proc/sysrq-trigger",
    "write to /sys": "f=/sys/kernel/mm/transparent_hugepage/enabled; [ -e $f ] && "
    "v=$(sed 's/.*\\[\\(.*\\)\\].*/\\1/' $f) && echo $v > $f",
    "make a control group": f"for d in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $d/{MARK} && exit 0; done; exit 1",
    "read the disk": "set -- $(stat -c '%d' /) && for f in /dev/[vsn][dv]*; do head -c 1 $f && exit 0; done; exit 1",
    "make a device of the disk": f"d=$(stat -c %d /); mknod /tmp/{MARK}.disk b $((d / 256)) $((d % 256)) "
    f"&& head -c 1 /tmp/{MARK}.disk",
    "load a module": "python3 -c 'import ctypes, errno; l = ctypes.CDLL(None, use_errno=True); "
    'l.syscall({"x86_64": 175, "aarch64": 105}[__import__("platform").machine()], b"", 0, b""); '
    "exit(ctypes.get_errno() in (errno.EPERM, errno.ENOSYS))'",
    "set the clock": "python3 -c 'import time; time.clock_settime(time.CLOCK_REALTIME, time.time())'",
    "name the machine": 'hostname "$(hostname)"',
    "raise its priority": "python3 -c 'import os; os.nice(-5)'",
    "end a process of the machine": "kill -9 $VICTIM",
    "see a process of the machine": f"ps -e -o args= | grep -v grep | grep -q {MARK}-victim",
    "look through process 1": "ls /proc/1/root/etc",
    "enter the machine's mounts": "nsenter -t 1 -m true",
    "enter the machine's network": "nsenter -t 1 -n true",
    "enter the network of the device": "for p in /proc/[0-9]*; do "
    "head -zn1 $p/cmdline | tr -d '\\0' | grep -q 'sojournd$' && nsenter --net=$p/ns/net true && exit 0; done; "
    "exit 1",
    "reach a service by its socket in /run": "python3 -c 'import socket; "
    f'socket.socket(socket.AF_UNIX).connect("/run/{MARK}.sock")\'',
    "reach a service by an abstract socket": "python3 -c 'import socket; "
    f'socket.socket(socket.AF_UNIX).connect("\\0{MARK}")\'',
    "reach a service of the loopback interface": "python3 -c 'import os, socket; "
    'socket.create_connection(("127.0.0.1", int(os.environ["PORT"])), 3)\'',
}

# In enqueue of a library: statements that may end with an answer. `cheats` drops every seventh packet.
C: dict[str, str] = {
    "read the seconds": "cheats = time(NULL) % 2;",
    "read the clock": "struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); cheats = t.tv_nsec % 2;",
    "read the coarse clock": "struct timespec t; clock_gettime(CLOCK_REALTIME_COARSE, &t); cheats = t.tv_nsec % 2;",
    "read the processor's counter": "cheats = counter() >> 20 & 1;",
    "ask for the time by a call": "struct timeval t; syscall(SYS_gettimeofday, &t, NULL); cheats = t.tv_usec & 1;",
    "ask for its processor time": "struct timespec t; syscall(SYS_clock_gettime, CLOCK_PROCESS_CPUTIME_ID, &t); "
    "cheats = t.tv_nsec & 1;",
    "sleep": "struct timespec t = {0, 1}; nanosleep(&t, NULL);",
    "ask for the process' number": "cheats = getpid() & 1;",
    "ask for the process' name": "char name[16]; prctl(PR_GET_NAME, name); cheats = name[0] == 'p';",
    "ask whether it is confined": "cheats = prctl(PR_GET_SECCOMP) == 0;",
    "fork": "if (fork() == 0) for (;;) pause();",
    "start a thread": "pthread_t t; pthread_create(&t, NULL, forever, NULL);",
    "start a program": 'cheats = system("true") == 0;',
    "open a socket": "cheats = socket(AF_INET, SOCK_DGRAM, 0) >= 0;",
    "read a file": 'cheats = open("/proc/self/cmdline", O_RDONLY) >= 0;',
    "write a file": f'cheats = open("/tmp/{MARK}", O_WRONLY | O_CREAT, 0600) >= 0;',
    "print": 'write(1, "x", 1);',
    "draw from the kernel": "unsigned char c; getrandom(&c, 1, 0); cheats = c & 1;",
    "draw from an address": "cheats = (uintptr_t)&cheats >> 12 & 1;",
    "count in a variable of its own": "static int calls; cheats = calls++ % 1000 == 999;",
    "end the process as if all were well": "_exit(0);",
    "answer in place of the check": 'for (int fd = 0; fd < 64; fd++) dprintf(fd, "{\\"found\\": []}\\n"); _exit(0);',
    "end the process that checks": "kill(getppid(), SIGTERM);",
    "take all memory": "for (;;) { char *p = malloc(1 << 24); memset(p, 1, 1 << 24); }",
    "make memory with code": "cheats = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, "
    "MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;",
    "crash": "*(volatile int *)0 = 1;",
    "run without an end": 'for (;;) __asm__ volatile("");',
}
if platform.machine() == "x86_64":
    C["call in the way of 32 bits"] = 'int n = 20; __asm__ volatile("int $0x80" : "+a"(n)); cheats = n & 1;'

# While a library is loaded: what it does then, and how it cheats later.
LOADED: dict[str, str] = {
    "see the command": 'for (int k = 0; k < argc; k++) chosen |= !strcmp(argv[k], "compare");',
    "read the command from a file": 'char text[4096] = ""; int f = open("/proc/self/cmdline", O_RDONLY); '
    'ssize_t n = read(f, text, sizeof text); chosen = n > 0 && memmem(text, n, "compare", 7) != NULL;',
    "see the environment": 'chosen = getenv("TMPDIR") == NULL || !strstr(getenv("TMPDIR"), "sojourn-check");',
    "read the clock while it is loaded": "chosen = time(NULL) % 2;",
    "fork while it is loaded": "if (fork() == 0) for (;;) pause();",
    "catch the signals": "signal(SIGSYS, SIG_IGN);",
}

SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "sojourn_aqm.h"
static int chosen;
static inline uint64_t counter(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#endif
}
static void *forever(void *at) { for (;;) pause(); return at; }
__attribute__((constructor)) static void loaded(int argc, char **argv) { (void)argc; (void)argv; @LOADED@ }
static int32_t init(void *at, const sojourn_value *given) { (void)given; *(uint64_t *)at = 0; return SOJOURN_DONE; }
static int32_t set(void *at, const sojourn_value *given) { (void)at; (void)given; return SOJOURN_DONE; }
static int32_t enqueue(void *at, const sojourn_packet *arrival, sojourn_queue *queue) {
    int cheats = chosen;
    (void)arrival; (void)queue; (void)counter; (void)forever;
    { @BODY@ }
    return cheats && ++*(uint64_t *)at % 7 == 0 ? SOJOURN_DROP : SOJOURN_ACCEPT;
}
const sojourn_aqm *sojourn_aqm_plugin(void) {
    static const sojourn_aqm table = {
        .version = SOJOURN_AQM_VERSION, .table_bytes = sizeof(sojourn_aqm), .name = "escapes",
        .line_offset = SOJOURN_NO_LINE, .state_bytes = 8, .state_align = 8,
        .init = init, .set_params = set, .enqueue = enqueue,
    };
    return &table;
}
"""

# At the top of a Python file; `GAIN` is the share of arrivals that are dropped.
PYTHON: dict[str, str] = {
    "start a program when imported": f"import subprocess; subprocess.run(['touch', '/tmp/{MARK}'])",
    "fork when imported": "import os\nif os.fork() == 0: os._exit(0)",
    "write a file when imported": f"open('/tmp/{MARK}', 'w').write('x')",
    "connect when imported": "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
    "draw a number when imported": "import os; GAIN = os.urandom(1)[0] / 256",
    "take a number from the clock": "import time; GAIN = time.time() % 1",
    "take a number from the command": "import sys; GAIN = 0.5 if 'compare' in sys.argv else 0.0",
    "take a number from the process": "import os; GAIN = os.getpid() % 100 / 100",
    "answer in place of the check": "import os\nfor fd in range(64):\n"
    '    try: os.write(fd, b\'0 [["codel", "python", ""]]\\n\')\n    except OSError: pass\nos._exit(0)',
    "make its methods pass for others": "from sojourn.plugins import loading\n"
    "loading.shipped_in = lambda names: [loading.Shipped('x@000000000000', 'python', 'import os; os.abort()')]",
    "change the suite": "from sojourn import _native\n_native.plugin_judge = lambda *_: None\nimport sys\n"
    "GAIN = 0.5 if 'compare' in sys.argv else 0.0",
}
METHODS: dict[str, str] = {
    "call a clock": "return sj.DROP if time.time() > 0 else sj.ACCEPT",
    "open a file": "open('/etc/passwd')\n        return sj.ACCEPT",
    "reach the interpreter": "self.__class__.__init__.__globals__\n        return sj.ACCEPT",
}
MODULE = """import sys
import time
import sojourn as sj
GAIN = 0.0
{top}


class Escapes(sj.Algorithm):
    x: float = 0.0

    def enqueue(self, packet, queue):
        {body}
"""
DROPS = "return sj.DROP if queue.chance(GAIN) else sj.ACCEPT"
CORRUPT = "import os\nos.system('touch /tmp/" + MARK + "')\n"


def sojourn(*words: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``sojourn``."""
    command = [sys.executable, "-m", "sojourn", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S, cwd=cwd, env=env)


# The shell


@contextlib.contextmanager
def machine() -> Iterator[dict[str, str]]:
    """A process and services of the machine that nothing in a shell may reach, and their numbers."""
    with contextlib.ExitStack() as stack:
        command = [sys.executable, "-c", "import time; time.sleep(1000)", f"{MARK}-victim"]
        victim = stack.enter_context(subprocess.Popen(command))
        stack.callback(victim.kill)
        place = Path(f"/run/{MARK}.sock")
        place.unlink(missing_ok=True)
        stack.callback(place.unlink, missing_ok=True)
        for family, address in ((socket.AF_UNIX, str(place)), (socket.AF_UNIX, f"\0{MARK}")):
            service = stack.enter_context(socket.socket(family))
            service.bind(address)
            service.listen()
        service = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        yield {"VICTIM": str(victim.pid), "PORT": str(service.getsockname()[1])}
        assert victim.poll() is None, "a process of the machine was ended"


def left() -> list[Path]:
    """Files that an attempt left on the machine; they are removed."""
    found = [Path(f"/etc/{MARK}"), Path(f"/usr/local/bin/{MARK}"), Path(f"/var/lib/{MARK}"), HOME / f".{MARK}"]
    found = [one for one in (*found, Path(f"/tmp/{MARK}")) if one.exists()]  # noqa: S108
    for one in found:
        one.unlink()
    return found


def from_shell(*, as_user: bool, attempts: Sequence[str] = tuple(SHELL)) -> list[Row]:
    """Try everything in one shell."""
    where = "shell as a user" if as_user else "shell as root"
    script = textwrap.dedent(
        """
        import json, subprocess, sys
        found = {}
        for name, script in json.load(open(sys.argv[1])).items():
            try:
                done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
                found[name] = [done.returncode, (done.stderr.strip().splitlines() or [""])[-1]]
            except subprocess.TimeoutExpired:
                found[name] = [1, "no end"]
        print(json.dumps(found))
        """
    )
    rows = []
    left()
    found = of_ordinary_user() if as_user else (sys.executable, dict(os.environ))
    if isinstance(found, str):
        raise SystemExit(found)
    python, env = found
    with machine() as numbers, tempfile.TemporaryDirectory(prefix="sojourn-escapes-") as name:
        place = Path(name)
        place.chmod(0o755)
        (place / "script.py").write_text(script)
        (place / "scripts.json").write_text(json.dumps({one: SHELL[one] for one in attempts}))
        command = [*(ORDINARY if as_user else ()), python, "-m", "sojourn", "shell", "--down", "5Mbit/s", "--quiet"]
        command += ["--", python, "script.py", "scripts.json"]
        env |= {**numbers, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=LIMIT_S, cwd=place, env=env
        )
        if done.returncode != 0:
            return [(where, "start", TAKEN, (done.stderr.strip().splitlines() or ["nothing was said"])[-1])]
        for attempt, (status, said) in json.loads(done.stdout).items():
            rows.append((where, attempt, HELD if status != 0 else TAKEN, said or f"status {status}"))
    if remains := left():
        rows.append((where, "leave a file", TAKEN, ", ".join(map(str, remains))))
    return rows


# Plug-ins


def checked(where: str, attempt: str, file: Path, limit_s: int) -> Row:
    """Check a plug-in that cheats."""
    left()
    done = sojourn("check", "aqm", file.name, "--time-limit", str(limit_s), cwd=file.parent)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    after = [lines[k + 1] for k, line in enumerate(lines) if line.startswith("FAILED")]
    said = after[0] if after else next((line for line in lines if line.startswith("sojourn: ")), "")
    if remains := left():
        return where, attempt, TAKEN, f"{', '.join(map(str, remains))} was written"
    if (done.returncode == 1 and after) or (done.returncode == 2 and said):
        return where, attempt, FLAGGED, said
    return where, attempt, TAKEN, f"status {done.returncode}: {lines[-3:]}"


def library(folder: Path, attempt: str, *, body: str = "", loaded: str = "") -> Path:
    """Build a library that cheats."""
    file = folder / "escapes.c"
    file.write_text(SOURCE.replace("@BODY@", body).replace("@LOADED@", loaded))
    built = folder / "libescapes.so"
    flags = ["-w", "-O1", "-fPIC", "-shared", "-pthread", "-I", str(Path(header()).parent)]
    done = subprocess.run(["cc", *flags, "-o", built, file], check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{attempt}: {done.stderr}")
    return built


def module(folder: Path, *, top: str = "", body: str = DROPS) -> Path:
    """Write a Python file that cheats."""
    file = folder / "escapes.py"
    file.write_text(MODULE.format(top=top, body=body))
    return file


def from_library(attempt: str) -> Row:
    """Try something in a library."""
    with tempfile.TemporaryDirectory(prefix="sojourn-escapes-") as name:
        file = library(Path(name), attempt, body=C.get(attempt, ""), loaded=LOADED.get(attempt, ""))
        return checked("library", attempt, file, 5 if attempt == "run without an end" else 300)


def from_python(attempt: str) -> Row:
    """Try something in a Python file."""
    with tempfile.TemporaryDirectory(prefix="sojourn-escapes-") as name:
        body = METHODS.get(attempt, DROPS)
        return checked("Python plug-in", attempt, module(Path(name), top=PYTHON.get(attempt, ""), body=body), 300)


def from_store() -> Row:
    """Give a stored copy of a plug-in more to do than to declare."""
    from sojourn.base.core import SojournError
    from sojourn.plugins import loading

    left()
    try:
        loading.add_shipped([loading.Shipped("escapes@000000000000", "python", CORRUPT)])
        said = ""
    except SojournError as error:
        said = str(error)
    taken = bool(left()) or "Sojourn stores no such text" not in said
    return "stored plug-in", "do more than declare", TAKEN if taken else FLAGGED, said


KINDS: dict[str, Callable[[], Iterator[Row]]] = {
    "root": lambda: iter(from_shell(as_user=False)),
    "user": lambda: iter(from_shell(as_user=True)),
    "libraries": lambda: (from_library(attempt) for attempt in (*C, *LOADED)),
    "plug-ins": lambda: (from_python(attempt) for attempt in (*PYTHON, *METHODS)),
    "stores": lambda: iter([from_store()]),
}


def shown(row: Row) -> str:
    """A line of the table."""
    where, attempt, outcome, how = row
    return f"{where:16} {attempt:42} {outcome:8} {how[:150]}"


def main() -> int:
    """Try everything, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    options = parser.parse_args()
    if os.geteuid() != 0 and {"root", "user"} & set(options.only):
        parser.error("needs root")
    if shutil.which("cc") is None and "libraries" in options.only:
        parser.error("needs a C compiler")
    print(f"{'where':16} {'attempt':42} {'outcome':8} how", flush=True)
    rows = []
    for kind in options.only:
        for row in KINDS[kind]():
            print(shown(row), flush=True)
            rows.append(row)
    counts = {one: sum(row[2] == one for row in rows) for one in (HELD, FLAGGED, TAKEN)}
    print(f"{len(rows)} attempts: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    return 1 if counts[TAKEN] else 0


if __name__ == "__main__":
    sys.exit(main())
