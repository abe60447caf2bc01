"""The outline of a path tree: an indented line per path with its methods, as deep as the room allows.

A line continues the path that it is indented below. `+12` counts the operations below it that are not shown. Siblings
without further paths and with the same methods share a line; siblings that are too many share one by their first
letters, as `/ab*`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count

from restgpt.specs.docs.overview.path_tree import PathNode

DEEPER_LETTERS = 12
"""The maximum number of letters after the shared ones by which siblings are grouped."""

SHORTEST = 6
"""The length of the shortest line; with less room, nothing more is added."""


@dataclass(slots=True)
class _Row:
    """One line: the pieces on it, the methods there, and the node whose rows may follow."""

    labels: list[str]
    methods: str = ""
    below: int = 0
    node: PathNode | None = None
    rows: "list[_Row]" = field(default_factory=list)

    @property
    def text(self) -> str:
        more = f"+{self.below}" if self.below and not self.rows else ""
        return " ".join(part for part in (", ".join(self.labels), self.methods, more) if part)


def outline(node: PathNode, room: int, depth: int = 0) -> list[str]:
    """Return the lines of the paths below a node that fit in `room` characters, the upper levels first."""
    rows = _rows(node)
    if _cost(rows, depth) > room:
        rows = _lettered(node, room, depth)
    _expand(rows, room - _cost(rows, depth), depth)
    return list(_lines(rows, depth))


def _rows(node: PathNode) -> list[_Row]:
    rows: list[_Row] = []
    leaves: dict[str, _Row] = {}
    for child in node.nodes.values():
        row = _row(child)
        if not row.below and row.methods in leaves:
            leaves[row.methods].labels += row.labels
            continue
        if not row.below:
            leaves[row.methods] = row
        rows.append(row)
    return rows


def _row(node: PathNode) -> _Row:
    label, end = node.descend()
    methods = " ".join(dict.fromkeys(operation.method for operation in end.operations))
    return _Row([" ".join(label.split())], methods, end.below, end)


def _cost(rows: Iterable[_Row], depth: int) -> int:
    return sum(len(row.text) + depth + 1 for row in rows)


def _expand(rows: list[_Row], room: int, depth: int) -> None:
    """Add the rows below rows while they fit: level by level, in each level the fewest first."""
    waiting: list[tuple[int, int, int, _Row, list[_Row]]] = []
    number = count()

    def offer(parents: Iterable[_Row], depth: int) -> None:
        for row in parents:
            if row.node is not None and row.below:
                inner = _rows(row.node)
                heappush(waiting, (depth, _cost(inner, depth), next(number), row, inner))

    offer(rows, depth + 1)
    while waiting and room > SHORTEST:
        below, cost, _, row, inner = heappop(waiting)
        if cost <= room:
            room -= cost
            row.rows = inner
            offer(inner, below + 1)


def _lettered(node: PathNode, room: int, depth: int) -> list[_Row]:
    """Put the nodes below together by as many first letters as the room allows, and count those that do not fit."""
    first, last = min(node.nodes, default=""), max(node.nodes, default="")
    shared = next((at for at, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), len(first))
    rows = _by_letters(node, shared + 1)
    for length in range(shared + 2, shared + DEEPER_LETTERS):
        finer = _by_letters(node, length)
        if _cost(finer, depth) > room:
            break
        rows = finer
    if _cost(rows, depth) <= room:
        return rows
    left = sum(row.below or 1 for row in rows)
    kept: list[_Row] = []
    for row in rows:
        room -= _cost([row], depth)
        if room < len(f"… {left} more"):
            break
        kept.append(row)
        left -= row.below or 1
    return [*kept, _Row([f"… {left} more"])]


def _by_letters(node: PathNode, length: int) -> list[_Row]:
    groups: dict[str, list[PathNode]] = {}
    for piece in sorted(node.nodes):
        groups.setdefault(piece[:length], []).append(node.nodes[piece])
    return [
        _row(nodes[0]) if len(nodes) == 1 else _Row([f"{letters}*"], below=sum(item.size for item in nodes))
        for letters, nodes in groups.items()
    ]


def _lines(rows: Iterable[_Row], depth: int) -> Iterator[str]:
    for row in rows:
        yield " " * depth + row.text
        yield from _lines(row.rows, depth + 1)
