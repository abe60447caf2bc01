"""The areas of an API with the number of their operations: its tags, or the first words of its paths that differ."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from restgpt.specs.operation import Operation
from restgpt.specs.reading.text.hidden import marks

MOST_AREAS = 24
"""The maximum number of areas in the list."""

MOST_SINGLE = 10
"""Areas of a single operation are listed only among this many first areas."""

LONGEST_AREA = 40
"""The maximum number of characters of the name of one area."""

SEGMENTS_MOST = 30
"""The maximum number of segments of a path that are looked at."""

SHARED = 0.9
"""The part of all operations whose paths must begin with the same segment for the segment to be dropped."""

_PREFIX = re.compile(r"v?\d[\d._-]*|v\d+\w*|api|apis|rest|latest", re.IGNORECASE)
_VARIABLE = "{}"


@marks
def areas(operations: Sequence[Operation], *, most: int) -> str:
    """List the areas of operations, most frequent first, in about `most` characters; empty if there are none.

    The number of operations follows a name if it is above one.
    """
    counted = Counter(_areas(operations)).most_common()
    shown: list[str] = []
    left = most
    for name, count in counted[:MOST_AREAS]:
        text = f"{name} {count}" if count > 1 else name
        left -= len(text) + 2
        if shown and (left < 0 or (count == 1 and len(shown) >= MOST_SINGLE)):
            break
        shown.append(text)
    hidden = len(counted) - len(shown)
    return ", ".join(shown) + (f" and {hidden} more" if hidden else "")


def _areas(operations: Sequence[Operation]) -> list[str]:
    """Return the area of each operation; an operation with several tags belongs to each of them."""
    tagged = [{name for tag in operation.tags if (name := _shortened(tag))} for operation in operations]
    names = {name for tags in tagged for name in tags}
    # A single tag for everything, or tags on a few operations, say less than the paths.
    if len(names) < 2 or sum(map(bool, tagged)) * 2 < len(operations):
        return _words([operation.path for operation in operations])
    untagged = [operation.path for operation, tags in zip(operations, tagged, strict=True) if not tags]
    group = _groups(names)
    return [*(area for tags in tagged for area in {group[name] for name in tags}), *_words(untagged)]


def _shortened(tag: str) -> str:
    name = " ".join(tag.split())
    return name if len(name) <= LONGEST_AREA else name[: LONGEST_AREA - 1] + "…"


def _groups(names: Iterable[str]) -> dict[str, str]:
    """Map each tag to its area: the part before a dot, slash or dash if the tags are many and share such parts."""
    heads = {name: re.split(r"\s*[./>:]\s*|\s+-\s+", name, maxsplit=1)[0] or name for name in names}
    is_shared = len(heads) > MOST_AREAS and len(set(heads.values())) * 2 <= len(heads)
    return heads if is_shared else {name: name for name in heads}


def _words(paths: Sequence[str]) -> list[str]:
    """Return for each path its first word after the segments that most paths share."""
    whole = [_without_prefix(_segments(path)) for path in paths]
    words = (_word(rest) or _word(segments) for rest, segments in zip(_without_shared(whole), whole, strict=True))
    return [_shortened(word) for word in words if word]


def _word(segments: Sequence[str]) -> str:
    return next((segment for segment in segments if segment != _VARIABLE), "")


def _segments(path: str) -> list[str]:
    """Return the segments of a path as words: a variable as `{}`, `chat.post` as `chat`, `items({id})` as `items`."""
    found = []
    for segment in path.split("/", SEGMENTS_MOST)[:SEGMENTS_MOST]:
        if segment.startswith("{"):
            found.append(_VARIABLE)
        elif _PREFIX.fullmatch(segment):
            found.append(segment)
        elif word := re.split(r"[.({:?]", segment.lstrip(".$"), maxsplit=1)[0]:
            found.append(word.replace("_", " ").replace("-", " "))
    return found


def _without_prefix(segments: list[str]) -> list[str]:
    """Drop leading segments such as `api` and `v1`, as long as a word follows."""
    start = 0
    while start < len(segments) - 1 and _PREFIX.fullmatch(segments[start]):
        start += 1
    return segments[start:]


def _without_shared(split: Sequence[list[str]]) -> list[list[str]]:
    """Drop the leading segments that nearly all paths share, if different words follow them."""
    prefix: list[str] = []
    sharing = list(split)
    while nexts := Counter(segments[len(prefix)] for segments in sharing if len(segments) > len(prefix)):
        segment, count = nexts.most_common(1)[0]
        if count < len(split) * SHARED:
            break
        prefix.append(segment)
        sharing = [segments for segments in sharing if segments[: len(prefix)] == prefix]
    depth = len(prefix)
    following = {_word(segments[depth:]) for segments in sharing} - {""}
    if len(following) < 2:
        return list(split)
    return [segments[depth:] if segments[:depth] == prefix else segments for segments in split]
