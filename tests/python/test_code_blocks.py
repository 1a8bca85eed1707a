"""Blocks of code in README and documentation: each is run, or says why not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from namespaces import missing_for_the_shell

from shared import script

ROOT = Path(__file__).resolve().parents[2]


BLOCKS = script("docs/blocks.py")
PAGES = BLOCKS.pages()
#: `.ci/weekly` sets it to "all"; otherwise pages that changed are run, and those under a second.
WHICH = os.environ.get("SOJOURN_TEST_BLOCKS", "changed")
CHOSEN = [
    page
    for page in PAGES
    if any(block.runs() for block in BLOCKS.blocks(page)) and (WHICH == "all" or BLOCKS.wanted(page))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    for block in BLOCKS.blocks(page):
        where = f"{page.name}:{block.line}"
        if block.kind == "text" or block.reason:
            continue
        assert block.kind in {"python", "shell", "toml", "json"}, f"{where}: nothing runs a block of {block.kind!r}"
        assert block.kind != "shell" or block.commands(), f"{where}: no command; mark it as text"


#: What needs network namespaces.
REAL = ("sojourn shell", "sj.emulate", "--world", "examples/real")


@pytest.mark.parametrize("page", CHOSEN, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_blocks_run(page: Path) -> None:
    runs = "\n".join(block.text for block in BLOCKS.blocks(page) if block.runs())
    missing = missing_for_the_shell() if any(words in runs for words in REAL) else None
    if missing is not None:
        pytest.skip(f"no network namespaces here: {missing}")
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "blocks.py"), str(page)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def page_of(tmp_path: Path, text: str) -> Path:
    page = tmp_path / "page.md"
    page.write_text(text)
    return page


@pytest.mark.parametrize(
    ("text", "kind", "runs"),
    [
        ("```python\nx = 1\n```\n", "python", True),
        ("```text\nx = 1\n```\n", "text", False),
        ("```console\n$ sojourn list aqms\npfifo\n```\n", "shell", True),
        ("```console\n$ make demo\n```\n", "shell", False),
        ("```sh\nsudo apt install x\n```\n", "shell", False),
        ("```toml\na = 1\n```\n", "toml", True),
        ("    sojourn list aqms\n", "shell", True),
        ("    [ports.a]\n    back_end = 'af_xdp'\n", "toml", True),
        ("    from a import b\n", "python", True),
        ("    Internet -- router -- [ port A ]\n", "text", False),
        ("```python\nread('/var/lib/sojournd/windows.sqlite')\n```\n", "python", False),
        ("    sojourn plan run a.toml --scheduler tcp://head:8786\n", "shell", False),
        ("<!-- not run: needs root -->\n```python\nx = 1\n```\n", "python", False),
        ("<!-- output -->\n    sojourn: no such thing\n", "text", False),
        # What belongs to an item of a list is no code.
        ("* one\n\n    two\n", None, False),
    ],
)
def test_a_block_is_known_by_its_language_or_its_first_words(
    tmp_path: Path, text: str, kind: str | None, runs: bool
) -> None:
    found = BLOCKS.blocks(page_of(tmp_path, text))
    assert [block.kind for block in found] == ([] if kind is None else [kind])
    assert [block.runs() for block in found] == ([] if kind is None else [runs])


def test_commands_are_those_behind_the_prompt_if_there_is_one(tmp_path: Path) -> None:
    text = "```console\n$ sojourn run a \\\n    --json\noutput\n$ sojourn list aqms\n```\n"
    [block] = BLOCKS.blocks(page_of(tmp_path, text))
    assert [command.split() for command in block.commands()] == [
        ["sojourn", "run", "a", "--json"],
        ["sojourn", "list", "aqms"],
    ]


def test_commands_and_the_toml_below_them_are_two_blocks(tmp_path: Path) -> None:
    text = "Words.\n\n    sojourn list aqms\n\n    [a]\n    b = 1\n\n    [c]\n    d = 2\n\n    sojourn schema\n"
    found = BLOCKS.blocks(page_of(tmp_path, text))
    assert [(block.line, block.kind) for block in found] == [(3, "shell"), (5, "toml"), (11, "shell")]
    assert found[1].text == "[a]\nb = 1\n\n[c]\nd = 2\n"


def test_a_marker_counts_for_the_next_block_alone(tmp_path: Path) -> None:
    text = (
        "<!-- not run: slow -->\n\n```python\na\n```\n\n```python\nb\n```\n\n"
        "<!-- not run: lost -->\nWords.\n\n```python\nc\n```\n"
    )
    assert [block.reason for block in BLOCKS.blocks(page_of(tmp_path, text))] == ["slow", "", ""]


def outcome(page: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "docs" / "blocks.py"), str(page)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_blocks_share_a_folder_and_names_and_a_failure_has_its_place(tmp_path: Path) -> None:
    good = (
        "Save this as `own.toml`:\n\n```toml\nname = 'x'\n```\n\n"
        "```console\n$ grep -q name own.toml\n```\n\n"
        "```python\nfrom pathlib import Path\nfound = Path('own.toml')\n```\n\n"
        "```python\nassert found.read_text()\n```\n\n<!-- status: 3 -->\n```sh\nexit 3\n```\n"
    )
    done = outcome(page_of(tmp_path, good))
    assert done.returncode == 0, done.stderr
    for bad, place in (
        ("# A\n\n```console\n$ grep x own.toml\n```\n", ":3"),
        ("# A\n\n```python\nassert False\n```\n", ":3"),
        ("```toml\na =\n```\n", ":1"),
        ("```lisp\n()\n```\n", ":1"),
    ):
        done = outcome(page_of(tmp_path, bad))
        assert done.returncode == 1
        assert place in done.stderr


def test_a_changed_block_is_run_again_and_changed_words_are_not(tmp_path: Path) -> None:
    digests = [
        BLOCKS.digest(page_of(tmp_path, text))
        for text in (
            "Words.\n\n```python\na\n```\n",
            "Others.\n\n```python\na\n```\n",
            "Words.\n\n```python\nb\n```\n",
        )
    ]
    assert digests[0] == digests[1] != digests[2]


def test_the_record_names_pages_that_exist() -> None:
    known = json.loads(BLOCKS.RECORD.read_text())
    assert set(known) <= {str(page.relative_to(ROOT)) for page in PAGES}
    assert all(entry["cpu_s"] >= 0 for entry in known.values())
