"""The functions that a program in the sandbox uses on the answers of an API: lists, fields, matches, numbers, tables.

All functions are deterministic. Their source stands before a program that has one of their names (`prelude.py`), where
`from` imports and blocks of `if` are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

TYPE_CHECKING = False  # a name for type checkers; the import of `typing` would cost every worker milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

MOST_NAMES, MOST_CANDIDATES, MOST_TEXT = 20, 8, 80  # of one message: names, candidates, characters of a value
MOST_DIFFERENCES = 3  # how many fields tell items of one name apart

# Names of the list in an envelope, best first, and names of an object around the envelope. All are `plain` names.
LISTS = (
    *("items", "results", "data", "records", "entries", "value", "values", "content", "contents", "hits", "rows"),
    *("objects", "elements", "list", "resources", "documents", "docs", "nodes", "edges", "members", "member"),
)
WRAPPERS = frozenset({*LISTS, "result", "response", "payload", "body", "embedded", "page", "output"})
# Lists that accompany an answer.
ASIDE = frozenset({"errors", "warnings", "messages", "links", "included", "facets", "notices"})
# The fields that a person calls an item by, best first.
LABELS = (
    *("name", "title", "label", "displayname", "fullname", "username", "login", "email", "slug", "subject", "summary"),
    *("key", "code", "symbol", "originaltitle", "originalname", "firstname", "lastname", "id"),
)

_NOT_PLAIN = re.compile(r"[\W_]+")
_REQUIRED: Any = []  # no other value is this object


def _raise(sentence: str) -> NoReturn:
    raise RuntimeError(sentence)


# Ends the program with a sentence for the user. The driver of the sandbox replaces this function.
stop: Callable[[str], NoReturn] = _raise


def plain(name: object) -> str:
    """Return a name in lower case without punctuation, so that `displayName` and `display_name` are equal."""
    return _NOT_PLAIN.sub("", str(name)).casefold()


def rows(answer: Any) -> list[Any]:
    """Return the list in an answer: the answer itself, the list of its envelope, or a list of the one object.

    Raises LookupError if the answer has several lists, ValueError if it is a text or a number.
    """
    if answer is None:
        return []
    if isinstance(answer, list):
        return answer
    if isinstance(answer, Mapping):
        found = _list_of(answer)
        if found is None:
            found = _inner_list(answer)
        return [answer] if found is None else found
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes):
        return list(answer)
    raise ValueError(f"rows() takes a list or an object, but this is {_described(answer)}")


def _list_of(answer: Mapping[str, Any]) -> list[Any] | None:
    """Return the list directly in an object: the one with an envelope's name, else its only list of objects."""
    fields = dict(answer.items())
    named = {plain(name): name for name in reversed(fields)}
    for name in LISTS:
        if name in named and isinstance(fields[named[name]], list):
            found: list[Any] = answer[named[name]]
            return found
    lists = [
        name
        for name, value in fields.items()
        if isinstance(value, list) and plain(name) not in ASIDE and all(isinstance(item, Mapping) for item in value)
    ]
    if len(lists) > 1:
        raise LookupError(_several(lists))
    if lists or (len(fields) == 1 and isinstance(next(iter(fields.values())), list)):
        only: list[Any] = answer[lists[0] if lists else next(iter(fields))]
        return only
    return [] if any(name in named and answer[named[name]] is None for name in LISTS) else None


def _inner_list(answer: Mapping[str, Any]) -> list[Any] | None:
    """Return the only list one level deeper, such as in `{"data": {"items": []}}` and `{"albums": {"items": []}}`."""
    found: dict[str, list[Any]] = {}
    for name, value in list(answer.items()):
        is_wrapper = isinstance(value, Mapping) and (plain(name) in WRAPPERS or _is_envelope(value))
        if is_wrapper and _list_of(value) is not None:
            found[name] = _list_of(answer[name]) or []
    if len(found) > 1:
        raise LookupError(_several(found))
    return next(iter(found.values())) if found else None


def _is_envelope(value: Mapping[str, Any]) -> bool:
    return any(isinstance(inner, list) and plain(name) in LISTS for name, inner in value.items())


def _several(lists: Iterable[str]) -> str:
    names = [str(name) for name in lists]
    return f"this response has several lists: {listed(names)}; name the one to take, as rows(response[{names[0]!r}])"


def field(item: Any, *names: str, default: Any = _REQUIRED) -> Any:
    """Return the first of the named fields that is present and not null; `address.city` is a field of a field.

    Case and underscores in the names make no difference. Raises LookupError with the names that there are, unless
    there is a `default`.
    """
    if not names:
        raise ValueError("field() takes the name of a field, such as field(item, 'title', 'name')")
    if item is None and default is not _REQUIRED:
        return default
    if not isinstance(item, Mapping):
        hint = "; take its items one by one, such as with rows(...)" if isinstance(item, list) else ""
        raise LookupError(f"field() takes an object, but this is {_described(item)}{hint}")
    for name in names:
        value = _value(item, name)
        if value is not None:
            return value
    if default is not _REQUIRED:
        return default
    raise LookupError(_no_field(item, names))


def _value(item: Any, name: str) -> Any:
    """Return the value of a field, or of the field at the end of a dotted path; None if there is none."""
    key = _key(item, name)
    if key is not None:
        return item[key]
    head, dot, rest = name.partition(".")
    if isinstance(item, list):
        inner = item[int(head)] if head.isascii() and head.isdecimal() and int(head) < len(item) else None
        return _value(inner, rest) if dot else inner
    key = _key(item, head) if dot else None
    return None if key is None else _value(item[key], rest)


def _key(item: Any, name: str) -> str | None:
    """Return the key of an object that is equal to `name`, else the first that differs in case and punctuation only."""
    if not isinstance(item, Mapping):
        return None
    if name in item:
        return name
    wanted = "" if "." in name else plain(name)  # `home.town` is not `homeTown`
    return next((key for key, _ in item.items() if plain(key) == wanted), None) if wanted else None


def _no_field(item: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return the sentence about fields that an object does not have: they are null, or named differently."""
    wanted = " or ".join(repr(short(name)) for name in names[:MOST_CANDIDATES])
    ends = [_end(item, name) for name in names]
    for place, where, name in ends:
        if _key(place, name) is not None:
            return f"the field {wanted} is null here; give a default=, or another name: {where} has {listed(place)}"
    near = next(filter(None, (nearest(name, place) for place, _, name in ends)), "")
    place, where, _ = ends[0]
    return f"no field {wanted} here{near}; {where} has {listed(place)}"


def _end(item: Mapping[str, Any], name: str) -> tuple[Mapping[str, Any], str, str]:
    """Return the innermost object on a dotted path, its name for a message, and the rest of the path."""
    where = "the object"
    while "." in name:
        head, _, rest = name.partition(".")
        key = _key(item, head)
        if key is None or not isinstance(item[key], Mapping):
            break
        item, where, name = item[key], repr(short(key)), rest
    return item, where, name


def one(items: Any, /, text: str = "", **conditions: Any) -> Any:
    """Return the only item whose fields are equal to the conditions, and of which a label is equal to `text`.

    If no item is equal, items that contain the texts are taken. If none or several match, the program stops with a
    sentence that names the candidates. Raises LookupError if no item has the field of a condition.
    """
    candidates = rows(items)
    for name in conditions:
        if candidates and not any(_key(item, name) or _value(item, name) is not None for item in candidates):
            raise LookupError(_no_condition(candidates, name))
    wanted = _wanted(text, conditions)
    found = [item for item in candidates if _matches(item, text, conditions, _equal)]
    if not found:
        found = [item for item in candidates if _matches(item, text, conditions, _contains)]
    if found and all(other == found[0] for other in found[1:]):  # one item may be on two pages
        return found[0]
    if found:
        stop(f"{len(found)} items match {wanted}: {_candidates(found)}; say which one.")
    if not candidates:
        looked = f"; {wanted} was looked for" if text or conditions else ""
        stop(f"There is no item to choose from: the list is empty{looked}.")
    near = _near_items(candidates, text, conditions)
    there = f"nearest: {_candidates(near)}" if near else f"there are {_candidates(candidates)}"
    return stop(f"No item matches {wanted}; {there}.")


def _wanted(text: str, conditions: Mapping[str, Any]) -> str:
    parts = [repr(short(text))] if text else []
    parts += [f"{name} {short(value)!r}" for name, value in conditions.items()]
    return " and ".join(parts) or "(no condition was given)"


def _no_condition(candidates: list[Any], name: str) -> str:
    first = next((item for item in candidates if isinstance(item, Mapping)), None)
    if first is None:
        return f"no item has a field {short(name)!r}: the first item is {_described(candidates[0])}"
    return f"no item has a field {short(name)!r}{nearest(name, first)}; the first has {listed(first)}"


def _matches(item: Any, text: str, conditions: Mapping[str, Any], like: Callable[[Any, Any], bool]) -> bool:
    if text and not any(like(label, text) for label in _labels(item)):
        return False
    return all(like(_value(item, name), value) for name, value in conditions.items())


def _labels(item: Any) -> list[Any]:
    """Return the values that may name an item: the item itself if it is no object."""
    if not isinstance(item, Mapping):
        return [item]
    named = {plain(name): value for name, value in reversed(list(item.items()))}
    labels = [named[name] for name in LABELS if named.get(name) is not None]
    if named.get("firstname") and named.get("lastname"):
        labels.append(f"{named['firstname']} {named['lastname']}")
    return labels


def _equal(value: Any, wanted: Any) -> bool:
    """Return whether two values are equal as numbers or as texts; of a list, one item has to be equal."""
    if isinstance(value, list) and not isinstance(wanted, list):
        return any(_equal(item, wanted) for item in value)
    if value is None or wanted is None or isinstance(value, list | Mapping) or isinstance(wanted, list | Mapping):
        return bool(value == wanted)
    if isinstance(value, str) and isinstance(wanted, int | float) and not isinstance(wanted, bool):
        value, wanted = wanted, value
    if isinstance(value, int | float) and not isinstance(value, bool) and isinstance(wanted, str):
        return re.fullmatch(r"\s*[+-]?[0-9]{1,300}(\.[0-9]{1,300})?\s*", wanted) is not None and float(wanted) == value
    return _folded(value) == _folded(wanted)


def _contains(value: Any, wanted: Any) -> bool:
    """Return whether the text `value` contains the text `wanted`; other values have to be equal."""
    if isinstance(value, list) and not isinstance(wanted, list):
        return any(_contains(item, wanted) for item in value)
    if isinstance(value, str) and isinstance(wanted, str) and wanted.strip():
        return _folded(wanted) in _folded(value)
    return _equal(value, wanted)


def _folded(value: Any) -> str:
    """Return a value as text in one form: `True` as in JSON, 5.0 as 5, texts without differences of case and space."""
    if isinstance(value, float) and value % 1 == 0:
        value = int(value)
    return " ".join(str(value).split()).casefold()


def _near_items(candidates: list[Any], text: str, conditions: Mapping[str, Any]) -> list[Any]:
    """Return the items with a label or a field most like what was looked for, best first."""
    ranked: list[tuple[float, int]] = []
    for index, item in enumerate(candidates[:2000]):
        pairs = [(label, text) for label in _labels(item)] if text else []
        pairs += [(_value(item, name), value) for name, value in conditions.items()]
        best = max((_likeness(value, wanted) for value, wanted in pairs), default=0.0)
        if best >= 0.6:
            ranked.append((-best, index))
    return [candidates[index] for _, index in sorted(ranked)[:3]]


def _likeness(value: Any, wanted: Any) -> float:
    if not isinstance(value, str) or not isinstance(wanted, str):
        return 0.0
    return ratio(_folded(value)[:MOST_TEXT], _folded(wanted)[:MOST_TEXT])


def ratio(text: str, wanted: str) -> float:
    """Return how like two short texts are, from 0 to 1; 0 if they are not like each other."""
    import difflib

    matcher = difflib.SequenceMatcher(None, text, wanted, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= 0.6 and matcher.quick_ratio() >= 0.6 else 0.0


def _candidates(items: list[Any]) -> str:
    shown = items[:MOST_CANDIDATES]
    names = [_candidate(item) for item in shown]
    if len({_label(item) for item in shown}) < len(shown):
        names = [f"{name} {differing}".rstrip() for name, differing in zip(names, _differences(shown), strict=True)]
    more = f" and {len(items) - MOST_CANDIDATES} more" if len(items) > MOST_CANDIDATES else ""
    return ", ".join(names) + more


def _label(item: Any) -> str:
    return next((str(value) for value in _labels(item) if not isinstance(value, Mapping | list)), "")


def _differences(items: list[Any]) -> list[str]:
    """Return for each item the first fields that distinguish items of one name; times are the last choice."""
    flat = [_scalars(item) for item in items]
    names = dict.fromkeys(name for fields in flat for name in fields if plain(name) != "id")
    differing = [name for name in names if len({str(fields.get(name)) for fields in flat}) > 1]
    chosen = sorted(differing, key=lambda name: bool(_TIME.search(name)))[:MOST_DIFFERENCES]
    texts = [", ".join(f"{name} {short(fields[name])}" for name in chosen if name in fields) for fields in flat]
    return [f"[{text}]" if text else "" for text in texts]


def _scalars(item: Any) -> dict[str, Any]:
    """Return the texts, numbers and truth values of an object and of the objects in it, by their names."""
    if not isinstance(item, Mapping):
        return {}
    held = [(name, inner) for name, inner in item.items() if isinstance(inner, Mapping)]
    known = {str(name): value for name, value in item.items()}
    known |= {f"{name}.{key}": value for name, inner in held for key, value in inner.items()}
    return {name: value for name, value in known.items() if isinstance(value, str | int | float) and value != ""}


def _candidate(item: Any) -> str:
    """Return the name and the id of an item, or what there is of it."""
    if not isinstance(item, Mapping):
        return repr(short(item))
    key = _key(item, "id")
    known = "" if key is None or item[key] is None else f"id {short(item[key])}"
    label = next((value for value in _labels(item) if not isinstance(value, Mapping | list)), None)
    if label is None or (known and label == item.get(key)):
        return known or "an object with " + listed(item)
    return f"{short(label)} ({known})" if known else short(label)


_TIME = re.compile(r"(?i)(?:_at|date|time|stamp|created|updated|modified|etag|version)\Z")

_SPACES = re.compile("[\u00a0\u2007\u2009\u202f]")
_GROUPED = r"[0-9]{1,3}(?:[ '’][0-9]{3})+(?![0-9])(?:[.,][0-9]+)?"
_NUMBER = (
    rf"(?<![\w.,])(?P<digits>{_GROUPED}|[0-9][0-9.,]*(?<![.,])|\.[0-9]+)(?P<exponent>[eE][+-]?[0-9]{{1,3}}(?![\w.]))?"
    r"(?:(?P<letter>[kKmMbBtT](?![^\W\d_]))|\s*(?P<word>thousand|mio|millions?|mrd|billions?|bn|mn|trillions?|tn)\b)?"
)
_MINUS = re.compile(r"(?<!\w)-\s*[^\w\s]*\s*$")
_GROUPS = re.compile(r"[0-9]{1,3}(?:[.,][0-9]{3})*|[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}")  # 1,234,567 and 12,34,567
_TIMES = {
    **{"k": 3, "thousand": 3, "m": 6, "mn": 6, "mio": 6, "million": 6, "b": 9, "bn": 9, "mrd": 9, "billion": 9},
    **{"t": 12, "tn": 12, "trillion": 12},
}


def number(value: Any) -> int | float:
    """Return the one number in a text such as "1,234.50 €", "1.234,50", "12k", "3.5 million" and "(5)".

    A single comma before three digits separates thousands, a single point is a decimal point. Numbers are returned
    unchanged. Raises ValueError if there is none, or more than one.
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        raise ValueError(f"number() takes a text or a number, but this is {_described(value)}")
    text = _SPACES.sub(" ", value).replace("\u2212", "-").strip()
    found = list(re.finditer(_NUMBER, text, re.IGNORECASE))
    if len(found) != 1:
        raise ValueError(f"there is {'no' if not found else 'more than one'} number in {short(value)!r}")
    match = found[0]
    result = _amount(match, value)
    before, after = text[: match.start()], text[match.end() :]
    negative = _MINUS.search(before[-MOST_TEXT:]) or after == "-" or (before[:1] == "(" and after[-1:] == ")")
    return -result if negative else result


def _amount(match: re.Match[str], value: str) -> int | float:
    """Return the number of a match without its sign; a number without decimals is an integer."""
    whole, fraction = _split(match["digits"], value)
    unit = (match["letter"] or match["word"] or "").lower()
    if match["exponent"]:
        return float(f"{whole}.{fraction or 0}{match['exponent']}")
    if not unit:
        return float(f"{whole}.{fraction}") if fraction else int(whole)
    power = _TIMES[unit if unit in _TIMES else unit.rstrip("s")]
    digits: int = int(whole + fraction) * 10**power
    scale: int = 10 ** len(fraction)
    return digits // scale if digits % scale == 0 else digits / scale


def _split(digits: str, value: str) -> tuple[str, str]:
    """Return the digits before and after the decimal separator. Raises ValueError if the groups make no sense."""
    digits = re.sub("[ '’]", "", digits)
    decimal = ""
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) == 2:
        decimal = marks[-1]
    elif len(marks) == 1:
        thousands = re.fullmatch(r"[1-9][0-9]{0,2},[0-9]{3}", digits)
        decimal = "" if thousands else marks[0]
    whole, _, fraction = digits.rpartition(decimal) if decimal else (digits, "", "")
    if (fraction and not fraction.isdecimal()) or (whole and not whole.isdecimal() and not _GROUPS.fullmatch(whole)):
        raise ValueError(f"{short(value)!r} is no number: its points and commas separate no groups of three digits")
    return re.sub("[.,]", "", whole) or "0", fraction


def table(text: Any) -> list[dict[str, str]]:
    """Return the rows of a text with commas, semicolons, tabs or bars as dictionaries; the first line has the names.

    Raises ValueError if the argument is no text, or is broken.
    """
    if not isinstance(text, str):
        raise ValueError(f"table() takes a text, but this is {_described(text)}; rows() takes lists and objects")
    import csv

    text = text.removeprefix("\ufeff").lstrip("\r\n")
    lines = re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", text)
    reader = csv.reader(lines, delimiter=_delimiter(text), skipinitialspace=True)
    try:
        cells = [line for line in reader if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num} of the text is no row of a table: {error}") from None
    if not cells:
        return []
    names = _header(cells[0], max(len(line) for line in cells))
    return [dict(zip(names, [*line, *[""] * (len(names) - len(line))], strict=True)) for line in cells[1:]]


def _delimiter(text: str) -> str:
    """Return the separator that occurs most often in the first line, outside of quotes."""
    first = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    return max("\t;,|", key=first.count) if re.search("[\t;,|]", first) else ","


def _header(cells: list[str], width: int) -> list[str]:
    """Return a distinct name for each column; a column without a name gets its number."""
    names: dict[str, None] = {}
    for index in range(width):
        name = cells[index].strip() if index < len(cells) else ""
        name = name or f"column {index + 1}"
        count, distinct = 2, name
        while distinct in names:
            distinct = f"{name} {count}"
            count += 1
        names[distinct] = None
    return list(names)


def nearest(name: str, names: Iterable[Any]) -> str:
    """Return the end of a message about a wrong name: the name most like it, if one is, and up to two very like it."""
    wanted, known = plain(name)[:MOST_TEXT], {plain(other)[:MOST_TEXT]: str(other) for other in names}
    near = likest(wanted, list(known))
    return f"; nearest: {', '.join(repr(short(known[other])) for other in near)}" if near else ""


def likest(wanted: str, texts: list[str]) -> list[str]:
    """Return the text most like another, if one is, and up to two very like it."""
    import difflib

    near = difflib.get_close_matches(wanted, texts, 3)
    return near[:1] + difflib.get_close_matches(wanted, near[1:], 2, 0.75)


def listed(names: Iterable[Any]) -> str:
    """Return the first of the names for a message, and how many more there are."""
    known = [short(name) for name in names]
    more = f" and {len(known) - MOST_NAMES} more" if len(known) > MOST_NAMES else ""
    return (", ".join(known[:MOST_NAMES]) or "no fields") + more


def _described(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {short(value)!r}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, Mapping):
        return f"an object with {listed(value)}"
    return "null (None)" if value is None else f"{type(value).__name__} {short(value)}"


def short(value: object) -> str:
    """Return a value as a text of at most `MOST_TEXT` characters."""
    text = str(value)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 3] + "..."
