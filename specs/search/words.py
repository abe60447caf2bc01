"""The words of instructions and of documents: split, stemmed, and the few that say more than their letters.

Nothing here knows an API. What it knows of English: which words carry no meaning, which verbs ask for which
method, and by which signs an instruction speaks of a person.
"""

import re
from functools import lru_cache

WORD = re.compile(r"[A-Za-z]+|\d+")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
POSSESSIVE = re.compile(r"['’]s\b")
SUFFIXES = (
    *("ations", "ation", "ities", "ments", "ings", "ions", "ment", "ing", "ity", "ion", "ers", "ors", "ies", "ied"),
    *("er", "or", "ed", "es", "ly", "s", "e", "y"),
)
# A player is not found by play, nor a number by numb; a director is by direct.
SHORTEST = {"er": 5, "ers": 5, "or": 5, "ors": 5}
WHOLE_WORDS = frozenset({"news"})

FILLERS = """
a an the of in on at to for from by with and or is are was were be been am do does did can could would should will
shall may might must has have had having it its this that these those there their them they he she his her him as into
about than then so if not no up out over under please some any all each every most more less many much very just also
only you your we our us what which who whom whose when where why how give tell show find get list want need let make
know like me
"""
# First-person words name the resource of whoever is signed in, which documents call me; the me of "show me" does not.
SELF = frozenset({"my", "i", "mine", "myself"})
VERBS = {
    "POST": """add append create make new post send start submit insert upload invite book order register publish
        generate queue skip next previous""",
    "PUT": """add append change rename update set edit modify turn replace save put follow enable disable switch mark
        move adjust increase decrease pause resume play like""",
    "PATCH": "change rename update set edit modify turn replace enable disable switch mark adjust",
    "DELETE": "remove delete cancel clear unfollow drop erase unsave unlike revoke destroy empty dislike",
}
PEOPLE = """
person people user member author owner staff crew cast team contact customer employee colleague participant artist
client creator developer doctor driver editor guest manager passenger patient student teacher worker writer
who whose whom
"""
# A noun in -or, -er or -ist names a person (director, owner, artist), these excepted.
AGENT = re.compile(r"[a-z]{3,}(?:ors?|ers?|ists?)\Z")
EXCEPTIONS = """
after other over under never ever number numbers order orders offer offers paper letter letters weather summer
winter water another together however her later poster posters cover covers filter filters folder folders header
headers computer computers server servers master chapter chapters power tower river remember november december
october september center error errors color colors before for their earlier higher lower longer shorter larger
smaller older younger newer better theater theaters player players playlist playlists list lists
"""
BY_SOMEBODY = re.compile(r"\b(?:by|with) [A-Z]|[A-Z]\w+['’]s ")


def words(text: str) -> list[str]:
    """Split prose, paths and identifiers in any case into lower-case words and numbers."""
    return [word.lower() for word in WORD.findall(CAMEL.sub(" ", POSSESSIVE.sub("", text)))]


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Cut English endings, so that movies and movie, directed and director meet; short words stay whole."""
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
    """Return the stemmed words of a text."""
    return tuple(stem(word) for word in words(text))


STOPPED = frozenset(stems(FILLERS))
NOT_AGENTS = frozenset(words(EXCEPTIONS))
METHODS_BY_VERB = {
    verb: frozenset(method for method, text in VERBS.items() if verb in words(text))
    for verb in {verb for text in VERBS.values() for verb in words(text)}
}
PEOPLE_STEMS = frozenset(stems(PEOPLE))


def query_terms(text: str) -> dict[str, float]:
    """Return the stems of an instruction that carry meaning, with their weight."""
    terms: dict[str, float] = {}
    for word in words(text):
        if word in SELF:
            terms.setdefault("me", 0.5)
        elif stem(word) not in STOPPED:
            terms[stem(word)] = 1.0
    return terms


def asked_methods(text: str) -> frozenset[str]:
    """Return the changing methods that an instruction asks for: its verbs in the imperative, not playing or saved."""
    return frozenset().union(*(METHODS_BY_VERB.get(word, frozenset()) for word in words(text)))


def speaks_of_people(text: str) -> bool:
    """Tell whether an instruction speaks of a person: by who, by a noun like director, or by somebody's name."""
    plain = WORD.findall(text)
    return (
        any(stem(word.lower()) in PEOPLE_STEMS for word in plain)
        or any(AGENT.match(word) and word not in NOT_AGENTS for word in plain)
        or BY_SOMEBODY.search(text) is not None
    )


def names_something(text: str) -> bool:
    """Tell whether an instruction holds a proper name or a quotation, which only a search can turn into an id."""
    later = text.split()[1:]
    named = any(word.strip("\"'(“‘")[:1].isupper() and not word.isupper() for word in later)
    return named or any(mark in text for mark in "\"'“‘")
