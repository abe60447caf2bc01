"""Which passages state a rule of an API's owner: they limit or oblige the users of the API."""

import re

from restgpt.specs.docs.words.prose import Passage
from restgpt.specs.docs.words.rule_words import RULE, SIGN_IN

_RULED = re.compile(
    r"\b(?:rules?|polic(?:y|ies)|restrictions?|limits?|limitations?|constraints?|conditions?|terms|warning|important"
    r"|regeln|règles|reglas|regole|regras)\b",
    re.IGNORECASE,
)
_SETUP = re.compile(
    r"\b(?:change ?logs?|release notes|what.?s new|version history|sdks?|(?:client|code) librar\w+|install\w*"
    r"|quick ?start|getting started|cors|cross.origin\w*|errors?(?: codes?| handling| responses?)?"
    r"|(?:http )?status codes?|(?:request |response )?headers?|rate.?limit\w*|curl\w*|versioning)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:authenticat\w*|authori[sz]\w*|o?auth2?|api keys?|credentials|support|contact|community|licen[sc]e"
    r"|useful links|about (?:us|swagger)|acknowledge?ments?)\b",
    re.IGNORECASE,
)


def is_rule(passage: Passage) -> bool:
    """Return whether a passage limits or obliges; passages about sign-in, installation and changes do not count."""
    if _SETUP.search(passage.heading) or SIGN_IN.search(passage.text):
        return False
    return bool(RULE.search(passage.text)) or names_rules(passage.heading)


def names_rules(text: str) -> bool:
    """Return whether a text is about rules, as the heading of a section or the words of somebody who asks for them."""
    return bool(_RULED.search(text))


def is_aside(passage: Passage) -> bool:
    """Return whether a passage says nothing about what the API does."""
    return any(mark.search(passage.heading) for mark in (_SETUP, _ASIDE)) or bool(SIGN_IN.search(passage.text))
