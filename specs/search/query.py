"""The words of a query: its terms by clause, the methods that its verbs ask for, and signs of people and names.

The rules are about English and hold for every API.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from restgpt.specs.search.words import (
    BETWEEN,
    STOP_STEMS,
    WORD,
    Act,
    act_of,
    methods_by_verb,
    phrases,
    phrases_in,
    stem,
    stems,
    words,
)

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
