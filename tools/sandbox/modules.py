"""The modules that the host gives to the worker of a program: those of `guest`, compiled once per process.

The worker needs no search path and no bytecode files for them, so it starts as fast in a read-only installation. The
code of a program decides by its words which of them it gets.
"""

import marshal
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.abc import InspectLoader
from importlib.util import find_spec

from restgpt.tools.sandbox.guest.replay import LIBRARY
from restgpt.tools.sandbox.result import Media

_PACKAGE = "restgpt.tools.sandbox.guest"
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)

# In an order in which each module comes after those that it imports.
_ALWAYS = ("digest", "determinism", "replay")
_FOR_CHECK = ("library", "gather", "check")

RUNNERS: Mapping[Media, str] = {
    **dict.fromkeys(("program", "replay"), f"{_PACKAGE}.replay"),
    "rewriting": f"{_PACKAGE}.rewriting",
}
"""The module whose function `run` a worker calls, for the media that are no data."""

IMPORTED = ("_sha2", "_sha256", "binascii")
"""The standard modules that all programs need; a waiting worker imports them before it gets a job."""

_IMPORTED_FOR: dict[str, tuple[str, ...]] = {"table": ("csv",), "field": ("difflib",), "one": ("difflib",)}


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
        names += ["gather"] if "gather" in words else []
    return {given: _module(given, compiled) for given in (f"{_PACKAGE}.{name}" for name in names)}


def needed_modules(code: str, media: Media) -> tuple[str, ...]:
    """Return the standard modules that the given ones import, to load before the worker is locked."""
    if media not in RUNNERS:
        return ()
    words = set(_WORD.findall(code))
    found: list[str] = []
    for word in sorted(words & _IMPORTED_FOR.keys()):
        found.extend(_IMPORTED_FOR[word])
    if media == "program":
        found.extend(("ast", "difflib"))
    elif media == "rewriting":
        found.extend(("ast", "encodings.unicode_escape"))  # `ast.unparse` encodes with it
    elif "gather" in words:
        found.append("ast")
    if not code.isascii():
        found.append("unicodedata")  # the compiler normalises names with it
    return tuple(found)


@lru_cache(maxsize=32)
def _module(name: str, compiled: bool) -> bytes:
    spec = find_spec(name)
    loader = spec.loader if spec is not None else None
    if not isinstance(loader, InspectLoader):
        raise ImportError(f"{name} cannot be read. Install restgpt as a package with its source files.")
    if not compiled:
        return (loader.get_source(name) or "").encode()
    return marshal.dumps(loader.get_code(name))
