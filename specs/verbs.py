"""Verbs: decides by the English words of names and sentences whether a request reads or changes something."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


READS = _listed(
    """
    search query filter find list get retrieve lookup count paginate read browse aggregate autocomplete suggest show
    """
)
"""Verbs of requests that read."""

COMPUTES = _listed("check validate preview estimate calculate compare explain")
"""Verbs of requests that mostly only compute an answer; some keep it, so they need a second sign."""

CHANGES = _listed(
    """
    create delete remove destroy cancel send insert upsert modify purge erase revoke enable disable activate
    deactivate approve reject settle pay submit execute register unregister subscribe unsubscribe add edit save
    write append restore rename replace merge assign unassign attach detach invite publish unpublish acknowledge ack
    consume dequeue enqueue pop push clear flush wipe drop truncate kill terminate pause resume retry rotate reindex
    rebuild invalidate expire mark unmark increment decrement reserve update clean bump notify apply redeem void
    burn withdraw deposit drain evict migrate install uninstall reboot restart shutdown toggle unlock change cleanup
    authorize authenticate login logout generate provision configure adjust overwrite patch put persist rollback
    commit launch abort deny disconnect connect initiate begin finish complete confirm dispatch deliver forward
    redirect anonymize scrub poll touch mutate
    """
)
"""Verbs of requests that change something, at any place of a name."""

NOUNS_TOO = _listed(
    """
    run start order set post book charge transfer request issue schedule trigger import export upload download
    backup batch call message mail email comment like rate vote tag label report process track watch follow review
    log index build deploy release lock close open move copy sync reset refund purchase return exchange ship block
    ban stop claim grant archive store bill test use join leave fork star pin hide link unlink bind share stream
    play record capture sign sell buy bid trade tip dial invoice answer reply print scan crawl train refresh renew
    make turn switch
    """
)
"""Verbs of changes that are nouns too: they count only in the place of a verb."""

HARMLESS = _listed("sort rank group match")
"""Verbs that may follow a verb of reading: search and sort."""

RETURNS = "returns"
"""An operation that "returns" something answers with it; to "return" something is a change in a shop."""

CHECKS = frozenset({("check", "in"), ("check", "out"), ("check", "off")})

ISSUED = _listed(
    """
    token tokens login ticket lock lease code codes secret secrets credential credentials otp nonce session key keys
    next url urls link links password challenge captcha job
    """
)
"""Nouns of things that a request to get them creates or takes away."""

LANGUAGES = _listed("sql graphql cypher script statement mutation sparql influxql ksql gremlin")
"""Nouns of texts in a language that can change data too."""

PRONOUNS = frozenset({"them", "it"})
HARD_JOINTS = frozenset({"and", "n", "plus", "then", "afterwards"})
SOFT_JOINTS = frozenset({"or", "to", "also", "will", ","})
NOT_VERBS = _listed("the a an all its their other more")

WORD = re.compile(r"[A-Za-z]+|\d+|[,;&+]|[.:!](?=\s|$)")
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SIGNS = {"&": "and", "+": "and", ";": ",", ".": ",", ":": ",", "!": ","}
SUBJECTS = _listed("it this that which endpoint operation call request method api route action query search")
ADVICE = frozenset({"use", "return"})
"""Verbs of changes with which descriptions of reads begin too: use the operation to, return the list of."""

ARTICLES = frozenset({"a", "an", "the", "all", "each", "every", "your"})
IRREGULAR = {"sent": "send", "paid": "pay", "overwritten": "overwrite", "withdrawn": "withdraw", "written": "write"}
AUXILIARIES = _listed("will then also and automatically")


def tokens(text: str) -> list[str]:
    """Split names and sentences into lower-case words and marks; `camelCase` is split too."""
    return [SIGNS.get(word, word.lower()) for word in WORD.findall(CAMEL.sub(" ", text))]


def base(word: str) -> str:
    """Return the base form of a verb in the third person: deletes becomes delete, applies apply; others stay."""
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("shes", "ches", "sses", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def read_verb(found: Sequence[str]) -> str:
    """Return the verb of reading that a name or a sentence begins with, in its base form; else an empty string."""
    if not found:
        return ""
    if found[:2] == ["look", "up"]:
        return "lookup"
    verb = base(found[0]) if base(found[0]) in READS | COMPUTES else found[0]
    if verb == "list" and len(found) > 1 and not _names_several(found[1:6]):
        # To list one thing is to offer it for sale.
        return ""
    return verb if verb in READS | COMPUTES else ""


def _names_several(following: Sequence[str]) -> bool:
    return any(word in ("all", "of") or _is_plural(word) for word in following)


def _is_plural(word: str) -> bool:
    return len(word) > 2 and word.endswith("s") and not word.endswith("ss")


def says_change(found: Sequence[str]) -> bool:
    """Tell whether the words of a name or a summary describe a change, or a second act that is not a known read."""
    if not PRONOUNS.isdisjoint(found) or "then" in found or not CHANGES.isdisjoint(found):
        return True
    if any(pair in CHECKS for pair in pairwise(found)) or _issues(found):
        return True
    if any(_is_gerund(word, CHANGES) for word in found):
        return True
    if found and found[0] != RETURNS and base(found[0]) in CHANGES | NOUNS_TOO:
        return True
    is_third = bool(found) and found[0] != base(found[0])
    return any(_is_second_act(joint, word, found, is_third=is_third) for joint, word in _after_joints(found))


def _issues(found: Sequence[str]) -> bool:
    """Tell whether the words describe getting something that the request itself creates or takes away."""
    return bool(found) and base(found[0]) == "get" and not ISSUED.isdisjoint(found)


def _is_gerund(word: str, verbs: Collection[str]) -> bool:
    stem = word.removesuffix("ing")
    return stem != word and (stem in verbs or f"{stem}e" in verbs or (stem[-1:] == stem[-2:-1] and stem[:-1] in verbs))


def _after_joints(found: Sequence[str]) -> Iterator[tuple[str, str]]:
    for joint, word in pairwise(found):
        if joint in HARD_JOINTS or joint in SOFT_JOINTS:
            yield joint, word


def _is_second_act(joint: str, word: str, found: Sequence[str], *, is_third: bool) -> bool:
    """Tell whether the word after a joint may be a second verb, which is not known to read."""
    if word == RETURNS:
        return False
    if word in NOUNS_TOO or base(word) in CHANGES or (is_third and base(word) in NOUNS_TOO):
        return True
    if base(word) in READS | COMPUTES | HARMLESS or word in NOT_VERBS:
        return False
    is_hard = joint in HARD_JOINTS or (joint == "or" and "by" not in found)
    # After a verb in the third person, a word with an s may be another one.
    return is_hard and not (_is_plural(word) and not is_third)


def _is_adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly") and word not in CHANGES | NOUNS_TOO


def _participle_of(word: str) -> str:
    """Return the verb of CHANGES that a word is the past participle of; else an empty string."""
    stem = word.removesuffix("ed")
    stems = (word.removesuffix("d"), stem, stem[:-1], f"{stem.removesuffix('i')}y", IRREGULAR.get(word, ""))
    return next((item for item in stems if item in CHANGES and item != word), "")


def tells_change(text: str) -> bool:
    """Tell whether a description mentions a change that the request makes besides its read."""
    found = [word for word in tokens(f". {text}") if not _is_adverb(word)]
    if len(found) > 2 and found[1] in (CHANGES | NOUNS_TOO) - ADVICE and found[2] in ARTICLES:
        return True
    for before, word, after in zip(found, found[1:], found[2:], strict=False):
        is_third = before in SUBJECTS | {","} and word not in (RETURNS, base(word))
        if is_third and base(word) in NOUNS_TOO and after in ARTICLES:
            return True
        if (before, word) == ("will", "be") and _participle_of(after) in CHANGES:
            return True
    for before, word in pairwise(found):
        if before in SUBJECTS | {","} and word != base(word) and base(word) in CHANGES:
            return True
        if before in AUXILIARIES and base(word) in CHANGES:
            return True
    return "side effect" in text.lower() or "side-effect" in text.lower()
