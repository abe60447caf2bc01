"""The words of a query: its terms, the methods that its verbs ask for, and whether it mentions people or names.

The rules are about English and hold for every API.
"""

import re

from restgpt.specs.search.stemmer import STOP_STEMS, WORD, stem, stems, words

# First-person words name the resource of the user who is signed in, which documents call `me`; "show me" does not.
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
# Nouns in -or, -er or -ist name a person (director, owner, artist), except those in `EXCEPTIONS`.
AGENT = re.compile(r"[a-z]{3,}(?:ors?|ers?|ists?)\Z")
EXCEPTIONS = """
after other over under never ever number numbers order orders offer offers paper letter letters weather summer
winter water another together however her later poster posters cover covers filter filters folder folders header
headers computer computers server servers master chapter chapters power tower river remember november december
october september center error errors color colors before for their earlier higher lower longer shorter larger
smaller older younger newer better theater theaters player players playlist playlists list lists
"""
BY_SOMEBODY = re.compile(r"\b(?:by|with) [A-Z]|[A-Z]\w+['’]s ")


NOT_AGENTS = frozenset(words(EXCEPTIONS))
METHODS_BY_VERB = {
    verb: frozenset(method for method, text in VERBS.items() if verb in words(text))
    for verb in {verb for text in VERBS.values() for verb in words(text)}
}
PEOPLE_STEMS = frozenset(stems(PEOPLE))


def query_terms(text: str) -> dict[str, float]:
    """Return the stems of a query without stop words, each with its weight."""
    terms: dict[str, float] = {}
    for word in words(text):
        if word in SELF:
            terms.setdefault("me", 0.5)
        elif stem(word) not in STOP_STEMS:
            terms[stem(word)] = 1.0
    return terms


def asked_methods(text: str) -> frozenset[str]:
    """Return the changing methods that a query asks for, by its verbs in the imperative (not `playing` or `saved`)."""
    return frozenset().union(*(METHODS_BY_VERB.get(word, frozenset()) for word in words(text)))


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
