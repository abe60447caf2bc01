"""Values of Java and JavaScript as the function-calling leaderboard writes them, read by their documented type.

A text that is no literal of the type stays text: it may be the name of a variable.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from restgpt_functions.calls.call import CallSyntaxError
from restgpt_functions.calls.text import KEYWORD, NAME, NOT_INSIDE, split_arguments

JAVA_KINDS: dict[str, type] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "boolean": bool,
    **dict.fromkeys(("char", "String", "string", "any", "Any"), str),
    **dict.fromkeys(("Array", "ArrayList", "array", "Queue", "Stack", "Set"), list),
    **dict.fromkeys(("HashMap", "Hashtable", "dict"), dict),
}
JAVASCRIPT_KINDS: dict[str, type] = {
    **dict.fromkeys(("String", "string", "any", "Any"), str),
    **dict.fromkeys(("integer", "Bigint"), int),
    "float": float,
    **dict.fromkeys(("Boolean", "boolean"), bool),
    **dict.fromkeys(("dict", "object"), dict),
    **dict.fromkeys(("array", "Array"), list),
}

_FLOAT = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_JAVA_LITERALS: dict[str, tuple[str, Callable[[str], Any]]] = {
    **dict.fromkeys(("byte", "short", "integer"), (r"-?\d+", int)),
    "long": (r"-?\d+[lL]", lambda text: int(text[:-1])),
    "float": (rf"{_FLOAT}[fF]", lambda text: float(text[:-1])),
    "double": (_FLOAT, float),
    "boolean": (r"true|false", lambda text: text == "true"),
}
_JAVASCRIPT_LITERALS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "integer": (r"-?\d+", int),
    "Bigint": (r"-?\d+n", lambda text: int(text[:-1])),
    "float": (r"-?\d+(?:\.\d+)?", float),
    **dict.fromkeys(("Boolean", "boolean"), (r"true|false", lambda text: text == "true")),
}
_JAVA_ARRAY = re.compile(r"new\s+\w+\s*\[\s*\]\s*\{(.*)\}", re.DOTALL)
_JAVA_LIST = re.compile(r"new\s+ArrayList\s*<.*?>\s*\(\s*(?:Arrays\.asList|List\.of)\s*\((.*)\)\s*\)", re.DOTALL)
_JAVA_FILLED = re.compile(r"new\s+(ArrayList|HashMap)\s*<.*?>\s*\(\s*\)\s*(?:\{\s*\{?(.*?)\}?\s*\})?", re.DOTALL)
_JAVASCRIPT_ARRAY = re.compile(r"\[(.*)\]|new\s+Array\s*\((.*)\)", re.DOTALL)


def _split(text: str) -> Iterator[str]:
    """Split at the commas outside all quotes and brackets."""
    depth, start, quote = 0, 0, ""
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[index - 1] != "\\" else quote
        elif char in "'\"`":
            quote = char
        elif char in "[<({":
            depth += 1
        elif char in "]>)}":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()


def read_java(text: str, word: str, items: str = "") -> Any:
    """The value of a Java literal of type `word`, with elements of type `items`; other text stays text."""
    if word in _JAVA_LITERALS:
        pattern, read = _JAVA_LITERALS[word]
        return read(text) if re.fullmatch(pattern, text) else text
    if JAVA_KINDS.get(word) is list:
        return _java_list(text, items)
    if JAVA_KINDS.get(word) is dict:
        match = _JAVA_FILLED.fullmatch(text.strip())
        return text if match is None or match[1] != "HashMap" else _java_puts(match[2] or "")
    return text


def _java_list(text: str, items: str) -> Any:
    stripped = text.strip()
    if match := _JAVA_ARRAY.fullmatch(stripped) or _JAVA_LIST.fullmatch(stripped):
        return [_java_element(part, items) for part in _split(match[1]) if part]
    match = _JAVA_FILLED.fullmatch(stripped)
    if match is None or match[1] != "ArrayList":
        return text
    return [_java_element(part, items) for part in re.findall(r"add\((.*?)\)\s*(?:;|$)", match[2] or "", re.DOTALL)]


def _java_element(text: str, items: str) -> Any:
    if items in ("String", "string", "char"):
        return text[1:-1] if text[:1] in ("'", '"') and text[-1:] == text[:1] else text
    return read_java(text, items) if items else _java_value(text)


def _java_puts(text: str) -> dict[str, Any]:
    return {
        key: _java_value(value.strip())
        for key, value in re.findall(r"put\(\s*\"(.*?)\"\s*,\s*(.*?)\)\s*(?:;|$)", text, re.DOTALL)
    }


def _java_value(text: str) -> Any:
    """A Java value without a documented type."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1]
    for word in ("boolean", "integer", "long", "float", "double"):
        value = read_java(text, word)
        if not isinstance(value, str):
            return value
    return text


def read_javascript(text: str, word: str, items: str = "") -> Any:
    """The value of a JavaScript literal of type `word`, with elements of type `items`; other text stays text."""
    stripped = text.strip()
    if word in _JAVASCRIPT_LITERALS:
        pattern, read = _JAVASCRIPT_LITERALS[word]
        return read(stripped) if re.fullmatch(pattern, stripped) else text
    if word in ("String", "string"):
        return _unquoted(text)
    if JAVASCRIPT_KINDS.get(word) is list:
        match = _JAVASCRIPT_ARRAY.fullmatch(stripped)
        if match is None:
            return text
        parts = [part for part in _split(match[1] if match[1] is not None else match[2]) if part]
        return [read_javascript(_unquoted(part), items) if items else _javascript_value(part) for part in parts]
    if JAVASCRIPT_KINDS.get(word) is dict:
        is_object = stripped.startswith("{") and stripped.endswith("}")
        return _javascript_object(stripped[1:-1]) if is_object else text
    return text


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] in "'\"`" and text[-1] == text[0] else text


def _javascript_object(text: str) -> dict[str, Any]:
    pairs = [part.partition(":") for part in _split(text) if part]
    return {_unquoted(key.strip()): _javascript_value(value.strip()) for key, _, value in pairs}


def _javascript_value(text: str) -> Any:
    if text[:1] in ("'", '"', "`"):
        return _unquoted(text)
    if text.startswith("["):
        return read_javascript(text, "array")
    if text.startswith("{"):
        return read_javascript(text, "dict")
    for word in ("boolean", "integer", "float"):
        value = read_javascript(text, word)
        if not isinstance(value, str):
            return value
    return text


def find_sources(text: str) -> list[tuple[str, dict[str, str]]]:
    """The outermost calls in a text of another language, each argument as its source: `5L`, `new int[]{1}`.

    Raises `CallSyntaxError` for a call that is never closed or an argument without a name.
    """
    found: list[tuple[str, dict[str, str]]] = []
    position = 0
    while match := re.compile(rf"{NOT_INSIDE}({NAME})\(").search(text, position):
        pieces, position = split_arguments(text, match.end())
        arguments: dict[str, str] = {}
        for piece in pieces if any(map(str.strip, pieces)) else []:
            keyword = KEYWORD.match(piece)
            if keyword:
                arguments[keyword[1]] = keyword[2].strip()
            elif arguments:
                # The comma stood between the type parameters of a generic type.
                arguments[next(reversed(arguments))] += f", {piece.strip()}"
            else:
                raise CallSyntaxError(f"{match[1]}(: an argument has no name")
        found.append((match[1], arguments))
    return found
