"""The areas of an API with the number of their operations: its tags, or the first words of its paths that differ.

The map of APIs: all paths with their methods, opened part by part, each within a budget of tokens.

The summary line of an operation, for lists of operations in prompts.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice

from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.function_arguments import argument_names
from restgpt.specs.docs.prose import IDLE, says_more
from restgpt.specs.operation import Operation
from restgpt.specs.problem import UnknownPartError
from restgpt.specs.reading.tree import marks
from restgpt.specs.search.query import stems

MOST_AREAS = 24
"""The maximum number of areas in the list."""

MOST_SINGLE = 10
"""Areas of a single operation are listed only among this many first areas."""

LONGEST_AREA = 40
"""The maximum number of characters of the name of one area."""

SEGMENTS_MOST = 30
"""The maximum number of segments of a path that are looked at."""

SHARED = 0.9
"""The part of all operations whose paths must begin with the same segment for the segment to be dropped."""

_PREFIX = re.compile(r"v?\d[\d._-]*|v\d+\w*|api|apis|rest|latest", re.IGNORECASE)
_VARIABLE = "{}"


@marks
def areas(operations: Sequence[Operation], *, most: int) -> str:
    """List the areas of operations, most frequent first, in about `most` characters; empty if there are none.

    The number of operations follows a name if it is above one.
    """
    counted = Counter(_areas(operations)).most_common()
    shown: list[str] = []
    left = most
    for name, count in counted[:MOST_AREAS]:
        text = f"{name} {count}" if count > 1 else name
        left -= len(text) + 2
        if shown and (left < 0 or (count == 1 and len(shown) >= MOST_SINGLE)):
            break
        shown.append(text)
    hidden = len(counted) - len(shown)
    return ", ".join(shown) + (f" and {hidden} more" if hidden else "")


def _areas(operations: Sequence[Operation]) -> list[str]:
    """Return the area of each operation; an operation with several tags belongs to each of them."""
    tagged = [{name for tag in operation.tags if (name := _shortened(tag))} for operation in operations]
    names = {name for tags in tagged for name in tags}
    # A single tag for everything, or tags on a few operations, say less than the paths.
    if len(names) < 2 or sum(map(bool, tagged)) * 2 < len(operations):
        return _words([operation.path for operation in operations])
    untagged = [operation.path for operation, tags in zip(operations, tagged, strict=True) if not tags]
    group = _groups(names)
    return [*(area for tags in tagged for area in {group[name] for name in tags}), *_words(untagged)]


def _shortened(tag: str) -> str:
    name = " ".join(tag.split())
    return name if len(name) <= LONGEST_AREA else name[: LONGEST_AREA - 1] + "…"


def _groups(names: Iterable[str]) -> dict[str, str]:
    """Map each tag to its area: the part before a dot, slash or dash if the tags are many and share such parts."""
    heads = {name: re.split(r"\s*[./>:]\s*|\s+-\s+", name, maxsplit=1)[0] or name for name in names}
    is_shared = len(heads) > MOST_AREAS and len(set(heads.values())) * 2 <= len(heads)
    return heads if is_shared else {name: name for name in heads}


def _words(paths: Sequence[str]) -> list[str]:
    """Return for each path its first word after the segments that most paths share."""
    whole = [_without_prefix(_segments(path)) for path in paths]
    words = (_word(rest) or _word(segments) for rest, segments in zip(_without_shared(whole), whole, strict=True))
    return [_shortened(word) for word in words if word]


def _word(segments: Sequence[str]) -> str:
    return next((segment for segment in segments if segment != _VARIABLE), "")


def _segments(path: str) -> list[str]:
    """Return the segments of a path as words: a variable as `{}`, `chat.post` as `chat`, `items({id})` as `items`."""
    found = []
    for segment in path.split("/", SEGMENTS_MOST)[:SEGMENTS_MOST]:
        if segment.startswith("{"):
            found.append(_VARIABLE)
        elif _PREFIX.fullmatch(segment):
            found.append(segment)
        elif word := re.split(r"[.({:?]", segment.lstrip(".$"), maxsplit=1)[0]:
            found.append(word.replace("_", " ").replace("-", " "))
    return found


def _without_prefix(segments: list[str]) -> list[str]:
    """Drop leading segments such as `api` and `v1`, as long as a word follows."""
    start = 0
    while start < len(segments) - 1 and _PREFIX.fullmatch(segments[start]):
        start += 1
    return segments[start:]


def _without_shared(split: Sequence[list[str]]) -> list[list[str]]:
    """Drop the leading segments that nearly all paths share, if different words follow them."""
    prefix: list[str] = []
    sharing = list(split)
    while nexts := Counter(segments[len(prefix)] for segments in sharing if len(segments) > len(prefix)):
        segment, count = nexts.most_common(1)[0]
        if count < len(split) * SHARED:
            break
        prefix.append(segment)
        sharing = [segments for segments in sharing if segments[: len(prefix)] == prefix]
    depth = len(prefix)
    following = {_word(segments[depth:]) for segments in sharing} - {""}
    if len(following) < 2:
        return list(split)
    return [segments[depth:] if segments[:depth] == prefix else segments for segments in split]


OWN_SHARE = 3
"""The part of the budget for the operations of a part's own path, where those below it do not fit."""

NEAREST = 5
"""The maximum number of parts that an error names."""

COMPARED_MOST = 2000
"""The maximum number of siblings that an error compares with a name."""

# A piece of a path with the separator before it; a variable in braces is never split.
PIECES = re.compile(r"(?:/:?|[:#]|^(?=[^/:#]))(?:\{[^{}]*\}|[^/:#])*")
SLASH = re.compile("/")
PIECES_MOST = 50
"""The maximum number of slashes at which a path is split, and of colons and hashes; longer paths are split less."""

TEMPLATE = re.compile(r"/?(?:\{.*\}|<.*>|:\w+)\Z")

LEGEND = "Each line is a path with its methods, and can be opened; +N are operations further below it."


MORE = "… {} more; a path with * opens those that begin with it"


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


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the map: the operations at its path and below it."""

    path: str
    _start: str
    _node: PathNode
    _line: Callable[[Operation], str]

    def __len__(self) -> int:
        return self._node.size

    @property
    def operations(self) -> Sequence[Operation]:
        """The operations whose path is this part."""
        return tuple(self._node.operations)

    @property
    def parts(self) -> "list[Part]":
        """The parts below, each with operations of its own or a choice of further parts."""
        below = (node.descend() for node in self._node.nodes.values())
        return [Part(self._start + label, self._start + label, node, self._line) for label, node in below]

    def everything(self) -> Iterator[Operation]:
        """Yield the operations of this part and of all parts below it."""
        return self._node.everything()

    @marks
    def text(self, budget: int) -> str:
        """Write the part in about `budget` tokens: a line for each operation if they fit, else the paths below it."""
        room = budget * TOKEN
        whole = _fitting(map(self._described, self.everything()), room)
        return "\n".join(whole if len(whole) == len(self) else self._paths(room))

    def _paths(self, room: int) -> list[str]:
        own = _fitting(map(self._described, self.operations), room // OWN_SHARE)
        if len(own) < len(self.operations):
            methods = dict.fromkeys(operation.method for operation in self.operations[len(own) :])
            own.append(f"- {' '.join(methods)} {self.path}")
        head = [LEGEND, *([self.path, *own] if self._start else own)]
        room -= sum(len(line) + 1 for line in head)
        parts = self.parts
        lines = _fitting(iter([part._line_of_path() for part in parts]), room)
        left = len(parts) - len(lines)
        return [*head, *lines, *([MORE.format(left)] if left else [])]

    def _line_of_path(self) -> str:
        methods = dict.fromkeys(operation.method for operation in self.operations)
        return " ".join(
            [" ".join(self.path.split()), *methods, *([f"+{self._node.below}"] if self._node.below else [])]
        )

    def _described(self, operation: Operation) -> str:
        return f"- {self._line(operation)}"


class Map:
    """The map of the operations of one API, or of several, with the label of an API as the first piece of its paths."""

    def __init__(self, apis: Mapping[str, Sequence[Operation]], line: Callable[[Operation], str]) -> None:
        """Make the map of the operations of labelled APIs; `line` writes an operation on one line."""
        self._line = line
        trees = {f"/{label}": grow(operations) for label, operations in apis.items()}
        self._labels = tuple(trees) if len(trees) > 1 else ()
        if len(trees) == 1:
            (self._root,) = trees.values()
            return
        for label, tree in trees.items():
            tree.piece = label
        self._root = PathNode(nodes=trees, size=sum(tree.size for tree in trees.values()))

    def open(self, part: str = "/") -> Part:
        """Return a part like `find`; raises `UnknownPartError`, which names similar parts."""
        found = self.find(part)
        if found is None:
            wanted = _path_of(part)
            raise UnknownPartError(part, [home.path for home in self._homes(wanted)] or self._near(wanted))
        return found

    def find(self, part: str) -> Part | None:
        """Return a part of the map, such as `/users/{id}` or `/users/ab*`, or None.

        Case, the names of variables, a method before the path and a slash at its end make no difference. With several
        APIs, the label may be missing if only one of them has the path.
        """
        wanted = _path_of(part)
        if not wanted.strip("/"):
            return Part("/", "", self._root, self._line)
        found = self._find(wanted)
        if found is not None:
            return found
        homes = self._homes(wanted)
        return homes[0] if len(homes) == 1 else None

    def operation(self, key: str) -> Operation | None:
        """Return the operation of a method and a path as the map writes them, or None."""
        method, _, path = " ".join(key.split()).partition(" ")
        part = self.find(path) if path.startswith("/") else None
        there = part.operations if part is not None else ()
        return next((operation for operation in there if operation.method.upper() == method.upper()), None)

    def _homes(self, wanted: str) -> list[Part]:
        return [part for label in self._labels if (part := self._find(label + wanted)) is not None]

    def _find(self, wanted: str) -> Part | None:
        for path in dict.fromkeys((wanted, wanted.rstrip("/"))):
            node, found, missing = self._reach(pieces(path))
            start = "".join(found)
            if not missing:
                return Part(start, start, node, self._line)
            if len(missing) == 1 and missing[0].endswith("*"):
                letters = missing[0][:-1]
                some = {piece: inner for piece, inner in node.nodes.items() if piece.startswith(letters)}
                if some:
                    inner = PathNode(nodes=some, size=sum(item.size for item in some.values()))
                    return Part(f"{start}{letters}*", start, inner, self._line)
        return None

    def _reach(self, steps: Sequence[str]) -> tuple[PathNode, list[str], Sequence[str]]:
        """Follow pieces from the root: return the last node, the pieces to it, and the pieces that were not found."""
        node = self._root
        found: list[str] = []
        for number, step in enumerate(steps):
            following = node.follow(step)
            if following is None:
                return node, found, steps[number:]
            node = following
            found.append(node.piece)
        return node, found, ()

    def _near(self, wanted: str) -> list[str]:
        """Return parts like a missing one: spelled almost like it, or with its last piece, or the start of it."""
        steps = pieces(wanted.rstrip("/*")) or ["/"]
        node, found, missing = self._reach(steps)
        start = "".join(found)
        alike = get_close_matches(missing[0], list(islice(node.nodes, COMPARED_MOST)), NEAREST) if missing else []
        last = steps[-1].casefold()
        same = islice((path for path, item in self._root.walk() if item.piece.casefold() == last), NEAREST)
        near = [*(start + piece for piece in alike), *same, *([start] if start else [])]
        return list(dict.fromkeys(near))[:NEAREST]


def _path_of(part: str) -> str:
    """Return the path of a part as a person or a model writes it, with a slash before it."""
    text = " ".join(part.split()).strip("`'\"")
    first, _, rest = text.partition(" ")
    if rest.startswith("/") and first.isalpha():
        text = rest
    return text if text.startswith("/") else f"/{text}"


def _fitting(lines: Iterator[str], room: int) -> list[str]:
    """Return the first lines, while they fit."""
    fitting: list[str] = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        fitting.append(line)
    return fitting


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


LONGEST = 120
# The maximum number of arguments, and of fields of the body, that the line of a function names.
ARGUMENTS_MOST = 8


@marks
def summary_line(operation: Operation) -> str:
    """Return method, path and summary of an operation, or the first sentence of its description, on one line."""
    return f"{operation.method} {operation.path}  {_title(operation)}".rstrip()


@marks
def function_line(operation: Operation, name: str) -> str:
    """Return a function with the names of its arguments on one line, and the summary if it says more than the name."""
    names = argument_names(operation, ARGUMENTS_MOST, operation.api.common_arguments)
    title = _title(operation)
    return f"{name}({names})" + (f"  {title}" if says_more(title, frozenset(stems(name))) else "")


def _title(operation: Operation) -> str:
    return " ".join((operation.summary or first_sentence(operation.description)).split())[:LONGEST]


def first_sentence(text: str) -> str:
    """Return the first sentence or line of a description."""
    line = text.strip().split("\n", 1)[0].split(". ", 1)[0]
    return "" if IDLE.fullmatch(line) else line
