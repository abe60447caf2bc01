"""Prepare generated Python: extract it from Markdown, and list the standard modules that it may import.

The host never parses the code as Python, because it may be hostile; only the sandbox compiles it.
"""

import re
import sys
import textwrap
from collections.abc import Iterable, Mapping

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

_MISSING = re.compile(r"No module named '([A-Za-z_][\w.]{0,60})'", re.ASCII)


def clean_code(text: str) -> str:
    """Return the Python in a model's reply, without byte order mark, Markdown and common indentation."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    outside, blocks = _split(text.split("\n"))
    # Statements outside of the fences mean plain code with a fence inside a string, which is not changed.
    if blocks and not any(_STATEMENT.match(line.lstrip()) for line in outside):
        python = [lines for language, lines in blocks if language in _PYTHON]
        text = "\n".join("\n".join(lines) for lines in python or [blocks[0][1]])
    return textwrap.dedent(text).rstrip("\n")


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


def modules_for(code: str) -> tuple[str, ...]:
    """Return the modules to load before the worker locks itself: all modules that the words of `code` may import."""
    found: dict[str, None] = {}
    for word in sorted(set(_WORD.findall(code))):
        if word in OFFERED:
            found[word] = None
        found.update(dict.fromkeys(_IMPLIED.get(word, ())))
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
