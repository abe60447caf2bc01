"""What a text says is done, as a verb and what it acts on: `Rename the folder` is (renam, folder)."""

from typing import NamedTuple

from restgpt.specs.search.stemmer import STOP_STEMS, stem, stems, words
from restgpt.specs.search.synonyms import phrases_in

LINKS = frozenset(words("of from to in on onto into for with by at about between as under after before without that"))
OPENINGS = frozenset(words("please can could would will you i we want need to like d let us me also just then and"))
# What stands before `of` in `a list of stations`.
MEASURES = frozenset(stems("list number set collection details copy"))
# The verb of a method on the last segment of a path.
METHODS = {"POST": "creat", "PUT": "updat", "PATCH": "updat", "DELETE": "delet"}


class Act(NamedTuple):
    """The stem of a verb, or a phrase, and the stem of what it acts on; either may be empty."""

    verb: str
    noun: str


def act_of(text: str, idle=frozenset()) -> Act:
    """Read the verb that a text begins with, and the last noun before a preposition."""
    found = words(text)
    while found and found[0] in OPENINGS:
        found = found[1:]
    found_stems = [stem(word) for word in found]
    verb, places = "".join(found_stems[:1]), {0}
    for phrase, first, last in phrases_in(found_stems, 5):
        if first == 0:
            verb, places = phrase, {first, last}
    noun = ""
    for place, word in enumerate(found):
        one = found_stems[place]
        if word in LINKS and noun and noun not in MEASURES:
            break
        if place not in places and one not in STOP_STEMS and not one.isdigit() and word not in idle:
            noun = one
    return Act(verb, noun)


def acts_of(method: str, path: str, name: str, summary: str) -> tuple[Act, ...]:
    """Return what an operation does: by its operationId, by its summary, and by its method and path."""
    acts = [act_of(name), act_of(summary)]
    parts = [part for part in path.partition("#")[0].split("/") if part]
    fixed = [part for part in parts if "{" not in part]
    last = stems(fixed[-1]) if fixed else ()
    above = stems(fixed[-2]) if len(fixed) > 1 else ()
    if last and method in METHODS:
        verb = "updat" if method == "POST" and parts[-1].startswith("{") else METHODS[method]
        acts.append(Act(verb, last[-1]))
        if method in ("POST", "PUT"):
            acts.append(Act(last[0], last[-1] if len(last) > 1 else above[-1] if above else ""))
    return tuple(dict.fromkeys(one for one in acts if one.verb))
