"""The paths of an API as a tree: each node is one piece of a path, with the operations there and all paths below it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from restgpt.specs.operation import Operation

# A piece of a path with the separator before it; a variable in braces is never split.
PIECES = re.compile(r"(?:/:?|[:#]|^(?=[^/:#]))(?:\{[^{}]*\}|[^/:#])*")
SLASH = re.compile("/")
PIECES_MOST = 50
"""The maximum number of slashes at which a path is split, and of colons and hashes; longer paths are split less."""

TEMPLATE = re.compile(r"/?(?:\{.*\}|<.*>|:\w+)\Z")


@dataclass(slots=True)
class PathNode:
    """One piece of a path: the operations whose path ends here, the pieces that follow, and how many are below."""

    piece: str = ""
    operations: list[Operation] = field(default_factory=list)
    nodes: "dict[str, PathNode]" = field(default_factory=dict)
    size: int = 0

    @property
    def below(self) -> int:
        """The number of operations whose paths continue this one."""
        return self.size - len(self.operations)

    def follow(self, wanted: str) -> "PathNode | None":
        """Return the node of the next piece; the piece's case and the name of a variable may differ."""
        exact = self.nodes.get(wanted)
        if exact is not None:
            return exact
        if TEMPLATE.match(wanted):
            variables = [node for piece, node in self.nodes.items() if TEMPLATE.match(piece)]
            return max(variables, key=lambda node: node.size, default=None)
        folded = wanted.casefold()
        return next((node for piece, node in self.nodes.items() if piece.casefold() == folded), None)

    def descend(self) -> "tuple[str, PathNode]":
        """Return the first node from here with operations or a choice, and the pieces that lead to it."""
        node, pieces = self, [self.piece]
        while not node.operations and len(node.nodes) == 1:
            (node,) = node.nodes.values()
            pieces.append(node.piece)
        return "".join(pieces), node

    def walk(self) -> Iterator[tuple[str, "PathNode"]]:
        """Yield every node below this one with the path to it, the nearest first."""
        level = [("", self)]
        while level:
            level = [(path + piece, node) for path, parent in level for piece, node in parent.nodes.items()]
            yield from level

    def everything(self) -> Iterator[Operation]:
        """Yield the operations here and below, those of one path together."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield from node.operations
            waiting.extend(reversed(node.nodes.values()))


def grow(operations: Iterable[Operation]) -> PathNode:
    """Make the tree of the paths of operations; nothing of an operation is decoded."""
    root = PathNode()
    known = {"": root}
    # Parents stand before their children in this list.
    born: list[tuple[PathNode, PathNode]] = []
    for operation in operations:
        node = known.get(operation.path) or _node_of(operation.path, known, born)
        node.operations.append(operation)
        node.size += 1
    for parent, node in reversed(born):
        parent.size += node.size
    return root


def _node_of(path: str, known: dict[str, PathNode], born: list[tuple[PathNode, PathNode]]) -> PathNode:
    """Return the node of a path; it and the nodes above it are made if they are missing."""
    piece = last_piece(path)
    above = path[: len(path) - len(piece)]
    parent = known.get(above) or _node_of(above, known, born)
    node = known[path] = parent.nodes[piece] = PathNode(piece)
    born.append((parent, node))
    return node


def last_piece(path: str) -> str:
    """Return the last piece of a path with its separator: `:cancel` of `/a/{b}:cancel`, `/{b}` of `/a/{b}`."""
    if path.count("/") > PIECES_MOST:
        return path[[place.start() for place in SLASH.finditer(path)][PIECES_MOST] :]
    if (":" in path or "#" in path) and path.count(":") + path.count("#") <= PIECES_MOST:
        return str(PIECES.findall(path)[-1])
    return path[max(0, path.rfind("/")) :]


def pieces(path: str) -> list[str]:
    """Split a path into its pieces, first to last."""
    found: list[str] = []
    while path:
        found.append(last_piece(path))
        path = path[: len(path) - len(found[-1])]
    return found[::-1]
