"""Prepare generated Python: extract it from Markdown, and find the modules that its worker needs, by its words.

The host never parses the code as Python, because it may be hostile; only the sandbox compiles it. The modules of
`guest` are compiled once per process and given to the worker, which needs no search path and no bytecode files for
them, so it starts as fast in a read-only installation.
"""

import marshal
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.abc import InspectLoader
from importlib.util import find_spec

from restgpt.tools.sandbox.guest.replay import LIBRARY
from restgpt.tools.sandbox.result import Media
from restgpt.tools.text.fence import fence_around

_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_STATEMENT = re.compile(r"(?:import|from|def|for|if|with|class) \w|print\(|\w+ = ", re.ASCII)
_FENCE = "```"
_PYTHON = frozenset({"python", "python3", "py"})

# fmt: off
# Modules that most snippets use; a waiting worker imports them before it gets a job.
CORE = (
    "collections", "collections.abc", "contextlib", "copy", "datetime", "functools", "heapq", "itertools",
    "json", "math", "operator", "re", "string", "textwrap", "time", "types", "warnings", "weakref",
    # The encodings that JSON may come in.
    "encodings.utf_8_sig", "encodings.utf_16_le", "encodings.utf_16_be", "encodings.utf_32_le", "encodings.utf_32_be",
    # All programs need these.
    "_sha2", "_sha256", "binascii",
)

_CODECS = (
    "ascii", "latin_1", "cp1252", "utf_8_sig", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "unicode_escape",
    "raw_unicode_escape", "punycode", "idna", "base64_codec", "hex_codec", "rot_13", "quopri_codec",
)

# The modules that code may import. They are loaded before the worker is locked, since it cannot read files later.
OFFERED = frozenset({
    "__future__", "abc", "argparse", "array", "ast", "base64", "binascii", "bisect", "builtins", "calendar",
    "cmath", "codecs", "collections", "colorsys", "configparser", "contextlib", "copy", "csv", "ctypes",
    "dataclasses", "datetime", "decimal", "difflib", "email", "enum", "errno", "fnmatch", "fractions",
    "functools", "gc", "graphlib", "gzip", "hashlib", "heapq", "hmac", "html", "http", "importlib", "inspect",
    "io", "ipaddress", "itertools", "json", "keyword", "linecache", "locale", "logging", "marshal", "math",
    "numbers", "operator", "os", "pathlib", "pickle", "pprint", "queue", "random", "re", "reprlib", "secrets",
    "shlex", "signal", "statistics", "string", "struct", "sys", "textwrap", "threading", "time", "timeit",
    "tokenize", "tomllib", "traceback", "types", "typing", "unicodedata", "urllib", "uuid", "warnings", "weakref",
    "xml", "zlib", "zoneinfo",
})
# fmt: on

_TRACEBACKS = ("traceback", "linecache", "tokenize", "tracemalloc", "ast", "unicodedata", "_suggestions")

# Words in the code that cause further imports, at once (packages) or at the first call.
_IMPLIED: Mapping[str, tuple[str, ...]] = {
    "email": ("email.utils", "email.message", "email.parser", "email.policy", "email.charset", "email.generator"),
    "fractions": ("decimal",),
    "html": ("html.entities", "html.parser"),
    "importlib": ("importlib.util", "importlib.machinery", "importlib.resources"),
    "urllib": ("urllib.parse", "unicodedata"),
    "strptime": ("_strptime",),
    "uuid": ("hashlib",),
    "xml": (
        "xml.etree.ElementTree",
        "xml.parsers.expat",
        "xml.dom.minidom",
        "xml.dom.expatbuilder",
        "xml.sax.saxutils",
    ),
    **dict.fromkeys(("Protocol", "runtime_checkable"), ("inspect",)),
    **dict.fromkeys(("encode", "decode", "bytes", "bytearray", "encoding"), tuple(f"encodings.{c}" for c in _CODECS)),
    **dict.fromkeys(("print_exc", "format_exc", "getLogger", "logging", "traceback", "warn", "warnings"), _TRACEBACKS),
}

_PRINTING = frozenset({"print", "table", "stop"})
"""The words of programs with a report of their own; of others, the last expression is the report."""

_MISSING = re.compile(r"No module named '([A-Za-z_][\w.]{0,60})'", re.ASCII)


_PACKAGE = "restgpt.tools.sandbox.guest"

# In an order in which each module comes after those that it imports.
_ALWAYS = ("digest", "determinism", "replay")
_FOR_CHECK = ("library", "gather", "check")

RUNNERS: Mapping[Media, str] = {
    **dict.fromkeys(("program", "replay"), f"{_PACKAGE}.replay"),
    "rewriting": f"{_PACKAGE}.rewriting",
}
"""The module whose function `run` a worker calls, for the media that are no data."""

_IMPORTED_FOR: Mapping[str, tuple[str, ...]] = {
    "table": ("csv",),
    "field": ("difflib",),
    "one": ("difflib",),
    "gather": ("ast",),
}
_IMPORTED_BY: Mapping[str, tuple[str, ...]] = {
    "program": ("ast", "difflib"),
    "rewriting": ("ast", "encodings.unicode_escape"),  # `ast.unparse` encodes with it
}


def clean_code(text: str) -> str:
    """Return the Python in a model's reply, without byte order mark, Markdown and common indentation."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    outside, blocks = _split(text.split("\n"))
    # Statements outside of the fences mean plain code with a fence inside a string, which is not changed.
    if blocks and not any(_STATEMENT.match(line.lstrip()) for line in outside):
        python = [lines for language, lines in blocks if language in _PYTHON]
        text = "\n".join("\n".join(lines) for lines in python or [blocks[0][1]])
    return textwrap.dedent(text).rstrip("\n")


def program_code(text: str) -> str:
    """Return a program as the sandbox runs it, so that line numbers are those of the shown code.

    Only a fence around all of it is taken away: a fence inside of other text may be a quotation.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    fence = fence_around(text)
    return textwrap.dedent(text if fence is None else fence.text).rstrip("\n")


def _split(lines: Iterable[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the lines outside of fences, and each fenced block as language and lines; the last may be unclosed."""
    outside: list[str] = []
    blocks: list[tuple[str, list[str]]] = []
    current = outside
    for line in lines:
        mark = line.strip()
        if current is outside and mark.startswith(_FENCE):
            current = []
            blocks.append((mark.removeprefix(_FENCE).strip().lower(), current))
        elif current is not outside and mark == _FENCE:
            current = outside
        else:
            current.append(line)
    return outside, blocks


def modules_for(code: str, media: Media = "json") -> tuple[str, ...]:
    """Return the modules to load before the worker locks itself: all that the words of `code` or its runner import."""
    found: dict[str, None] = {}
    for word in sorted(set(_WORD.findall(code))):
        if word in OFFERED:
            found[word] = None
        found.update(dict.fromkeys(_IMPLIED.get(word, ())))
        if media in RUNNERS:
            found.update(dict.fromkeys(_IMPORTED_FOR.get(word, ())))
    if media == "replay" and _PRINTING.isdisjoint(_WORD.findall(code)):
        found["ast"] = None
    found.update(dict.fromkeys(_IMPORTED_BY.get(media, ())))
    if media in RUNNERS and not code.isascii():
        found["unicodedata"] = None  # the compiler normalises names with it
    return tuple(found)


def missing_module(message: str) -> str:
    """Return the module of a failed import, if the worker can load it before the lock, else ""."""
    match = _MISSING.match(message)
    root = match[1].partition(".")[0] if match else ""
    private = root.startswith("_") and root in sys.stdlib_module_names
    return match[1] if match and (private or root in OFFERED) else ""


def needs_zones(code: str) -> bool:
    """Return whether the code may use time zones, whose files must be read before the worker is locked."""
    return "zoneinfo" in code


def given_modules(code: str, media: Media, *, compiled: bool) -> dict[str, bytes]:
    """Return the modules that a program's worker gets, in the order to define them; none for other media.

    `compiled` code is that of this version of Python; other versions get the source.
    """
    if media not in RUNNERS:
        return {}
    words = set(_WORD.findall(code))
    names = list(_ALWAYS)
    if media == "rewriting":
        names, words, code = ["rewriting"], set(), ""
    if media == "program":
        names.extend(_FOR_CHECK)
    else:
        names += ["library"] if words.intersection(LIBRARY) else []
        names += ["gather"] if "gather" in words or _PRINTING.isdisjoint(words) else []
    return {given: _module(given, compiled) for given in (f"{_PACKAGE}.{name}" for name in names)}


@lru_cache(maxsize=32)
def _module(name: str, compiled: bool) -> bytes:
    spec = find_spec(name)
    loader = spec.loader if spec is not None else None
    if not isinstance(loader, InspectLoader):
        raise ImportError(f"{name} cannot be read. Install restgpt as a package with its source files.")
    if not compiled:
        return (loader.get_source(name) or "").encode()
    return marshal.dumps(loader.get_code(name))
