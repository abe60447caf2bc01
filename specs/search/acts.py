"""What a text says is done: a verb, and what it acts on. "Rename the folder of Ana" renames a folder.

A query and the operations of an API are read alike, so that an operation is found by what it does, not by its words
alone. The rules are about English and hold for every API.
"""

from collections.abc import Collection
from typing import NamedTuple

from restgpt.specs.search.stemmer import STOP_STEMS, stem, stems, words
from restgpt.specs.search.synonyms import phrases_in

# How many characters of a text are read.
LONGEST = 300
# How many words may stand between the two of a phrase.
BETWEEN = 5
# Words before the verb, as in `could you please`, but not the verbs among the stop words.
OPENINGS = STOP_STEMS.union(stems("i d")) - set(stems("give tell show find get list let make"))
# What is acted on is named before one of these words.
LINKS = frozenset(words("of from to in on onto into for with by at about between as under after before without that"))
# The verbs of an act by a method: on a path, and in the words of a document.
SAID = {
    "POST": ("POST", stem("create")),
    "PUT": ("PUT", stem("update")),
    "PATCH": ("PATCH", stem("update")),
    "DELETE": ("DELETE", stem("delete")),
}


class Act(NamedTuple):
    """The stem of a verb, a phrase or a method, and the stem of what it acts on; each may be empty."""

    verb: str
    noun: str


def act_of(text: str, names: Collection[str] = ()) -> Act:
    """Read the verb that an order begins with, and the last word before a preposition that is none of the names."""
    found = words(text[:LONGEST])
    while found and stem(found[0]) in OPENINGS:
        del found[0]
    own = [stem(word) for word in found]
    verb, places = "".join(own[:1]), {0}
    for phrase, first, last in phrases_in(own, BETWEEN):
        if first == 0:
            verb, places = phrase, {first, last}
    nouns: list[str] = []
    for place, word in enumerate(found):
        if word in LINKS and nouns:
            break
        if place not in places and own[place] not in STOP_STEMS:
            nouns.append("" if word in names or word.isdigit() else own[place])
    return Act(verb, next(filter(None, reversed(nouns)), ""))


def acts_of(method: str, path: str, name: str, summary: str) -> tuple[Act, ...]:
    """Return what an operation does by its operationId, by its summary, and, if it is a change, by its path.

    `POST /pages/{id}/move` creates a move or moves a page; a POST on an item changes it.
    """
    acts = [act_of(name), act_of(summary)]
    segments = [part for part in path.partition("#")[0].split("/") if part]
    fixed = [own for part in segments if "{" not in part and (own := stems(part))]
    if fixed and method in SAID:
        acts.append(Act("PUT" if method == "POST" and "{" in segments[-1] else method, fixed[-1][-1]))
        acts.append(Act(fixed[-1][0], fixed[-1][-1] if len(fixed[-1]) > 1 else fixed[-2][-1] if fixed[1:] else ""))
    return tuple(dict.fromkeys(act for act in acts if act.verb))
