"""The limit on nesting of JSON: deeper levels of a document are removed, so that recursion over schemas ends.

The JSON text of a document: JSON or YAML in any Unicode encoding becomes UTF-8 JSON.

YAML has the scalars of YAML 1.2: a date and `no` stay strings.
"""

import codecs
import json
import re
from collections import Counter
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

import msgspec

from restgpt.specs.problem import SpecError

MAX_DEPTH = 100
"""How many levels of JSON are read: more than any published document or API has, few enough to walk by recursion."""

_STRUCTURE = b'[]{}"'
_AS_LIST = bytes.maketrans(b"{}", b"[]")
_OTHERS = bytes(set(range(256)) - set(_STRUCTURE))
_TEXT = re.compile(rb'"[^"]*"?')
_LEVELS = {ord("["): 1, ord("]"): -1}


def is_too_deep(data: "bytes | str | msgspec.Raw") -> bool:
    """Return whether JSON nests more than MAX_DEPTH levels deep, without recursion, in time linear in its size.

    For what is no JSON the answer means nothing.
    """
    text = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)
    if text.count(b"{") + text.count(b"[") <= MAX_DEPTH:
        return False
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    structure = text.translate(_AS_LIST, _OTHERS)
    brackets = structure.replace(b'""', b"")
    if b'"' in brackets:
        # Some text holds brackets, so the texts are found one by one, which is ten times slower.
        brackets = _TEXT.sub(b"", structure)
    return max(accumulate(map(_LEVELS.__getitem__, brackets)), default=0) > MAX_DEPTH


def cut_deep_levels(node: Any, raw: "bytes | msgspec.Raw") -> None:
    """Empty the objects and lists at the deepest level that is read; `raw` is the JSON text of `node`."""
    if is_too_deep(raw):
        for part in _deepest(node):
            part.clear()


def depth_fault(raw: "bytes | msgspec.Raw") -> str:
    """Return a message if a slice nests deeper than the limit, else an empty string."""
    return f"it nests more than {MAX_DEPTH} levels deep; deeper levels are left out" if is_too_deep(raw) else ""


def _deepest(tree: Any) -> "list[dict[str, Any] | list[Any]]":
    """Return the objects and lists on the deepest level that is read."""
    level = [tree]
    for _ in range(MAX_DEPTH):
        children = (node.values() if isinstance(node, dict) else node for node in level)
        level = [child for inner in children for child in inner if isinstance(child, (dict, list))]
        if not level:
            break
    return level


# A longer text that is almost JSON, such as one with a comma at its end, is not tried as YAML.
FAULTY_MOST = 10_000_000
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# How many nodes and characters a document has when all its aliases are written out.
EXPANDED_MOST = 30_000_000
# How many brackets and braces are open at once: libraries take time for each of them at each token.
OPEN_MOST = 500
# How many dashes or question marks open nested nodes on one line.
DASHES = re.compile(r"(?:[-?][ \t]+){500}")
REPEATED = "x-restgpt-repeated"
"""The key at the root of a document for the keys that stand twice in one object of it."""
# A text, or a comment of JavaScript; one without an end reaches to the end.
COMMENT = re.compile(rb'"(?:[^"\\]|\\.)*"?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
# A key that may be a path, the key of all paths or a method, before an object.
PATH_KEY = re.compile(rb'"(/[^"\\]*|paths|get|put|post|delete|patch|head|options|trace|query)"\s*:\s*\{')
# In a longer JSON text only paths and their methods are looked at, since decoding all of it takes long.
ALL_KEYS_MOST = 200_000
BRACKET = re.compile(r"[\[\]{}]")
# Merge keys belong to YAML 1.1, but documents that share parts by aliases rely on them.
MERGE = re.compile(r"(?:^|[{,-])[ \t]*<<[ \t]*:", re.MULTILINE)
# An alias in the place of a value; ryaml writes aliases out before their size can be checked.
ALIAS = re.compile(r"(?:^|[:,\[-])[ \t]+\*[^\s*,\]}]+[ \t]*(?:[,\]}#]|$)|\[\*", re.MULTILINE)
# A number or boolean that has another form than its text: 1.10, 1e3, +1, .5, True. Under `type: string` it is a text.
ODD_FORM = re.compile(
    r"[:,\[{-][ \t]+(?:[-+]?[0-9]*+\.[0-9]*0|[-+]?(?:[0-9]++\.?[0-9]*+|\.[0-9]++)[eE][-+]?[0-9]++"
    r"|\+[0-9.]++|-?\.[0-9]++|-?[0-9]++\.|0x[0-9a-fA-F]+|0o[0-7]+|True|TRUE|False|FALSE)[ \t]*(?:[,\]}#\r]|$)"
    r"|\[[0-9.+-]*[.+eExo]",
    re.MULTILINE,
)
ANCHOR = re.compile(r"(?:^|[:,\[-])[ \t]*&\w", re.MULTILINE)


def json_bytes(data: bytes) -> bytes:
    """Convert JSON, possibly with comments, or YAML in any Unicode encoding to UTF-8 JSON.

    Keys that stand twice, of which the last value counts, become the value of the root key `REPEATED`. Raises SpecError
    with line and column.
    """
    repeated: list[str] = []
    text = _json_bytes(_utf8(data), repeated)
    if not repeated or text[:1] != b"{":
        return text
    return b'{"%s":%s,%s' % (REPEATED.encode(), encode_json(repeated), text[1:])


def _json_bytes(text: bytes, repeated: list[str]) -> bytes:
    if text.startswith((b"//", b"/*")):
        text = _without_comments(text)
    if text[:1] in (b"{", b"["):
        try:
            msgspec.json.decode(text, type=dict[str, msgspec.Raw])
            repeated += _repeated_keys(text)
            return text
        except msgspec.ValidationError:
            return text
        except RecursionError:
            raise SpecError("the document is nested too deeply") from None
        except msgspec.DecodeError as error:
            if len(text) > FAULTY_MOST:
                raise SpecError(f"the document is not valid JSON: {error}") from None
            try:
                return encode_json(decode_yaml(_without_comments(text), repeated))
            except SpecError:
                raise SpecError(f"the document is not valid JSON: {_json_fault(text) or error}") from None
    return encode_json(decode_yaml(text, repeated))


def _without_comments(text: bytes) -> bytes:
    """JSON without the comments of JavaScript; all else, such as a URL in a text, stays."""
    return COMMENT.sub(lambda match: match[0] if match[0].startswith(b'"') else b"", text).strip()


def _repeated_keys(text: bytes) -> list[str]:
    """The keys that stand twice in one object; of a large document only if a path or a method of a path may."""
    if (len(text) > ALL_KEYS_MOST and not _may_repeat(text)) or is_too_deep(text):
        return []
    repeated: list[str] = []

    def read(pairs: list[tuple[str, Any]]) -> None:
        repeated.extend(key for key, number in Counter(key for key, _ in pairs).items() if number > 1)

    json.loads(text, object_pairs_hook=read)
    return repeated


def _may_repeat(text: bytes) -> bool:
    """Whether a path stands twice in a text, or a method twice between two paths."""
    path, seen = b"", set()
    for match in PATH_KEY.finditer(text):
        is_path = match[1].startswith(b"/") or match[1] == b"paths"
        path = match[1] if is_path else path
        key = match[1] if is_path else (path, match[1])
        if key in seen:
            return True
        seen.add(key)
    return False


def _json_fault(text: bytes) -> str:
    """Return the syntax error with line and column, which msgspec does not count; empty if `json` finds none."""
    if is_too_deep(text):
        return ""
    try:
        json.loads(text)
    except ValueError as error:
        return str(error)
    return ""


def _utf8(data: bytes) -> bytes:
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            data = data[len(mark) :]
            return (data if encoding == "utf-8" else data.decode(encoding, "replace").encode()).strip()
    if b"\x00" in data[:4]:
        data = data.decode("utf-16-le" if data[1:2] == b"\x00" else "utf-16-be", "replace").encode()
    return data.strip()


def encode_json(document: Any) -> bytes:
    """Encode decoded JSON or YAML as JSON, with every key as a string; raises SpecError for values that JSON lacks."""
    try:
        return msgspec.json.encode(document)
    except (TypeError, ValueError, OverflowError, RecursionError, AttributeError):
        return _encode_odd_json(document)


def _encode_odd_json(document: Any) -> bytes:
    """Encode values that msgspec refuses: keys that are null or lists, integers beyond 64 bits."""
    try:
        return json.dumps(_plain(document), ensure_ascii=False, allow_nan=False, default=str).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise SpecError(f"the document is not plain data: {error}") from None


def _plain(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {_plain_key(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list | tuple | set):
        return [_plain(item) for item in node]
    if isinstance(node, float) and (node != node or node in (float("inf"), float("-inf"))):
        return None
    return node


def _plain_key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def decode_yaml(text: bytes, repeated: list[str]) -> Any:
    """Decode YAML with the scalars of YAML 1.2; raises SpecError with line and column.

    The last value of a repeated key counts; the key is put in `repeated`.
    """
    import ryaml

    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        decoded = text.decode("cp1252", "replace")
    _check_nesting(decoded)
    if MERGE.search(decoded) or ODD_FORM.search(decoded) or (ANCHOR.search(decoded) and ALIAS.search(decoded)):
        return _decode_by_events(decoded, repeated)
    try:
        return ryaml.loads(decoded)  # type: ignore[attr-defined]
    except (ValueError, RecursionError):
        return _decode_by_events(decoded, repeated)


def _check_nesting(text: str) -> None:
    """Raise SpecError if many brackets or dashes are open at once, whether they are marks of YAML or not."""
    if text.count("[") + text.count("{") > OPEN_MOST:
        depth = 0
        for match in BRACKET.finditer(text):
            depth = depth + 1 if match[0] in "[{" else max(0, depth - 1)
            if depth > OPEN_MOST:
                line = text.count("\n", 0, match.start()) + 1
                raise SpecError(f"in line {line}, {OPEN_MOST} brackets are open: the document is nested too deeply")
    if DASHES.search(text):
        raise SpecError("the document is nested too deeply: a line opens 500 lists")


def _decode_by_events(text: str, repeated: list[str]) -> Any:
    """Decode what ryaml refuses or lacks: integers beyond 64 bits, repeated keys, odd tags, aliases and merge keys."""
    import yaml

    from restgpt.specs.reading.yaml_events import read_yaml

    try:
        document = read_yaml(text, repeated)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpecError(f"the document is neither JSON nor YAML: {_yaml_fault(error)[:300]}") from None
    _check_expansion(document)
    return document


def _yaml_fault(error: Exception) -> str:
    """Return the syntax error, with line and column if they are known."""
    import yaml

    if isinstance(error, yaml.MarkedYAMLError) and (mark := error.problem_mark):
        return f"{error.problem} in line {mark.line + 1}, column {mark.column + 1}"
    return " ".join(str(error).split())


def _check_expansion(document: Any) -> None:
    """Raise SpecError if the aliases of a document contain themselves or expand to too much."""
    sizes: dict[int, int] = {}
    open_nodes: set[int] = set()

    def size_of(node: Any) -> int:
        if not isinstance(node, dict | list):
            return 1 + (len(node) if isinstance(node, str) else 0)
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_nodes:
            raise SpecError("the document has a YAML alias that contains itself")
        open_nodes.add(id(node))
        children = node.values() if isinstance(node, dict) else node
        sizes[id(node)] = total = 1 + sum(size_of(child) for child in children)
        open_nodes.discard(id(node))
        if total > EXPANDED_MOST:
            raise SpecError(f"the aliases of the document expand to more than {EXPANDED_MOST:,} nodes and characters")
        return total

    try:
        size_of(document)
    except RecursionError:
        raise SpecError("the document is nested too deeply") from None
