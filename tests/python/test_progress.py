from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path


def test_a_terminal_sees_progress_and_json_stays_clean(small_file: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    out = tmp_path / "out.json"
    with (
        out.open("w") as file,
        subprocess.Popen(
            [sys.executable, "-m", "sojourn", "run", small_file, "--set", "duration=300 s", "--json"],
            stdout=file,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        ) as process,
    ):
        os.close(theirs)
        shown = b""
        while True:
            try:
                shown += os.read(ours, 4096)
            except OSError:  # Linux reports the end of a terminal so
                break
    os.close(ours)
    assert process.returncode == 0
    assert json.loads(out.read_text())["runs"]
    text = shown.decode(errors="replace")
    assert "of 1 run" in text
    assert "left," in text
