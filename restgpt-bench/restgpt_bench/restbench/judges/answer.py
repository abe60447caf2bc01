"""Judges answers in plain words: names, figures, dates, quotes, comparisons that a true answer must state."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import lru_cache
from itertools import permutations
from typing import Protocol

from restgpt_bench.restbench.judges.figures import counts, dates, long_date, numbers, plain_dates
from restgpt_bench.worlds.text import Text, normal

YES = frozenset({"yes", "yeah", "correct", "indeed", "true", "affirmative"})
NO = frozenset({"no", "not", "nope", "neither", "never", "false", "different", "incorrect", "cannot", "cant", "dont"})
NO |= {"isnt", "arent", "wasnt", "werent", "doesnt", "didnt", "none", "nor", "outside", "lacks", "absent"}
DENIALS = ("not", "never", "isnt", "wasnt", "arent", "doesnt", "didnt")
NOBODY = "Wendelin Quarrz"
WINNER, LOSER = "winner#", "loser#"
QUOTE_LENGTH = 25
SPARE = 3
"""An answer may mention this many other names of the same kind; more are a list of candidates."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a run was a success, and why in one line.

    `there` is set where the answer fails but holds the truth, for instance in a list of candidates without a choice.
    """

    ok: bool
    why: str
    there: bool = False

    def __bool__(self) -> bool:
        return self.ok

    @property
    def holds(self) -> bool:
        """Whether the answer holds the truth, whatever else it holds."""
        return self.ok or self.there


class Expectation(Protocol):
    """A condition that every true answer meets."""

    def judge(self, answer: str) -> Verdict:
        """Judge `answer`."""
        ...

    def right(self) -> str:
        """An answer that is true."""
        ...

    def wrong(self) -> str:
        """An answer of the same kind that is false."""
        ...


def mentions(answer: str, name: str, *, longer: Iterable[str] = ()) -> bool:
    """Whether `answer` names `name` as whole words, not only inside one of the `longer` names."""
    return name in mentioned(answer, (name, *longer))


def mentioned(answer: str, names: Iterable[str]) -> set[str]:
    """Which of `names` the answer mentions as whole words.

    A name inside a longer one of them does not count, nor does a denied one: "not Titanic".
    """
    text = f" {_with_denials(answer)} "
    found = set()
    for name in sorted(set(names), key=lambda name: -len(normal(name))):
        plain = f" {_with_denials(name)} "
        if not plain.strip() or plain not in text:
            continue
        text = text.replace(f" zznot{plain}", " / ").replace(f" zznot the{plain}", " / ")
        if plain in text:
            found.add(name)
            text = text.replace(plain, " / ")
    return found


@lru_cache(maxsize=50_000)
def _with_denials(text: str) -> str:
    return re.sub(rf"\b(?:{'|'.join(DENIALS)})\b(?: (?:by|in)\b)?", "zznot", normal(text))


def offers_choice(answer: str, right: str, other: str) -> bool:
    """Whether the answer says "right or other", or "right and other" without a pause, either way round."""
    pairs = "|".join(f"{first} {_OR} {second}" for first, second in permutations(map(_with_pauses, (right, other))))
    return re.search(rf" (?:{pairs}) ", f" {_with_pauses(answer)} ") is not None


@lru_cache(maxsize=50_000)
def _with_pauses(text: str) -> str:
    return normal(re.sub(r"[,;:.!?()]+", " zzpause ", text))


_OR = "(?:and|(?:zzpause )?(?:or|and or))(?: (?:maybe|perhaps|possibly|by|the))?"


def affirms(answer: str) -> bool:
    """Whether `answer` says yes; a statement without a word of denial counts as yes."""
    # "No. 5" is a place in a list, "no doubt" and "not only" deny nothing.
    for word in normal(re.sub(r"(?i)\bno\.\s*(?=\d)|\bno (?=doubt|question)|\bnot (?=only)", "", answer)).split():
        if word in YES:
            return True
        if word in NO:
            return False
    return bool(answer.strip())


@dataclass(frozen=True, slots=True)
class Names:
    """At least `least` of `names` (all if None) and none of `forbidden`; `longer` are names that contain one.

    `rivals` are the other names of the same kind: an answer may mention a few, but must choose.
    """

    names: tuple[str, ...]
    least: int | None = None
    forbidden: tuple[str, ...] = ()
    longer: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()

    def judge(self, answer: str) -> Verdict:
        """Count the names that the answer mentions."""
        present = mentioned(answer, (*self.names, *self.forbidden, *self.longer, *self.rivals))
        found = [name for name in self.names if name in present]
        bad = [name for name in self.forbidden if name in present]
        wanted = self._wanted()
        if bad:
            return Verdict(False, f"names {bad[0]}, which is wrong", there=0 < wanted <= len(found))
        if wanted == 0 or len(found) < wanted:
            return Verdict(False, f"names {len(found)} of {len(self.names)} ({wanted} needed): {', '.join(found)}")
        return self._commits(answer, found, [name for name in self.rivals if name in present])

    def _commits(self, answer: str, found: list[str], others: list[str]) -> Verdict:
        """Whether the answer decides for the names that it found, and does not list all candidates."""
        if len(others) > max(SPARE, len(found)):
            return Verdict(False, f"lists {len(others)} others beside {', '.join(found)}", there=True)
        if self.least is None:
            doubts = (name for name in (*others, NOBODY) if any(offers_choice(answer, right, name) for right in found))
            if (doubt := next(doubts, None)) is not None:
                return Verdict(False, f"does not decide between {', '.join(found)} and {doubt}", there=True)
        return Verdict(True, f"names {', '.join(found)}")

    def right(self) -> str:
        """The names in a row."""
        return ", ".join(self.names[: self._wanted()])

    def wrong(self) -> str:
        """Something forbidden, or a name that nobody bears."""
        return self.forbidden[0] if self.forbidden else NOBODY

    def _wanted(self) -> int:
        return len(self.names) if self.least is None else self.least


@dataclass(frozen=True, slots=True)
class Dates:
    """All of `days`."""

    days: tuple[date, ...]

    def judge(self, answer: str) -> Verdict:
        """Look for each date in any common form; a denied date does not count."""
        text = re.sub(r"\b(?:not|never)\s+(?:on\s+)?\d{4}-\d\d-\d\d", " ", plain_dates(answer))
        found = dates(text)
        missing = [str(day) for day in self.days if day not in found]
        if missing:
            return Verdict(False, f"does not say {missing[0]}")
        others = found.difference(self.days)
        if len(others) > max(SPARE, len(self.days)):
            return Verdict(False, f"lists {len(others)} other dates", there=True)
        for choice in re.finditer(r"(\d{4}-\d\d-\d\d),?\s+or\s+(?:on\s+)?(?=(\d{4}-\d\d-\d\d))", text):
            if {date.fromisoformat(day) for day in choice.groups()} & others:
                return Verdict(False, f"does not decide between {choice[1]} and {choice[2]}", there=True)
        return Verdict(True, "says each date")

    def right(self) -> str:
        """The dates in long form."""
        return " and ".join(long_date(day) for day in self.days)

    def wrong(self) -> str:
        """Each date a good year later."""
        return " and ".join(long_date(day + timedelta(days=400)) for day in self.days)


@dataclass(frozen=True, slots=True)
class Number:
    """The number `value`."""

    value: float

    def judge(self, answer: str) -> Verdict:
        """Look for the number among those that the answer states."""
        return Verdict(self.value in counts(answer), f"{self.value:g} wanted", there=self.value in numbers(answer))

    def right(self) -> str:
        """The number in digits."""
        return f"{self.value:g}"

    def wrong(self) -> str:
        """A number that is a little greater."""
        return f"{self.value + 3:g}"


_NOT_KNOWN = re.compile(
    r"\b(do not|dont|does not|could not|couldnt|cannot|cant|can not|unable to|not able to) "
    r"(know|tell|say|find|determine|answer|confirm)\b"
    r"|^(yes|no) (or |and |and or )?(yes|no)\b(?! doubt| question)"
)
_OPEN = re.compile(r"\b(not sure|not certain|unsure|uncertain|unclear|unknown|maybe|perhaps|possibly|no information)\b")
_STATES = re.compile(
    r"\b(is|are|was|were|does|do|did|has|have|had|isnt|arent|doesnt|directed|ranks|ranked|listed|includes?|included"
    r"|appears?|(co )?stars?|(co )?starred|plays?|shares?|lacks)\b"
)


@dataclass(frozen=True, slots=True)
class YesNo:
    """Yes or no, with `names` mentioned."""

    yes: bool
    names: tuple[str, ...] = ()

    def judge(self, answer: str) -> Verdict:
        """Read yes or no from the answer; "I do not know" is neither."""
        plain = normal(answer)
        plainly = plain.partition(" ")[0] in YES | NO
        if _NOT_KNOWN.search(plain) or not (plainly or (_STATES.search(plain) and not _OPEN.search(plain))):
            return Verdict(False, "does not commit itself")
        if affirms(answer) != self.yes:
            return Verdict(False, f"should say {'yes' if self.yes else 'no'}")
        return Names(self.names).judge(answer) if self.names else Verdict(True, "says so")

    def right(self) -> str:
        """The word and the names."""
        return ". ".join(("Yes" if self.yes else "No", ", ".join(self.names))).strip(" .") + "."

    def wrong(self) -> str:
        """The other word."""
        return ". ".join(("No" if self.yes else "Yes", ", ".join(self.names))).strip(" .") + "."


@dataclass(frozen=True, slots=True)
class Prefers:
    """The claim that `winner` is `more` than `loser`: `more` and `less` are comparatives, `phrase` is for samples."""

    winner: str
    loser: str
    more: tuple[str, ...]
    less: tuple[str, ...]
    phrase: str = ""

    def judge(self, answer: str) -> Verdict:
        """Read which name each comparing clause puts ahead; the clauses must agree."""
        claims = [claim for clause in self._clauses(answer) if (claim := self._claim(clause)) is not None]
        if claims:
            return Verdict(all(claims), f"claims {self.winner if all(claims) else self.loser}")
        named = {word for clause in self._clauses(answer) for word in clause if word in (WINNER, LOSER)}
        spoken = {WINNER: self.winner, LOSER: self.loser}
        said = " and ".join(sorted(spoken[mark] for mark in named)) or "neither"
        return Verdict(named == {WINNER}, f"names {said} without comparing")

    def right(self) -> str:
        """The plain comparison."""
        return f"{self.winner} {self.phrase or 'is ' + self.more[0]} than {self.loser}."

    def wrong(self) -> str:
        """The comparison turned round."""
        return f"{self.loser} {self.phrase or 'is ' + self.more[0]} than {self.winner}."

    def _clauses(self, answer: str) -> list[list[str]]:
        """The words of each clause, the names as marks and commas as words of their own."""
        text = re.sub(r"[,:(]", " zzpause ", re.sub(r"[.;!?]+(?=[^0-9]|$)", " zzstop ", answer))
        text = f" {normal(text)} "
        marks = [(normal(self.winner), WINNER), (normal(self.loser), LOSER)]
        # The longer name first, so that a title inside another is not taken for itself.
        for name, mark in sorted(marks, key=lambda pair: -len(pair[0])):
            words = " (?:zz\\w+ )?".join(map(re.escape, name.split()))
            text = re.sub(rf"(?<= ){words}s?(?= )", mark, text)
        return [clause.split() for clause in re.split(r" (?:zzstop|while|whereas|but|and) ", text)]

    def _claim(self, clause: list[str]) -> bool | None:
        """Whether the clause puts the winner ahead; None if it does not compare."""
        position = next((index for index, word in enumerate(clause) if word in (*self.more, *self.less)), None)
        if position is None:
            return None
        subject = _subject(clause, position)
        if subject is None:
            return None
        ahead = (subject == WINNER) == (clause[position] in self.more)
        return ahead != any(word in DENIALS for word in clause[_pause(clause, position) : position])


def _pause(clause: list[str], position: int) -> int:
    """The index at which the part of the clause that holds `position` begins."""
    return max((index for index in range(position) if clause[index] == "zzpause"), default=0)


def _subject(clause: list[str], position: int) -> str | None:
    """The mark that the comparative at `position` is about; None if it is about neither."""
    marks = [word for word in clause if word in (WINNER, LOSER)]
    if not marks:
        return None
    other = {WINNER: LOSER, LOSER: WINNER}
    if "than" in clause[position:]:
        compared = [word for word in clause[clause.index("than", position) :] if word in marks]
        if compared:
            return other[compared[0]]
    if "latter" in clause:
        return other[marks[0]]
    # The nearest name since the last pause, or else the first of the clause.
    near = [word for word in clause[_pause(clause, position) : position] if word in marks]
    return near[-1] if near else marks[0]


@dataclass(frozen=True, slots=True)
class Quotes:
    """One of `texts`: its author, its address or 25 characters of it in a row; and none of `others`.

    A passage that one of `others` contains as well does not identify a text.
    """

    texts: tuple[Text, ...]
    others: tuple[Text, ...] = ()

    def judge(self, answer: str) -> Verdict:
        """Look for author, address or passage of any text, and of the others."""
        plain = normal(answer)
        authors = {text.author for text in self.texts}
        strays = [text for text in self.others if text.url in answer or normal(text.content) in plain]
        named = {text.author for text in self.others if text.author not in authors and normal(text.author) in plain}
        marked = [text.author for text in self.texts if self._is_marked(text, answer)]
        if strays or len(named) > SPARE:
            who = strays[0].author if strays else min(named)
            return Verdict(False, f"quotes {who}, who speaks of something else", there=bool(marked))
        return Verdict(bool(marked), f"quotes {marked[0] if marked else f'none of {len(self.texts)} texts'}")

    def _is_marked(self, text: Text, answer: str) -> bool:
        if mentions(answer, text.author) or text.url in answer:
            return True
        return self._shares_passage(normal(answer), normal(text.content))

    def _shares_passage(self, answer: str, content: str) -> bool:
        """Whether a passage of the content is in the answer that is in no other text."""
        passages = set(_passages(answer, content))
        return any(not any(passage in normal(other.content) for other in self.others) for passage in passages)

    def right(self) -> str:
        """The first text with its author."""
        return f"{self.texts[0].content} ({self.texts[0].author})"

    def wrong(self) -> str:
        """Invented praise."""
        return f"It is a wonderful thing, says {NOBODY}."


def _passages(answer: str, content: str) -> Iterator[str]:
    """The longest passages of 25 characters and more, from each place of the content, that the answer holds."""
    for start in range(max(1, len(content) - QUOTE_LENGTH + 1)):
        end = start + QUOTE_LENGTH
        if content[start:end] in answer:
            while end < len(content) and content[start : end + 1] in answer:
                end += 1
            yield content[start:end]


_FILE = re.compile(r"/\w{15,}\.(?:jpg|png|svg)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pictures:
    """The path of at least one of `paths`, and of no other image."""

    paths: tuple[str, ...]

    def judge(self, answer: str) -> Verdict:
        """Look for image paths, on their own or as the end of an address."""
        right = {path.casefold() for path in self.paths}
        found = [path.casefold() for path in _FILE.findall(answer)]
        strays = [path for path in found if path not in right]
        if strays or not found:
            why = f"shows {strays[0]}, which is another image" if strays else "shows no image"
            return Verdict(False, why, there=len(strays) < len(found))
        return Verdict(True, f"shows {found[0]}")

    def right(self) -> str:
        """The first path."""
        return self.paths[0]

    def wrong(self) -> str:
        """The first path turned round."""
        name, _, kind = self.paths[0].removeprefix("/").partition(".")
        return f"/{name[::-1]}.{kind}"


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of `parts`."""

    parts: tuple[Expectation, ...]

    def judge(self, answer: str) -> Verdict:
        """The first part that fails decides."""
        verdicts = [part.judge(answer) for part in self.parts]
        failed = next((verdict for verdict in verdicts if not verdict), verdicts[-1])
        return replace(failed, there=all(verdict.holds for verdict in verdicts))

    def right(self) -> str:
        """All parts, in sentences."""
        return " ".join(part.right() for part in self.parts)

    def wrong(self) -> str:
        """The first part false, the others true."""
        return " ".join((self.parts[0].wrong(), *(part.right() for part in self.parts[1:])))


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of `parts`."""

    parts: tuple[Expectation, ...]

    def judge(self, answer: str) -> Verdict:
        """The first part that holds decides."""
        verdicts = [part.judge(answer) for part in self.parts]
        held = next((verdict for verdict in verdicts if verdict), verdicts[-1])
        return replace(held, there=any(verdict.holds for verdict in verdicts))

    def right(self) -> str:
        """The first part."""
        return self.parts[0].right()

    def wrong(self) -> str:
        """All parts false."""
        return self.parts[0].wrong()
