"""Draw the two pictures of DESIGN.md from the code: the parts and their dependencies, and a packet's way.

``docs/house.py`` writes docs/images/house*.svg and docs/images/way*.svg, each for wide and for narrow screens.
``docs/house.py --check`` writes nothing and fails if they are out of date. The dependencies of crates are
those of ``cargo metadata``, the dependencies of the Python package those of its import statements. The functions on a
packet's way must exist, and each must call the next one.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGE: Final = ROOT / "python" / "sojourn"
IMAGES: Final = ROOT / "docs" / "images"
WIDTHS: Final = {"": 960, "-narrow": 380}

NATIVE: Final = "sojourn._native"
CRATE: Final = "sojourn-"
BENCH: Final = "sojourn-bench-"

Graph = Mapping[str, frozenset[str]]


class HouseError(Exception):
    """The code is not as this script says."""


def crates() -> dict[str, set[str]]:
    """Return what each crate depends on, without dependencies of tests alone."""
    command = ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"]
    found = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S603
    packages = [one for one in json.loads(found.stdout)["packages"] if not one["name"].startswith(BENCH)]
    return {
        one["name"]: {
            of["name"] for of in one["dependencies"] if of["name"].startswith(CRATE) and of["kind"] != "dev"
        }
        for one in packages
    }


def part_of(module: str) -> str:
    """Return the part of the picture that a module of the package is in; the empty text for the package itself."""
    first = (*module.split("."), "", "")[1]
    if not first or first in ("__main__", "_native"):
        return ""
    if not (PACKAGE / first).is_dir():
        raise HouseError(f"{first}.py is in no part of the package; move it into one of its folders")
    return first


def packages() -> dict[str, set[str]]:
    """Return what each part of the Python package imports when it is imported."""
    found: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        own = part_of(module)
        if not own:
            continue
        for name in _imports(ast.parse(path.read_text(encoding="utf-8"))):
            other = "sojourn-python" if name.startswith(NATIVE) else part_of(name)
            if other not in ("", own):
                found.setdefault(own, set()).add(other)
    return found


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.startswith("sojourn"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sojourn":
            # `from sojourn import x` may name a module.
            yield from (f"{node.module}.{one.name}" if node.module == "sojourn" else str(node.module)
                        for one in node.names)  # fmt: skip


def reduced(graph: Mapping[str, set[str]]) -> Graph:
    """Return the graph without arrows that follow from others."""
    names = {*graph, *(one for of in graph.values() for one in of)}

    def below(name: str) -> set[str]:
        return {deep for one in graph.get(name, ()) for deep in (one, *below(one))}

    return {
        name: frozenset(
            one for one in graph.get(name, ()) if not any(one in below(via) for via in graph[name] if via != one)
        )
        for name in sorted(names)
    }


def levels(graph: Graph, across: int) -> list[list[str]]:
    """Return the names in rows, highest first, by the longest way down; a row has at most so many."""

    def depth(name: str) -> int:
        return max((1 + depth(one) for one in graph[name]), default=0)

    found: list[list[str]] = []
    for level in range(max(map(depth, graph)), -1, -1):
        own = sorted(name for name in graph if depth(name) == level)
        count = -(-len(own) // across)
        each = -(-len(own) // count)
        found += [own[k : k + each] for k in range(0, len(own), each)]
    return found


def routed(graph: Graph, rows: list[list[str]]) -> tuple[list[list[str]], dict[tuple[str, str], list[str]]]:
    """Return the rows with a place for each arrow that passes one, near to its ends, and the places of each arrow."""
    row_of = {name: k for k, row in enumerate(rows) for name in row}
    ways: dict[tuple[str, str], list[str]] = {}
    whole = [list(row) for row in rows]
    for name, of in graph.items():
        for one in sorted(of):
            passed = range(row_of[name] + 1, row_of[one])
            ways[name, one] = [name, *(f"{name} {one} {k}" for k in passed), one]
            for k in passed:
                whole[k].append(f"{name} {one} {k}")
    beside: dict[str, list[str]] = {}
    for way in ways.values():
        for above, below in pairwise(way):
            beside.setdefault(above, []).append(below)
            beside.setdefault(below, []).append(above)
    for sweep in range(24):
        place = {name: (k + 0.5) / len(row) for row in whole for k, name in enumerate(row)}
        for row in whole if sweep % 2 else reversed(whole):
            middle = {name: sum(place[one] for one in beside[name]) / len(beside[name]) for name in row}
            row.sort(key=lambda name, middle=middle: (middle[name], name))  # type: ignore[misc]
            place |= {name: (k + 0.5) / len(row) for k, name in enumerate(row)}
    return whole, ways


STYLE: Final = """<style>
text { font: 13px "DejaVu Sans", Verdana, sans-serif; fill: #1b2733; text-anchor: middle; }
.narrow text { font-size: 11px; }
text.title { font-weight: bold; }
text.fn { font-family: "DejaVu Sans Mono", monospace; font-weight: bold; }
text.note { fill: #52606d; }
path { fill: none; stroke: #7b8794; stroke-width: 1.1; }
.arrow { fill: #7b8794; stroke: none; }
rect { stroke: #52606d; stroke-width: 1; }
.rust { fill: #fdebd7; } .python { fill: #dcecf9; } .plain { fill: #f0f3f6; } .ground { fill: #ffffff; stroke: none; }
</style>"""


@dataclass(frozen=True)
class Box:
    """A box of a picture: its middle at the top, and its size."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    lines: tuple[tuple[str, str], ...]

    def svg(self, line: float) -> str:
        """Return the box with its lines of text, each a class and a text."""
        left = self.x - self.width / 2
        texts = "".join(
            f'<text x="{self.x:.0f}" y="{self.y + (k + 1) * line:.0f}" class="{name}">{escape(text)}</text>'
            for k, (name, text) in enumerate(self.lines)
        )
        shape = f'x="{left:.0f}" y="{self.y:.0f}" width="{self.width:.0f}" height="{self.height:.0f}"'
        return f'<rect {shape} rx="4" class="{self.kind}"/>{texts}'


def arrow(points: Sequence[tuple[float, float]]) -> str:
    """Return an arrow downwards through some points."""
    curve = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    end = len(points) - 2
    for k, ((x, y), (to_x, to_y)) in enumerate(pairwise(points)):
        low = to_y - 6 * (k == end)
        bend = (low - y) * 0.5
        curve += f"C{x:.0f} {y + bend:.0f} {to_x:.0f} {low - bend:.0f} {to_x:.0f} {low:.0f}"
    x, y = points[-1]
    return f'<path d="{curve}"/><path class="arrow" d="M{x - 4:.0f} {y - 7:.0f}h8l-4 7z"/>'


def page(width: int, height: float, title: str, body: Sequence[str]) -> str:
    """Return a picture as SVG."""
    kind = "narrow" if width < 600 else "wide"
    size = f'viewBox="0 0 {width} {height:.0f}" width="{width}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} class="{kind}" role="img"><title>{escape(title)}</title>'
    ground = f'<rect class="ground" width="{width}" height="{height:.0f}"/>'
    return "\n".join([head, STYLE, ground, *body, "</svg>", ""])


def house(width: int) -> str:
    """Return the picture of the parts: Python above, Rust below, arrows to what a part depends on."""
    whole = {**packages(), **crates()}
    graph = reduced(whole)
    size, gap, line = (96.0, 46.0, 18.0) if width > 600 else (74.0, 34.0, 15.0)
    rows, ways = routed(graph, levels(graph, int((width - 10) // (size + 12))))
    boxes: dict[str, Box] = {}
    y = 10.0
    for row in rows:
        lengths = {name: 4.0 if " " in name else size for name in row}
        free = (width - 10 - sum(lengths.values())) / len(row)
        x = 5.0
        for name in row:
            kind = "rust" if name.startswith(CRATE) else "python"
            text = (("title", name.removeprefix(CRATE)),)
            boxes[name] = Box(x + (free + lengths[name]) / 2, y, size, line + 9, kind, text)
            x += free + lengths[name]
        y += line + 9 + gap
    arrows = []
    for way in ways.values():
        first, *via, last = (boxes[name] for name in way)
        points = [(first.x, first.y + first.height)]
        points += [(one.x, at) for one in via for at in (one.y, one.y + one.height)]
        arrows.append(arrow([*points, (last.x, last.y)]))
    body = [*arrows, *(box.svg(line) for name, box in boxes.items() if " " not in name)]
    y += 6 - gap
    lines = ["Orange: crates. Blue: the Python package; an arrow is an import. Arrows that follow from others "
             "are left out."]  # fmt: skip
    wrapped = [own for text in lines for own in textwrap.wrap(text, 132 if width > 600 else 58)]
    for text in wrapped:
        y += line
        body.append(f'<text class="note" x="{width / 2:.0f}" y="{y:.0f}">{escape(text)}</text>')
    return page(width, y + 12, "Parts of Sojourn and their dependencies", body)


SIM, AQM, DEVICE = "sim", "aqm", "device"


@dataclass(frozen=True)
class Step:
    """A function on a packet's way.

    Parameters
    ----------
    calls
        The next function on the way, which it calls; empty if an event or a loop calls that.
    """

    crate: str
    function: str
    does: str
    calls: str = ""


WAY: Final[tuple[tuple[Step | None, Step | None], ...]] = (
    (
        Step(SIM, "send", "a sender may send", "launch"),
        Step(DEVICE, "turn", "a turn of the packet thread", "receive"),
    ),
    (Step(SIM, "launch", "a host sends a packet", "set_out"), Step(DEVICE, "receive", "frames come from a port")),
    (
        Step(SIM, "set_out", "over its line to a queue", "approach_port"),
        Step(DEVICE, "arrive", "each frame", "take_in"),
    ),
    (Step(SIM, "run_until", "brings the queue up to now", "enqueue"), Step(DEVICE, "take_in", "headers", "arrive")),
    (Step(SIM, "enqueue", "arrives at the queue", "arrive"), None),
    (Step(AQM, "arrive", "Server: clock, random numbers, counters", "enqueue"), None),
    (Step(AQM, "enqueue", "Discipline and Aqm: queue, mark or drop", "enqueue"), None),
    (Step(AQM, "depart", "Server: the wire is free", "dequeue"), None),
    (Step(AQM, "dequeue", "Discipline and Aqm: the next packet", "dequeue"), None),
    (
        Step(SIM, "dequeue", "the previous packet is sent", "depart"),
        Step(DEVICE, "serve_until", "at the nominal time", "depart"),
    ),
    (Step(SIM, "transmit", "crosses the link, if it is not lost", "travel"), Step(DEVICE, "push", "the delay line")),
    (Step(SIM, "deliver", "the receiver has it", "receive"), Step(DEVICE, "hand_over", "to the other port", "send")),
)
"""From top to bottom: in the simulator, and beside it in the device; one alone of `aqm` is in both."""


def bodies(crate: str, function: str) -> list[str]:
    """Return the bodies of the functions of a name, tests left out."""
    found = []
    for path in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
        if "tests" in path.parts or path.stem == "tests":
            continue
        text = path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests")[0]
        for match in re.finditer(rf"^( *)(?:pub(?:\([a-z]+\))? )?fn {function}\b", text, re.MULTILINE):
            rest = text[match.start() :]
            end = re.search(rf"^{match[1]}}}|;\n", rest, re.MULTILINE)
            closed = re.search(rf"^{match[1]}}}$", rest, re.MULTILINE)
            found.append(rest[: (closed or end or match).end()] if closed or end else rest)
    return found


def check_way() -> None:
    """Refuse a way with a function that does not exist, or that does not call the next one."""
    for step in (one for row in WAY for one in row if one):
        own = bodies(step.crate, step.function)
        where = f"docs/house.py: crates/{step.crate}"
        if not own:
            raise HouseError(f"{where} has no function {step.function}: a packet's way has changed")
        if step.calls and not any(re.search(rf"\b{step.calls}\(", body.split("\n", 1)[-1]) for body in own):
            raise HouseError(f"{where}: {step.function} does not call {step.calls}: a packet's way has changed")


def way(width: int) -> str:
    """Return the picture of a packet's way."""
    check_way()
    line, gap = (17.0, 22.0) if width > 600 else (14.0, 20.0)
    size = width * 0.42
    columns = {SIM: width * 0.25, DEVICE: width * 0.75, AQM: width * 0.5}
    heads = {SIM: "Simulator (crates/sim)", DEVICE: "Device (crates/device)"}
    body = [f'<text class="title" x="{columns[of]:.0f}" y="22">{text}</text>' for of, text in heads.items()]
    y = 34.0
    last: dict[str, Box] = {}
    for row in WAY:
        steps = [one for one in row if one]
        boxes = []
        for step in steps:
            words = textwrap.wrap(step.does, int(size / (7.4 if width > 600 else 6.4)))
            lines = (("fn", f"{step.function}()"), *(("note", text) for text in words))
            kind = "rust" if step.crate == AQM else "plain"
            boxes.append(Box(columns[step.crate], y, size, line * (1 + len(words)) + 9, kind, lines))
        for step, box in zip(steps, boxes, strict=True):
            above = [last[SIM], last[DEVICE]] if step.crate == AQM and AQM not in last else []
            above = above or [last[one] for one in (step.crate, AQM) if one in last][:1]
            body += [arrow([(one.x, one.y + one.height), (box.x, box.y)]) for one in above]
        for step, box in zip(steps, boxes, strict=True):
            body.append(box.svg(line))
            last = {AQM: box} if step.crate == AQM else {**last, step.crate: box}
        y += max(box.height for box in boxes) + gap
        if any(step.crate != AQM for step in steps) and AQM in last and len(last) == 3:
            del last[AQM]
    notes = ("Orange: crates/aqm, the same compiled code in both.",)
    for text in notes:
        body.append(f'<text class="note" x="{width / 2:.0f}" y="{y + 4:.0f}">{escape(text)}</text>')
    return page(width, y + 16, "A packet's way through the simulator and through the device", body)


def pictures() -> dict[Path, str]:
    """Return all pictures by their files."""
    return {
        IMAGES / f"{name}{suffix}.svg": draw(width)
        for name, draw in (("house", house), ("way", way))
        for suffix, width in WIDTHS.items()
    }


def main(arguments: Sequence[str]) -> int:
    """Write the pictures, or check them."""
    try:
        made = pictures()
    except HouseError as error:
        print(error, file=sys.stderr)
        return 1
    old = [path for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if "--check" in arguments:
        for path in old:
            print(f"{path.relative_to(ROOT)} is out of date: run docs/house.py", file=sys.stderr)
        return 1 if old else 0
    for path in old:
        path.write_text(made[path], encoding="utf-8")
        print(path.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
