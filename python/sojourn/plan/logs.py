"""Packet traces (pcapng) and decision logs (Parquet) of the queues of a run.

Both are written while the run goes on, into a hidden folder that takes its place at the end: all files or none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from sojourn.base import core
from sojourn.base.core import Document
from sojourn.base.errors import StoreError

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT: Final = "sojourn traces 1"
META: Final = "meta.json"
_RAW: Final = ".decisions"
_ROWS: Final = 500_000
"""Rows of a decision log that are in memory at a time."""

_RECORD: Final = np.dtype(
    [
        *(("time_ns", "<u8"), ("packet", "<u8")),
        *((name, "<u4") for name in ("flow_hash", "source_hash", "destination_hash", "bytes", "flow", "ack")),
        ("window", "<u2"),
        *((name, "u1") for name in ("event", "ecn", "dscp", "detail")),
    ]
)
"""A record as the compiled core writes it."""

EVENTS: Final = ("arrived", "dropped", "marked", "left")
REASONS: Final = ("overflow", "early", "flow")
ECN: Final = ("not", "ect1", "ect0", "ce")

COLUMNS: Final[dict[str, tuple[str, str]]] = {
    "time_ns": ("ns", "time since the start of the run"),
    "packet": (
        "",
        "number of the packet in the order of arrival at this queue, from 0; all events of a packet have it",
    ),
    "event": ("", "arrived: offered to the scheme; dropped; marked: CE was set here; left: taken to be sent"),
    "reason": (
        "",
        "of a drop: overflow (the queue was full), early (the scheme decided on congestion) or flow (the scheme "
        "decided against this flow); empty elsewhere",
    ),
    "ce": ("", "of a departure: whether the packet carries CE, set here or before; empty elsewhere"),
    "flow": ("", "name of the flow, as in the table of flows; this and the columns that follow are of arrivals only"),
    "bytes": ("B", "size on the wire, framing included"),
    "ecn": ("", "ECN field on arrival: not (not ECN-capable), ect0, ect1 or ce"),
    "dscp": ("", "differentiated services codepoint"),
    "flow_hash": ("", "hash of the five-tuple, by which a scheme tells flows apart"),
    "source_hash": ("", "hash of the source host"),
    "destination_hash": ("", "hash of the destination host"),
    "ack": ("", "number of a pure acknowledgement; empty for other packets"),
    "window": ("packets", "congestion window of a TCP sender when it sent the packet; empty for other packets"),
}
"""The columns of a decision log: unit and meaning, which its fields' metadata have, too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PacketTraces:
    """Packets of queues that a run writes as pcapng, a file for each queue.

    Parameters
    ----------
    folder
        A folder that is new or empty.
    at
        Names of queues, as in the table of queues (``left->right``), or ``all``; by default the queues under test.
    snaplen_bytes
        Bytes of each packet that are kept, Ethernet header included. Payloads are zeros.
    departures
        Whether to write a second file for each queue, with the packets as they leave it.
    force
        Whether to replace earlier traces in `folder`.
    """

    folder: str | Path
    at: Sequence[str] = ()
    snaplen_bytes: int = 128
    departures: bool = False
    force: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisionLogs:
    """Decision logs of queues that a run writes as Parquet, a file for each queue.

    Parameters
    ----------
    folder
        A folder that is new or empty.
    at
        Names of queues, as in the table of queues (``left->right``), or ``all``; by default the queues under test.
    force
        Whether to replace earlier logs in `folder`.
    """

    folder: str | Path
    at: Sequence[str] = ()
    force: bool = False


WORDS: Final = {
    "packet": "number of the packet in the order of arrival at this queue, from 0, as in the decision log",
    "flow": "name of the flow, as in the table of flows",
    "retransmission": "`yes`: the sender has sent these bytes before",
    "sojourn_ms": "time from the arrival until the packet left the queue or was dropped",
    "mark": "`ce`: the queue set CE",
    "drop": "the queue dropped the packet, for this reason: `overflow`, `early` or `flow`, as in the decision log",
    "waiting": "`yes`: the packet was still in the queue when the run ended, or when 262,144 more had arrived",
}
"""The words of a packet's comment, in their order."""

HEADERS: Final = {
    "Ethernet": "locally administered addresses, `02:00:` and the IPv4 address; no frame check sequence",
    "addresses": "10.0.0.1 and so on, in the order in which the scenario names its nodes; the file has their names",
    "ports": "a pair for each flow: the source port is 49152 plus the flow's number, the destination port 48600",
    "length": "the packet's; the payload is zeros and is cut to the snap length",
    "identification": "the packet's number among those of its flow, modulo 65536; 0 for acknowledgements",
    "ECN and DSCP": "as the packet carries them at this point: on arrival, or on departure",
    "checksums": "right, for a payload of zeros",
    "sequence numbers": "those of the sender; the initial number is 0, so the first byte of data has the number 1",
    "acknowledgements": "those of the receiver, with up to three SACK blocks",
    "flags": "SYN, FIN, PSH, ACK, ECE and CWR as the two ends set them",
    "window": "the receiver's, scaled; the sender's is 65535",
    "timestamps": "in milliseconds, where the flow uses them; data echoes none, and an acknowledgement has the time "
    "of arrival of the segment that it echoes",
    "SYN": "options for maximum segment size, window scale and, where they are used, SACK and timestamps",
}
"""How the fields of a packet's headers are made."""


Packets: TypeAlias = PacketTraces | str | Path | None
Decisions: TypeAlias = DecisionLogs | str | Path | None


class Writing:
    """The folders that runs write to, each hidden until all runs have ended."""

    def __init__(self, packets: PacketTraces | None, decisions: DecisionLogs | None) -> None:
        self._packets, self._decisions = packets, decisions
        self._staged: dict[str, Path] = {}

    def enter(self, stack: ExitStack) -> None:
        """Create the hidden folders; `stack` puts them in their places when it ends well."""
        from sojourn.plan import folder

        asked = {"packets": self._packets, "decisions": self._decisions}
        places = {name: one for name, one in asked.items() if one is not None}
        resolved = [Path(one.folder).expanduser().resolve() for one in places.values()]
        pairs = [(resolved[0], resolved[-1]), (resolved[-1], resolved[0])] if len(resolved) > 1 else []
        if any(one == other or one in other.parents for one, other in pairs):
            named = " and ".join(repr(str(one.folder)) for one in places.values())
            raise StoreError(
                f"packet traces and decision logs need folders of their own, neither in the other: {named}"
            )
        for name, one in places.items():
            self._staged[name] = stack.enter_context(folder.staged(one.folder, force=one.force))

    def task(self, replication: int, replications: int) -> Document:
        """Return what a replication's task says of its traces."""
        found: Document = {}
        for name, place in self._staged.items():
            own = place / f"replication-{replication}" if replications > 1 else place
            own.mkdir(exist_ok=True)
            found[name] = {"folder": str(own)}
        if self._packets is not None:
            found["packets"] |= {
                "at": list(self._packets.at),
                "snaplen_bytes": self._packets.snaplen_bytes,
                "departures": self._packets.departures,
            }
        if self._decisions is not None:
            found["decisions"]["at"] = list(self._decisions.at)
        return found

    def finish(self, scenario: Document, tasks: Sequence[Mapping[str, Any]], reports: Sequence[core.Report]) -> None:
        """Make the decision logs from the records of runs that have ended, and describe every folder."""
        flows = [flow["name"] for flow in reports[0].section("flows")] if "decisions" in self._staged else []
        for name, place in self._staged.items():
            for task in tasks:
                own = Path(task[name]["folder"])
                about = {"scenario": scenario["name"], "seed": task["seed"], "replication": task["replication"]}
                for raw in sorted(own.glob(f"*{_RAW}")):
                    _to_parquet(raw, flows, {**about, "queue": raw.name.removesuffix(_RAW)})
                _describe(own, {"kind": name, **about})
            if len(tasks) > 1:
                _describe(place, {"kind": name, "scenario": scenario["name"]})


@contextmanager
def writing(packets: Packets, decisions: Decisions) -> Iterator[Writing]:
    """Give the folders for the traces that are asked for; without any, nothing is done."""
    asked = Writing(
        PacketTraces(folder=packets) if isinstance(packets, str | Path) else packets,
        DecisionLogs(folder=decisions) if isinstance(decisions, str | Path) else decisions,
    )
    with ExitStack() as stack:
        asked.enter(stack)
        yield asked


def _describe(place: Path, about: Document) -> None:
    parts = sorted(entry.name for entry in place.iterdir())
    meta = {"format": FORMAT, "version": core.version(), **about, "parts": parts}
    (place / META).write_text(json.dumps(meta, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _to_parquet(raw: Path, flows: Sequence[str], about: Document) -> None:
    """Write a decision log in place of its records, part by part."""
    import pyarrow.parquet as pq

    file = raw.with_suffix(".parquet")
    schema = _schema(about)
    with raw.open("rb") as source, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        while records := source.read(_RECORD.itemsize * _ROWS):
            writer.write_table(_table(np.frombuffer(records, _RECORD), flows, schema))
    raw.unlink()


def _schema(about: Document) -> pa.Schema:
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    types = {"time_ns": pa.int64(), "packet": pa.int64(), "ce": pa.bool_(), "bytes": pa.int64(), "dscp": pa.uint8()}
    types |= {"window": pa.uint16()}
    types |= dict.fromkeys(("flow_hash", "source_hash", "destination_hash", "ack"), pa.uint32())
    fields = [
        pa.field(name, types.get(name, text), metadata={"unit": unit, "meaning": meaning})
        for name, (unit, meaning) in COLUMNS.items()
    ]
    return pa.schema(fields, metadata={"table": "decisions", **{name: str(value) for name, value in about.items()}})


def _table(records: np.ndarray[Any, Any], flows: Sequence[str], schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    event = records["event"]
    arrived, dropped, left = event == 0, event == 1, event == 3

    def words(name: str, known: Sequence[str], where: np.ndarray[Any, Any] | None) -> pa.Array:
        mask = None if where is None else ~where
        codes = pa.array(records[name].astype("i4"), mask=mask)
        return pa.DictionaryArray.from_arrays(codes, pa.array(known, pa.string()))

    def numbers(name: str, where: np.ndarray[Any, Any] | None = None) -> pa.Array:
        mask = None if where is None else ~where
        return pa.array(records[name], mask=mask).cast(schema.field(name).type)

    described = {
        name: numbers(name, arrived) for name in ("bytes", "dscp", "flow_hash", "source_hash", "destination_hash")
    }
    columns = {
        "time_ns": numbers("time_ns"),
        "packet": numbers("packet"),
        "event": words("event", EVENTS, None),
        "reason": words("detail", REASONS, dropped),
        "ce": pa.array(records["detail"] == 1, mask=~left),
        "flow": words("flow", flows, arrived),
        "ecn": words("ecn", ECN, arrived),
        "ack": numbers("ack", arrived & (records["detail"] > 0)),
        "window": numbers("window", arrived & (records["window"] > 0)),
        **described,
    }
    return pa.Table.from_arrays([columns[name] for name in schema.names], schema=schema)
