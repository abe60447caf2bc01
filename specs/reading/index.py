"""Unique names: an equal name gets the next free number.

Variables of path templates, in the spellings that documents use besides the one of OpenAPI.

A value may reach over several segments where the template says so: `{name=projects/*/keys/*}` (google.api.http),
`{+name}` (RFC 6570, section 3.2.3), `{proxy+}` (Amazon API Gateway), `{*rest}` and `{rest:path}` of web frameworks.

The index of a document: one entry for each operation, read from slices without decoding schemas.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any

import msgspec

from restgpt.specs.problem import BrokenReference, Problem, cut_problems
from restgpt.specs.reading.document import Document, follow, slice_object
from restgpt.specs.reading.json_text import REPEATED
from restgpt.specs.reading.tree import format_pointer, parse_fragment, parse_pointer, without_hidden


class UniqueNames:
    """Numbers equal names from 2, of at most `longest` characters; finds the next number without trying lower ones."""

    def __init__(self, taken: Iterable[str] = (), *, longest: int | None = None) -> None:
        self._taken = set(taken)
        self._longest = longest
        self._numbers: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def claim(self, name: str) -> str:
        """Return the name, numbered if it is taken, and take it."""
        found, number = name, self._numbers.get(name, 1)
        while found in self._taken:
            number += 1
            suffix = f"_{number}"
            found = name[: None if self._longest is None else self._longest - len(suffix)] + suffix
        self._numbers[name] = number
        self._taken.add(found)
        return found


VARIABLE = re.compile(r"\{((?:[^{}]|\{[^{}]*\})+)\}")
ONE, ALL = "*", "**"
"""The patterns of one segment, and of any number of them."""

# After a colon a route converter, or a regular expression.
_CONVERTER = r":\s*(?:path|str|string|int|float|uuid|guid|.*[\[\](){}\\+*?.^$|].*)"
_SPELLING = re.compile(rf"(?P<sign>\+|\*{{0,2}})(?P<name>[\w.$-]+)(?P<rest>\+|\*|=.+|{_CONVERTER})?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a path template: the name of its parameter, and which segments its value may be, with `*` for one.

    A spelling that is not known is a name as it stands.
    """

    name: str
    pattern: str = ONE

    def fits(self, value: str) -> bool:
        """Return whether a value is made of the segments of the pattern."""
        wanted, given = self.pattern.split("/"), value.split("/")
        if wanted[-1] == ALL:
            wanted, given = wanted[:-1], given[: len(wanted) - 1]
        pairs = zip(wanted, given, strict=False)
        return len(wanted) == len(given) and all(
            part == segment or (part == ONE and segment) for part, segment in pairs
        )


def variable(text: str) -> Variable:
    """Read the text between the braces of a variable, or the name of a parameter that repeats it."""
    found = _SPELLING.fullmatch(text)
    if found is None:
        return Variable(text)
    rest = found["rest"] or ""
    if rest.startswith("="):
        return Variable(found["name"], rest[1:])
    is_open = found["sign"] or rest in ("+", "*") or rest.replace(" ", "") in (":path", ":.*", ":.+")
    return Variable(found["name"], ALL if is_open else ONE)


def path_pattern(template: str) -> str:
    """Return a regular expression for the paths of a template, with a group for each variable."""
    return re.escape(VARIABLE.sub("\0", template)).replace("\0", "([^/]+)")


def variables(template: str) -> dict[str, Variable]:
    """Return the variables of a template by name, in their order."""
    return {found.name: found for found in map(variable, VARIABLE.findall(template))}


# The most operations of a document, own methods of a path, and tags of an operation, then the most characters of texts:
# more than any published document has. Whatever exceeds them is left out or cut, with a problem.
OPERATIONS_MOST, OWN_METHODS_MOST, TAGS_MOST = 20_000, 100, 100
PATH_MOST, NAME_MOST, SUMMARY_MOST, DESCRIPTION_MOST = 8000, 1000, 5000, 200_000
# How many bytes of path items are read again because other path items refer to them.
REFERRED_MOST = 20_000_000
_REFERENCE = re.compile(rb'\{\s*"\$ref"')
REPEATED_MOST = 100
"""How many repeated keys are named."""
NAME_LENGTH = 64
ILLEGAL = re.compile(r"[^A-Za-z0-9_-]+")
NOT_WORD = re.compile(r"\W")
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")


class Head(msgspec.Struct):
    """The keys of an operation that its entry needs; of any type, because real documents break the schema."""

    operationId: Any = None
    summary: Any = None
    description: Any = None
    tags: Any = None
    deprecated: Any = None


class Entry(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One operation of the index; `pointer` may lie in another path item, which its own path item refers to.

    `long_name` is made of the whole operationId, `name` is the short name if the document has one.
    """

    name: str
    long_name: str
    method: str
    path: str
    pointer: str
    operation_id: str
    summary: str
    description: str
    tags: tuple[str, ...]
    deprecated: bool


class Index(msgspec.Struct, array_like=True):
    """The operations of one document in document order, and the problems found on the way."""

    entries: list[Entry]
    problems: list[tuple[str, str]]


_HEAD = msgspec.json.Decoder(Head)


def build_index(document: Document) -> Index:
    """List every operation of a document; one that cannot be read becomes a problem, not an exception."""
    repeated = document.get((REPEATED,))
    problems = [
        Problem("", f"the key {key} stands twice in one object: only the last value is read")
        for key in (repeated[:REPEATED_MOST] if isinstance(repeated, list) else ())
    ]
    names = Names(problems)
    entries: list[Entry] = []
    for method, path, pointer, raw in _operations(document, problems):
        if len(entries) == OPERATIONS_MOST:
            problems.append(
                Problem(pointer, f"this and later operations are left out: at most {OPERATIONS_MOST:,} are read")
            )
            break
        try:
            head = _HEAD.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            problems.append(Problem(pointer, f"the operation cannot be read: {error}"))
            continue
        identifier = head.operationId.strip() if isinstance(head.operationId, str) else ""
        identifier = _cut(identifier, NAME_MOST, f"{pointer}/operationId", problems)
        name = names.claim(identifier, method, path, pointer)
        entries.append(
            Entry(
                name,
                name,
                method,
                path,
                pointer,
                identifier,
                _cut(_text(head.summary), SUMMARY_MOST, f"{pointer}/summary", problems),
                _cut(_text(head.description), DESCRIPTION_MOST, f"{pointer}/description", problems),
                _tags(head.tags, f"{pointer}/tags", problems),
                head.deprecated is True or head.deprecated == "true",
            )
        )
    if not document.names("paths"):
        hooks = "; it has webhooks only" if document.names("webhooks") else ""
        problems.append(Problem("/paths", f"the document has no paths{hooks}"))
    entries = [msgspec.structs.replace(entry, name=name) for entry, name in zip(entries, names.short(), strict=True)]
    return Index(entries, [(problem.pointer, problem.message) for problem in problems])


def _text(value: Any) -> str:
    return without_hidden("" if value is None else str(value)).strip()


def _cut(text: str, most: int, pointer: str, problems: list[Problem]) -> str:
    """Cut a text that is longer than `most` characters, with a problem."""
    if len(text) > most:
        problems.append(Problem(pointer, f"the text is cut: of {len(text):,} characters, {most:,} are read"))
    return text[:most]


def _tags(value: Any, pointer: str, problems: list[Problem]) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    problems += cut_problems(pointer, len(value), TAGS_MOST, "tags")
    return tuple(_cut(str(tag), NAME_MOST, pointer, problems) for tag in value[:TAGS_MOST])


def _operations(document: Document, problems: list[Problem]) -> Iterator[tuple[str, str, str, "bytes | msgspec.Raw"]]:
    referred = _ReferredItems(document, problems)
    for path in document.names("paths"):
        if path.startswith("x-"):
            continue
        if len(path) > PATH_MOST:
            pointer = format_pointer(("paths", path[:80]))
            problems.append(Problem(pointer, f"the path is left out: it is longer than {PATH_MOST:,} characters"))
            continue
        if not path.startswith("/"):
            problems.append(Problem(format_pointer(("paths", path)), "the path does not start with a slash"))
        yield from _path_operations(document, path, problems, referred)


def _path_operations(
    document: Document, path: str, problems: list[Problem], referred_items: "_ReferredItems"
) -> Iterator[tuple[str, str, str, "bytes | msgspec.Raw"]]:
    home = ("paths", path)
    item: Mapping[str, bytes | msgspec.Raw] = document.slices.level(home)
    pointer = format_pointer(home)
    if not item and bytes(document.slices.level(("paths",))[path]) not in (b"{}", b"null"):
        problems.append(Problem(pointer, "the path item is not an object"))
    if "$ref" in item:
        target = referred_items.read(home)
        if target is not None:
            pointer, referred = target
            item = {**referred, **{key: raw for key, raw in item.items() if key != "$ref"}}
    for key, raw in item.items():
        if key.lower() in METHODS:
            if bytes(memoryview(raw)[:1]) != b"{":
                problems.append(Problem(f"{pointer}/{key}", "the operation is not an object"))
                continue
            if _REFERENCE.match(bytes(raw)) and (target := referred_items.read((*home, key))):
                # No version of OpenAPI allows it, but there are documents with a file for each operation.
                raw = msgspec.json.encode({name: msgspec.Raw(value) for name, value in target[1].items()})
            yield key.upper(), path, f"{pointer}/{key}", raw
        elif key == "additionalOperations":
            methods = slice_object(raw)
            problems += cut_problems(f"{pointer}/{key}", len(methods), OWN_METHODS_MOST, "methods")
            for method, inner in islice(methods.items(), OWN_METHODS_MOST):
                own = method.upper() if method.lower() in METHODS else method
                yield own, path, f"{pointer}/{key}/{method}", inner


class _ReferredItems:
    """Resolves path items that are references, and encodes their operations again, because they are not slices."""

    def __init__(self, document: Document, problems: list[Problem]) -> None:
        self._document = document
        self._problems = problems
        self._left = REFERRED_MOST
        self._known: dict[str, dict[str, bytes]] = {}

    def read(self, home: tuple[str, ...]) -> tuple[str, dict[str, bytes]] | None:
        """Return the pointer and the operations of the path item that the one at `home` refers to; None if broken."""
        reference = self._document.get((*home, "$ref"))
        try:
            operations = self._operations(reference) if isinstance(reference, str) else None
        except BrokenReference as error:
            return self._refuse(home, str(error))
        if operations is None:
            return self._refuse(home, "the reference is not a path item")
        self._left -= sum(map(len, operations.values()))
        if self._left < 0:
            return self._refuse(home, f"it is left out: references lead to more than {REFERRED_MOST:,} bytes")
        target, _, fragment = str(reference).partition("#")
        return format_pointer(home) if target else format_pointer(parse_fragment(fragment)), operations

    def _operations(self, reference: str) -> dict[str, bytes] | None:
        if reference not in self._known:
            node = follow(self._document, {"$ref": reference})
            if not isinstance(node, dict):
                return None
            self._known[reference] = {key: msgspec.json.encode(value) for key, value in node.items()}
        return self._known[reference]

    def _refuse(self, home: tuple[str, ...], message: str) -> tuple[str, dict[str, bytes]] | None:
        self._problems.append(Problem(format_pointer((*home, "$ref")), message))
        return None


def owner_of(pointer: str) -> tuple[str, ...]:
    """Return the tokens of the path item that owns the operation at this pointer."""
    tokens = parse_pointer(pointer)
    return tokens[:-2] if tokens[-2:-1] == ("additionalOperations",) else tokens[:-1]


class Names:
    """Names the operations of one document, in document order; repeated operationIds become problems."""

    def __init__(self, problems: list[Problem]) -> None:
        self._names = UniqueNames(longest=NAME_LENGTH)
        self._identifiers: set[str] = set()
        self._claimed: list[tuple[str, str]] = []
        self._problems = problems

    def claim(self, identifier: str, method: str, path: str, pointer: str) -> str:
        """Return an unused name for the operation with this operationId, which may be empty."""
        if identifier in self._identifiers:
            self._problems.append(Problem(f"{pointer}/operationId", f"the operationId {identifier} is used twice"))
        elif identifier:
            self._identifiers.add(identifier)
        name = legal_name(identifier) if ILLEGAL.sub("", identifier) else derived_name(method, path)
        name = self._names.claim(name)
        self._claimed.append((name, short_name(identifier, method, path) or name))
        return name

    def short(self) -> list[str]:
        """Return the names of all operations in the order of their claims, without the path and method at their ends.

        Operations that would share a name, also with the operationId of another one, keep the names that they claimed.
        """
        count = Counter(short for _, short in self._claimed)
        taken = {*self._identifiers, *(name for name, _ in self._claimed)}
        return [name if short in taken or count[short] > 1 else short for name, short in self._claimed]


def legal_name(identifier: str) -> str:
    """Return an identifier that matches [A-Za-z0-9_-]{1,64}; a hash replaces the part of a long one that is cut."""
    name = ILLEGAL.sub("_", identifier).strip("_") or "operation"
    if len(name) <= NAME_LENGTH:
        return name
    digest = sha256(identifier.encode()).hexdigest()[:6]
    return f"{name[: NAME_LENGTH - 28].rstrip('_-')}_{name[-20:].lstrip('_-')}_{digest}"


def short_name(identifier: str, method: str, path: str) -> str:
    """Return what an operationId says before its path and method; empty if it does not end with both.

    FastAPI's `generate_unique_id` joins function, path and method: `get_pet_pets__id__get` for GET /pets/{id}.
    """
    before = identifier.removesuffix(f"{NOT_WORD.sub('_', path)}_{method.lower()}")
    return legal_name(before) if before != identifier and before.strip("_") else ""


def derived_name(method: str, path: str) -> str:
    """Name an operation without an operationId by its method and path: `GET /pets/{id}` is `get_pets_by_id`."""
    words = VARIABLE.sub(lambda match: "by_" + variable(match.group(1)).name, path)
    return legal_name("_".join((method.lower(), *(part for part in ILLEGAL.split(words) if part))))
