"""Generated Python before it runs: taking it out of its Markdown, and telling which standard modules it may need.

Nothing here parses the code as Python: it is hostile until it is inside the sandbox, where it is compiled.
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
# What nearly every snippet uses: loaded while a worker waits, so that it costs no time when a job comes.
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

# The modules that the sandbox offers: once the worker is locked, nothing can be read from disk any more.
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

# Words that make Python import more than their name says, at once (packages) or when first called.
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
    """Return the Python in a model's reply, without byte order mark, Markdown around it and common indentation."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    outside, blocks = _split(text.split("\n"))
    # A fence inside a string of otherwise plain code is left alone: such code has statements outside as well.
    if blocks and not any(_STATEMENT.match(line.lstrip()) for line in outside):
        python = [lines for language, lines in blocks if language in _PYTHON]
        text = "\n".join("\n".join(lines) for lines in python or [blocks[0][1]])
    return textwrap.dedent(text).rstrip("\n")


def _split(lines: Iterable[str]) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return the lines outside of fences, and each fenced block as language and lines; the last may lack its end."""
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
    """Return the modules to load before the worker locks itself: all that the words of `code` can make it import."""
    found: dict[str, None] = {}
    for word in sorted(set(_WORD.findall(code))):
        if word in OFFERED:
            found[word] = None
        found.update(dict.fromkeys(_IMPLIED.get(word, ())))
    return tuple(found)


def missing_module(message: str) -> str:
    """Return the module that an import failed for, if it is one to load ahead although no word showed it, else ""."""
    match = _MISSING.match(message)
    root = match[1].partition(".")[0] if match else ""
    private = root.startswith("_") and root in sys.stdlib_module_names
    return match[1] if match and (private or root in OFFERED) else ""


def needs_zones(code: str) -> bool:
    """Return whether the code may ask for time zones, whose files must be read before the worker is locked."""
    return "zoneinfo" in code
