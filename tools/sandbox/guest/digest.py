"""The canonical text of a program's call and its digest: worker and host compute both with these functions.

The host does not trust the worker, so it computes the digest of a call from the arguments that the call is made with.
Standard library only: the host sends this module to the worker.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MOST_DEPTH = 60  # the deepest nesting of an argument; a checkpoint keeps a call up to 100 levels
MOST_ARGUMENTS = 500_000  # the most characters of the arguments of one call, as JSON
MOST_KEYWORDS = 500  # the most arguments of one call


def _hash_function() -> Any:
    # Not `hashlib`, whose import loads OpenSSL: _sha2 is in Python 3.12 and later, _sha256 in Python 3.11.
    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            return __import__(name).sha256
        except ImportError:
            continue
    raise ImportError("this Python has no SHA-256")


# References from before the generated code runs.
_dumps, _loads, _sha256 = json.dumps, json.loads, _hash_function()


def call_text(name: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return a call as canonical JSON in ASCII: function, positional arguments, keyword arguments sorted by name.

    Raises TypeError for an argument that is no JSON value, and for arguments that are too many, too deep or too large.
    """
    try:
        # Twice, because keys are sorted before they become text: 10 is after 9, but "10" is before "9".
        plain = _loads(_dumps([name, list(positional), dict(keywords)], allow_nan=False, default=_as_json))
        text = _dumps(plain, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(f"{name}: an argument is no JSON value: {error}") from None
    if len(text) > MOST_ARGUMENTS:
        raise TypeError(f"{name}: the arguments have {len(text)} characters as JSON, at most {MOST_ARGUMENTS} are sent")
    if len(plain[1]) + len(plain[2]) > MOST_KEYWORDS:
        raise TypeError(f"{name}: more than {MOST_KEYWORDS} arguments")
    if _is_deeper(plain, MOST_DEPTH + 2):
        raise TypeError(f"{name}: an argument is nested more than {MOST_DEPTH} levels deep")
    return text


def digest_of(text: str) -> str:
    """Return the SHA-256 of the canonical text of a call, in hex."""
    found: str = _sha256(text.encode()).hexdigest()
    return found


def _is_deeper(value: Any, most: int) -> bool:
    level = [value]
    for _ in range(most):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return any(isinstance(value, dict | list) for value in level)


def _as_json(value: Any) -> Any:
    """Return the JSON form of a Python value: dates as ISO text, sets sorted, bytes as a file, decimals as numbers.

    The answer that a dry run lacks ends the run here, as at any other use of it.
    """
    if isinstance(value, bytes | bytearray):
        from binascii import b2a_base64

        return {"@bytes": b2a_base64(value, newline=False).decode()}
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__name__ == "Decimal":
        return int(value) if value == int(value) else float(value)
    if type(value).__name__ == "UUID":
        return str(value)
    if hasattr(value, "__iter__"):
        return list(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")
