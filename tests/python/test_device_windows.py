"""The store of sojournd as tables. The store is made of the program's own statements (crates/device/store.sql)."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sojourn.base.core import SojournError
from sojourn.cli import main
from sojourn.real.device import windows

_TABLES = Path(__file__).parents[2] / "crates" / "device" / "store.sql"
_COUNTS = {
    "arrived": 100,
    "arrived_bytes": 130_000,
    "dropped_overflow": 0,
    "dropped_early": 4,
    "dropped_flow": 0,
    "marked": 1,
    "forwarded": 96,
}


def _window(connection: sqlite3.Connection, window: int, **given: object) -> None:
    row = {
        "window": window,
        "run": 1,
        "started_ns": 1_500_000_000_000_000_000 + window,
        "ended_ns": 1_500_000_001_000_000_000,
        "started_at": "2017-07-14T02:40:00.000Z",
        "direction": "a_to_b",
        "scheme": "pfifo limit 300p",
        "label": "fifo",
        "slot": None,
        "rate_bit_s": 1_000_000,
        "complete": 1,
        "load": 1.04,
        "loss_ratio": 0.04,
        "mean_queue_packets": 50.0 * window,
        **_COUNTS,
        **given,
    }
    names, places = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO windows ({names}) VALUES ({places})", tuple(row.values()))  # noqa: S608
    connection.execute("INSERT INTO classes VALUES (?, 'udp', 100, 130000, 4, 1)", (window,))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "w.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_TABLES.read_text())
        connection.execute("INSERT INTO runs VALUES (1, 'v', '', '18446744073709551615', 1000000, 24, 0, '')")
        _window(connection, 1)
        _window(connection, 2, label="d1", slot=7, scheme="dropping_function function d1")
        _window(connection, 3, label="d1", slot=7, complete=0, mean_queue_packets=None)
        _window(connection, 4, direction="b_to_a")
        connection.commit()
    return path


def test_windows_have_their_types_and_units(path: Path) -> None:
    store = windows.read(path)
    assert list(store.windows["window"]) == [1, 2, 3, 4]
    assert store.windows["slot"].isna().tolist() == [True, False, False, True]
    assert store.windows["slot"].iloc[1] == 7
    assert store.windows["mean_queue_packets"].dtype == float
    assert store.windows["arrived"].dtype == int
    assert str(store.windows["started_at"].iloc[0]) == "2017-07-14 02:40:00+00:00"
    assert store.runs["seed"].iloc[0] == str(2**64 - 1)
    table = store.to_arrow()
    assert table.schema.field("sojourn_p99_s").metadata[b"unit"] == b"s"
    assert table.schema.field("rate_bit_s").metadata[b"unit"] == b"bit/s"
    assert b"unit" not in table.schema.field("load").metadata
    # Every column says what it means.
    assert all(field.metadata[b"meaning"] for field in table.schema)


def test_a_part_of_the_windows(path: Path) -> None:
    store = windows.read(path, direction="a_to_b", complete=True)
    assert list(store.windows["window"]) == [1, 2]
    assert list(store.classes["window"]) == [1, 2]


def test_a_store_that_is_being_written_is_read(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("BEGIN IMMEDIATE")
        _window(writer, 5)
        assert len(windows.read(path).windows) == 4
        writer.execute("COMMIT")
        assert len(windows.read(path).windows) == 5


def test_what_is_no_store_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(SojournError, match="no such file"):
        windows.read(tmp_path / "none")
    (tmp_path / "text").write_text("no database" * 100)
    with pytest.raises(SojournError, match="not a database"):
        windows.read(tmp_path / "text")
    with pytest.raises(SojournError, match="allowed: a_to_b, b_to_a"):
        windows.read(path, direction="up")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(SojournError, match="version 99"):
        windows.read(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA application_id = 1")
    with pytest.raises(SojournError, match="not one of sojournd"):
        windows.read(path)


def test_the_command_shows_means_and_writes_files(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["device", "windows", str(path), "--complete"]) == 0
    # Label, windows, load, mean queue: d1's incomplete window is left out.
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["d1", "1", "1.040", "100.0"] in [row[:4] for row in rows]
    assert ["fifo", "1", "1.040", "50.0"] in [row[:4] for row in rows]
    for name in ("w.parquet", "w.csv"):
        assert main(["device", "windows", str(path), "--out", str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_size > 500
    assert main(["device", "windows", str(path), "--out", str(tmp_path / "w.txt")]) == 2
    assert ".parquet or .csv" in capsys.readouterr().err
