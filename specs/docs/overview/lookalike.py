"""Look-alikes: operations that lists of one line each do not tell apart, and the words that do.

read_flow_runs: POST /flow_runs/filter  Read Flow Runs  → list of FlowRun; takes sort, limit
paginate_flow_runs: POST /flow_runs/paginate  Paginate Flow Runs  → page: results, count; takes page
"""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from restgpt.specs.docs.overview.summary import first_sentence
from restgpt.specs.docs.shape import Shape
from restgpt.specs.docs.words.keyword import body_shape, keywords
from restgpt.specs.effort import within
from restgpt.specs.operation import Operation
from restgpt.specs.search.stemmer import STOP_STEMS, stems

# In a larger group the paths show the difference well enough.
ALIKE_MOST = 6
# How many names of a result and of arguments are shown, and the characters of all words together.
RESULT_NAMES, TAKEN_NAMES, LONGEST = 3, 4, 90
# How many steps the comparison of one operation with its look-alikes may take.
STEPS_MOST = 15_000
# How many fields of a result are searched for its list.
FIELDS_MOST = 40

# Words of reading, which do not name the subject.
_READING = frozenset(stems("read retrieve fetch query search filter paginate count return view load lookup all"))
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_NUMBER = re.compile(r"_\d+$")


def look_alikes(operations: Iterable[Operation]) -> dict[int, tuple[Operation, ...]]:
    """Group the operations of one API whose methods, path variables and subjects are equal, by the identity of each."""
    groups: dict[tuple[str, frozenset[str], frozenset[str]], list[Operation]] = {}
    for operation in operations:
        groups.setdefault(_key(operation), []).append(operation)
    alike = [tuple(group) for group in groups.values() if 1 < len(group) <= ALIKE_MOST]
    return {id(operation): group for group in alike for operation in group}


def _key(operation: Operation) -> tuple[str, frozenset[str], frozenset[str]]:
    text = operation.summary or first_sentence(operation.description) or _NUMBER.sub("", operation.name)
    subject = frozenset(stems(text)) - STOP_STEMS - _READING
    return operation.method, frozenset(_VARIABLE.findall(operation.path)), subject


def differences(group: Sequence[Operation]) -> list[str]:
    """Return for each look-alike of a group what it returns and takes, in a few words; empty if the others do too."""
    known = [_returned_and_taken(operation) for operation in group]
    return [_difference(own, known) for own in known]


def _returned_and_taken(operation: Operation) -> tuple[str, tuple[str, ...]]:
    with within(STEPS_MOST, operation.document.allowance):
        return _result(operation), _taken(operation)


def _difference(own: tuple[str, tuple[str, ...]], group: Sequence[tuple[str, tuple[str, ...]]]) -> str:
    result, taken = own
    parts = [f"→ {result}"] if result and any(other != result for other, _ in group) else []
    known = [frozenset(names) for _, names in group]
    needed = [name for name in taken if any(name not in names for names in known)]
    if needed:
        more = ", …" if len(needed) > TAKEN_NAMES else ""
        parts.append(f"takes {', '.join(needed[:TAKEN_NAMES])}{more}")
    text = "; ".join(parts)
    return text if len(text) <= LONGEST else text[:LONGEST].rpartition(", ")[0] + ", …"


def _result(operation: Operation) -> str:
    """Describe what an operation returns: a list, a page, an object by the name of its type, or a plain value."""
    response = operation.response()
    media = response.preferred if response is not None else None
    if response is None:
        return ""
    if media is None:
        return "nothing"
    if "json" not in media.media_type.lower():
        return media.media_type
    return _described(Shape(operation.document, media.schema))


def _described(shape: Shape) -> str:
    if shape.items is not None:
        return f"list of {_type(shape.items)}"
    fields = dict(islice(shape.fields.items(), FIELDS_MOST)) if "object" in shape.kinds else {}
    lists = [name for name, field in fields.items() if field.items is not None and "object" in field.items.kinds]
    if len(lists) == 1:
        names = [*lists, *(name for name in fields if name not in lists)]
        return f"page: {', '.join(names[:RESULT_NAMES])}"
    return _type(shape)


def _type(shape: Shape) -> str:
    if shape.reference:
        return shape.reference.rstrip("/").rsplit("/", 1)[-1]
    return "|".join(shape.kinds) or "any"


def _taken(operation: Operation) -> tuple[str, ...]:
    """Return the names of the arguments of an operation: its parameters, and the fields of its body."""
    shape = body_shape(operation)
    return (*(item.name for item in keywords(operation)), *(islice(shape.fields, FIELDS_MOST) if shape else ()))
