"""The stemmer: words of prose, paths and identifiers, without their English endings.

Everyday English by which plain instructions meet the words of documents: one list, `synonyms.txt`.

A line without a colon lists words that people use for one another. Other lines list phrases, which are two words with
others between, and behind the colon the words that mean the same, and methods that these words do not ask for. A line
that begins with a method lists the verbs that ask for it. The list is general English: it has no names of products,
and no word because one document has it.

What a text says is done: a verb, and what it acts on. "Rename the folder of Ana" renames a folder.

A query and the operations of an API are read alike, so that an operation is found by what it does, not by its words
alone. The rules are about English and hold for every API.

The words of a query: its terms by clause, the methods that its verbs ask for, and signs of people and names.

The rules are about English and hold for every API.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

WORD = re.compile(r"[A-Za-z]+|\d+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
POSSESSIVE = re.compile(r"['’]s\b")
SUFFIXES = (
    *("ations", "ation", "ities", "ments", "ings", "ions", "ment", "ing", "ity", "ion", "ers", "ors", "ies", "ied"),
    *("er", "or", "ed", "es", "ly", "s", "e", "y"),
)
# The shortest rest that an ending may leave: player does not become play, nor number numb; director becomes direct.
SHORTEST = {"er": 5, "ers": 5, "or": 5, "ors": 5}
WHOLE_WORDS = frozenset({"news"})

STOP_WORDS = """
a an the of in on at to for from by with and or is are was were be been am do does did can could would should will
shall may might must has have had having it its this that these those there their them they he she his her him as into
about than then so if not no up out over under please some any all each every most more less many much very just also
only you your we our us what which who whom whose when where why how give tell show find get list want need let make
know like me
"""


def words(text: str) -> list[str]:
    """Split prose, paths and identifiers into lower-case words and numbers; `camelCase` is split too."""
    return [word.lower() for word in WORD.findall(CAMEL.sub(" ", POSSESSIVE.sub("", text)))]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a word in lower case without its English ending: movies and movie, directed and director have one stem."""
    word = word.lower()
    if len(word) <= 3 or word in WHOLE_WORDS:
        return word
    for suffix in SUFFIXES:
        rest = word[: -len(suffix)]
        if not word.endswith(suffix) or len(rest) < SHORTEST.get(suffix, 3) or (suffix == "s" and rest.endswith("s")):
            continue
        if suffix in ("ies", "ied", "y"):
            return word if rest[-1] in "aeou" else rest + "i"
        if suffix in ("ity", "ities"):
            return rest
        return rest[:-1] if len(rest) > 3 and rest[-1] == rest[-2] and rest[-1] not in "ls" else rest
    return word


@lru_cache(maxsize=1 << 15)
def stems(text: str) -> tuple[str, ...]:
    """Return the stems of the words of a text, in order."""
    return tuple(stem(word) for word in words(text))


STOP_STEMS = frozenset(stems(STOP_WORDS))


@cache
def synonyms() -> Mapping[str, frozenset[str]]:
    """Map the stem of a word, or a phrase, to the stems of the words and the phrases that people use for it."""
    found: dict[str, set[str]] = defaultdict(set)
    for line, colon, _ in _lines():
        group = set(() if colon else stems(line))
        for one in group:
            found[one] |= group - {one}
    for phrase, meaning in phrases().items():
        found[phrase] |= meaning.stems
        for one in meaning.stems:
            found[one].add(phrase)
    return {one: frozenset(others) for one, others in found.items()}


@cache
def opposites() -> Mapping[str, str]:
    """Map the stem of a word for a truth value to the words for it and its opposite."""
    return {one: line for head, _, line in _lines() if head == "opposites" for one in stems(line)}


@cache
def methods_by_verb() -> Mapping[str, frozenset[str]]:
    """Map each verb to the changing methods that it asks for."""
    found: dict[str, set[str]] = defaultdict(set)
    for method, _, verbs in _lines():
        for verb in words(verbs) if method.isupper() else ():
            found[verb].add(method)
    return {verb: frozenset(methods) for verb, methods in found.items()}


class Meaning(NamedTuple):
    """What a phrase means: the stems and phrases that mean the same, and the methods that it asks for."""

    stems: frozenset[str]
    methods: frozenset[str]


@cache
def phrases() -> Mapping[str, Meaning]:
    """Map each phrase, as two stems with a space, to its meaning."""
    found: dict[str, Meaning] = {}
    for verbs, colon, meaning in _lines():
        own = [" ".join(stems(verb)) for verb in verbs.split(",") if colon and verb.islower() and verb != "opposites"]
        same = [word for word in meaning.split() if word.islower()]
        methods = frozenset(meaning.split()).difference(same).union(*(methods_by_verb().get(word, ()) for word in same))
        found.update({verb: Meaning(frozenset({*own, *map(stem, same)} - {verb}), methods) for verb in own})
    return found


def phrases_in(found: Sequence[str], between: int = 0) -> Iterator[tuple[str, int, int]]:
    """Yield the phrases of a sequence of stems, with the places of both stems and at most some others between them."""
    for first, verb in enumerate(found):
        for last in range(first + 1, min(first + 2 + between, len(found))):
            if (phrase := f"{verb} {found[last]}") in phrases():
                yield phrase, first, last
                break


@cache
def _lines() -> list[tuple[str, str, str]]:
    """Return what is before the colon of each line, the colon, and what is behind it."""
    text = files("restgpt.specs.search").joinpath("synonyms.txt").read_text(encoding="utf-8")
    return [line.partition(":") for line in text.splitlines()]


# How many characters of a text are read.
LONGEST_WORD = 300
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
    found = words(text[:LONGEST_WORD])
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


# First-person words name the resource of the user who is signed in, which documents call `me`; "show me" does not.
SELF = frozenset({"my", "i", "mine", "myself"})
PEOPLE = """
person people user member author owner staff crew cast team contact customer employee colleague participant artist
client creator developer doctor driver editor guest manager passenger patient student teacher worker writer
who whose whom
"""
# Nouns in -or, -er or -ist name a person (director, owner, artist), except those in `EXCEPTIONS`.
AGENT = re.compile(r"[a-z]{3,}(?:ors?|ers?|ists?)\Z")
EXCEPTIONS = """
after other over under never ever number numbers order orders offer offers paper letter letters weather summer
winter water another together however her later poster posters cover covers filter filters folder folders header
headers computer computers server servers master chapter chapters power tower river remember november december
october september center error errors color colors before for their earlier higher lower longer shorter larger
smaller older younger newer better theater theaters player players playlist playlists list lists
"""
QUOTATION = re.compile(r"“[^”]*”|‘[^’]*’|\"[^\"]*\"|(?<!\w)'[^']*'(?!\w)")
CLAUSE = re.compile(r"([.;:!?,](?=\s|$)|\s(?:and|then|but|so|which|who|that|after|before|where)\s)")
SENTENCE_ENDS = frozenset(".!?:")
# How many characters of a query are read.
LONGEST = 4000
# Clauses are not split inside a quotation.
INNER = str.maketrans(".;:!?, ", "\x00" * 7)
SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]?")
# The beginnings of sentences that ask or want to see something.
READING = re.compile(
    r"(?i)\W*(?:(?:please|hi|hello|hey|and|so|then|also|now|in \S+|for \S+|could you|can you|would you)\W+)*"
    r"(?:wh(?:o|om|ose|at|ich|en|ere|y)|how|is|are|was|were|do|does|did|has|have|had|can|could|will|would|should"
    r"|show|list|find|search|look|get|give me|tell|display|fetch|retrieve|read|count|check|compare|see|view|name me"
    r"|summari[sz]e|describe|explain|export|download|i (?:want|need|would like|['’]d like) to (?:know|see|find|get)"
    r"|i (?:need|want|wonder|forgot)|recommend|suggest|help me find|let me (?:know|see)|break down)\b"
)
NAME = re.compile(r"^\W*[A-Z][^A-Z]*$")
# Words that hold a digit or a sign inside are values, such as INV-0412, name@host, notes.txt or owner/name.
VALUE = re.compile(r"\d|\w[/@_.:]\w|^[#@$€£]")
# Words of instructions that do not describe an operation, besides the stop words of documents.
IDLE = frozenset(
    stems("""
right now still anyone someone everyone everything anything nothing whatever since till between one two three thing
things way go going went ago today yesterday tomorrow tonight monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december haven hasn isn aren don doesn didn
won let lets else ever never yet again back
""")
)
# Words of sentences that ask or tell somebody, rather than name what to look for.
TALK = frozenset(words("who whom whose what when where which why how is are was were do does did has have had me i"))
# How many stems a bare query has at most.
BARE = 3
# A verb names the method already, so it weighs less as a word.
VERB_WEIGHT = 0.7
# Verbs that say little without their object, as in `take a snapshot`; the two words of a phrase weigh as much.
LIGHT, LIGHT_WEIGHT = frozenset(stems("take put")), 0.4
QUOTED_WEIGHT, NAME_WEIGHT, VALUE_WEIGHT = 0.2, 0.5, 0.2
BY_SOMEBODY = re.compile(r"\b(?:by|with) [A-Z]|[A-Z]\w+['’]s ")
# A verb after one of these words states a fact and asks for nothing.
NOT_ASKING = frozenset(
    words("is are was were be been being s ve re have has had i we they he she it did does got not t")
)
NOT_AGENTS = frozenset(words(EXCEPTIONS))
PEOPLE_STEMS = frozenset(stems(PEOPLE))


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a query: its stems, the changing methods that its verbs ask for, and what it orders."""

    stems: frozenset[str]
    methods: frozenset[str]
    act: Act


@dataclass(frozen=True, slots=True)
class Query:
    """A query: the weight of each stem, its clauses, and signs of what it is.

    It may mention a person or a name, or seek a change. It is bare if it is a verb with nouns, as in `book a seat`.
    """

    weights: dict[str, float]
    clauses: tuple[Clause, ...]
    is_about_person: bool
    is_named: bool
    seeks_change: bool
    is_bare: bool


def read_query(text: str) -> Query:
    """Read a query: its clauses, and its stems without stop words; quoted words and proper names weigh less."""
    weights: dict[str, float] = {}
    clauses = []
    text = text[:LONGEST]
    pieces = CLAUSE.split(QUOTATION.sub(lambda match: match.group().translate(INNER), text))
    for before, part in zip([".", *pieces[1::2]], pieces[::2], strict=True):
        found = dict(_weighed(part, starts_sentence=before in SENTENCE_ENDS))
        for one, weight in found.items():
            weights[one] = max(weight, weights.get(one, 0.0))
        own = frozenset(one for one, weight in found.items() if weight > NAME_WEIGHT)
        if own:
            plain = QUOTATION.sub(" ", part)
            values = [word for word in plain.split()[1:] if NAME.search(word) or VALUE.search(word)]
            clauses.append(Clause(own, asked_methods(plain), act_of(plain, words(" ".join(values)))))
    is_bare = len(clauses) < 2 and len(weights) <= BARE and not is_sentence(text)
    is_named = mentions_name(text)
    return Query(weights, tuple(clauses), mentions_person(text), is_named, seeks_change(text), is_bare)


def _weighed(clause: str, *, starts_sentence: bool) -> Iterator[tuple[str, float]]:
    """Yield the stems of a clause with their weights; a capital letter marks a name unless it starts the sentence."""
    for part in QUOTATION.findall(clause):
        yield from ((one, QUOTED_WEIGHT) for one in stems(part) if one not in STOP_STEMS)
    plain = QUOTATION.sub(" ", clause)
    # A verb that tells what was done, as in `who logged in`, keeps its weight beside the phrase.
    light = set(LIGHT)
    for phrase, *places in phrases_in(stems(plain), BETWEEN):
        light |= {stems(plain)[place] for place in places if not words(plain)[place].endswith("ed")}
        yield phrase, VERB_WEIGHT
    for position, word in enumerate(plain.split()):
        is_name = NAME.search(word) and (position or not starts_sentence)
        weight = VALUE_WEIGHT if VALUE.search(word) else NAME_WEIGHT if is_name else 1.0
        for one in words(word):
            if one in SELF:
                yield "me", 0.5
            elif stem(one) not in STOP_STEMS | IDLE and not one.isdigit():
                verb = LIGHT_WEIGHT if stem(one) in light else VERB_WEIGHT if one in methods_by_verb() else 1.0
                yield stem(one), weight * verb


def asked_methods(text: str) -> frozenset[str]:
    """Return the changing methods that a query asks for, by its verbs in the imperative (not `playing` or `saved`)."""
    found = words(text)
    asks = [before not in NOT_ASKING for before in ["", *found[:-1]]]
    asked = [phrases()[phrase] for phrase, first, _ in phrases_in(stems(text), BETWEEN) if asks[first]]
    methods = [meaning.methods for meaning in asked]
    methods += [methods_by_verb().get(word, frozenset()) for word, asks_it in zip(found, asks, strict=True) if asks_it]
    return frozenset().union(*methods)


def is_sentence(text: str) -> bool:
    """Tell whether a query asks, tells somebody or names something by a capital letter, besides naming an operation."""
    named = any(word != word.lower() for word in text.split()[1:])
    return named or "?" in text or not TALK.isdisjoint(words(text))


def seeks_change(text: str) -> bool:
    """Tell whether a sentence of a query is no question and no wish to see something, but an order or a statement."""
    return any(
        not sentence.endswith("?") and not READING.match(sentence)
        for sentence in SENTENCE.findall(text)
        if words(sentence)
    )


def mentions_person(text: str) -> bool:
    """Tell whether a query mentions a person: by `who`, a noun like `director`, or a name after `by` or `with`."""
    plain = WORD.findall(text)
    return (
        any(stem(word.lower()) in PEOPLE_STEMS for word in plain)
        or any(AGENT.match(word) and word not in NOT_AGENTS for word in plain)
        or BY_SOMEBODY.search(text) is not None
    )


def mentions_name(text: str) -> bool:
    """Tell whether a query holds a proper name or a quotation, which needs a search operation to become an id."""
    later = text.split()[1:]
    named = any(word.strip("\"'(“‘")[:1].isupper() and not word.isupper() for word in later)
    return named or any(mark in text for mark in "\"'“‘")
