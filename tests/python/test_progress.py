from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

from shared import read_terminal


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
        text = read_terminal(ours)
    assert process.returncode == 0
    assert json.loads(out.read_text())["runs"]
    assert "of 1 run" in text
    assert "left," in text
