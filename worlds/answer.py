"""Does an answer in plain words say what is true? Matching of names, numbers, dates, quotes and comparisons."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Protocol

MONTHS: tuple[str, ...] = ("january", "february", "march", "april", "may", "june")
MONTHS += ("july", "august", "september", "october", "november", "december")
UNITS: tuple[str, ...] = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)
UNITS += ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# Letters that Unicode does not decompose into a base letter and a mark.
LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ð": "d", "þ": "th"})
YES = frozenset({"yes", "yeah", "correct", "indeed", "true", "affirmative"})
NO = frozenset({"no", "not", "nope", "neither", "never", "false", "different", "incorrect", "cannot", "cant", "dont"})
NO |= {"isnt", "arent", "wasnt", "werent", "doesnt", "didnt"}
NOBODY = "Wendelin Quarrz"
WINNER, LOSER = "winner#", "loser#"
QUOTE_LENGTH = 25


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a run was a success, and why in one line."""

    ok: bool
    why: str

    def __bool__(self) -> bool:
        return self.ok


class Expectation(Protocol):
    """What a true answer must say."""

    def judge(self, answer: str) -> Verdict:
        """Whether `answer` says it."""
        ...

    def right(self) -> str:
        """An answer that is true."""
        ...

    def wrong(self) -> str:
        """An answer of the same kind that is false."""
        ...


@lru_cache(maxsize=50_000)
def normal(text: str) -> str:
    """`text` in lower case without diacritics, apostrophes and punctuation, with single spaces."""
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(LETTERS))
    plain = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    plain = re.sub(r"['’`´]", "", plain).replace("&", " and ")
    return " ".join(re.findall(r"\w+", plain.replace("_", " ")))


def mentions(answer: str, name: str, *, longer: Iterable[str] = ()) -> bool:
    """Whether `answer` names `name` as whole words, not only inside one of the `longer` names."""
    return name in mentioned(answer, (name, *longer))


def mentioned(answer: str, names: Iterable[str]) -> set[str]:
    """Which of `names` the answer mentions as whole words; a name inside a longer one of them does not count."""
    text = f" {normal(answer)} "
    found = set()
    for name in sorted(set(names), key=lambda name: -len(normal(name))):
        plain = f" {normal(name)} "
        if plain.strip() and plain in text:
            found.add(name)
            text = text.replace(plain, " / ")
    return found


def numbers(answer: str) -> set[float]:
    """All numbers that `answer` states, in digits (with thousands separators) or in English words."""
    found = {float(item.replace(",", "")) for item in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)", answer)}
    return found | set(map(float, _numbers_in_words(normal(answer).split())))


def _numbers_in_words(words: Sequence[str]) -> Iterable[int]:
    """The numbers in a row of words: `part` is what stands below a thousand, `whole` what is complete above it."""
    whole, part = 0, None
    for word in (*words, "."):
        value = UNITS.index(word) if word in UNITS else 10 * (TENS.index(word) + 2) if word in TENS else None
        if value is not None and (part is None or _fits(part, value)):
            part = (part or 0) + value
        elif word == "hundred" and part is not None:
            part *= 100
        elif word == "thousand" and part is not None:
            whole, part = 1000 * part, 0
        elif word != "and" and part is not None:
            yield whole + part
            whole, part = 0, value


def _fits(part: int, value: int) -> bool:
    """Whether `value` can go on after `part` in one number: four after twenty or a hundred, but not after three."""
    return part % 100 == 0 or (part % 10 == 0 and part % 100 >= 20 and value < 10)


def dates(answer: str) -> set[date]:
    """All full dates in `answer`: 1999-03-30, March 30, 1999, 30 March 1999, 03/30/1999, 30.03.1999."""
    text = answer.casefold()
    month = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS)
    forms = (
        (r"(\d{4})-(\d{1,2})-(\d{1,2})", (0, 1, 2)),
        (rf"({month})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})", (2, 0, 1)),
        (rf"(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({month})\.?,?\s+(\d{{4}})", (2, 1, 0)),
        (r"(\d{4})/(\d{1,2})/(\d{1,2})", (0, 1, 2)),
        (r"(\d{1,2})/(\d{1,2})/(\d{4})", (2, 0, 1)),
        (r"(1[3-9]|2\d|3[01])/(\d{1,2})/(\d{4})", (2, 1, 0)),
        (r"(\d{1,2})\.(\d{1,2})\.(\d{4})", (2, 1, 0)),
    )
    found = set()
    for pattern, order in forms:
        for groups in re.findall(rf"(?<!\d){pattern}(?!\d)", text):
            day = _date(*(groups[position] for position in order))
            if day is not None:
                found.add(day)
    return found


def _date(year: str, month: str, day: str) -> date | None:
    number = int(month) if month.isdecimal() else 1 + [name[:3] for name in MONTHS].index(month[:3])
    try:
        return date(int(year), number, int(day))
    except ValueError:
        return None


def affirms(answer: str) -> bool:
    """Whether `answer` says yes; a statement without a word of denial counts as yes."""
    # "No. 5" is a place in a list, not a denial.
    for word in normal(re.sub(r"(?i)\bno\.\s*(?=\d)", "", answer)).split():
        if word in YES:
            return True
        if word in NO:
            return False
    return bool(answer.strip())


def long_date(day: date) -> str:
    """`day` in English words, such as March 30, 1999."""
    return f"{MONTHS[day.month - 1].title()} {day.day}, {day.year}"


@dataclass(frozen=True, slots=True)
class Names:
    """At least `least` of `names` (all if None) and none of `forbidden`; `longer` are names that contain one."""

    names: tuple[str, ...]
    least: int | None = None
    forbidden: tuple[str, ...] = ()
    longer: tuple[str, ...] = ()

    def judge(self, answer: str) -> Verdict:
        """Count the names that the answer mentions."""
        present = mentioned(answer, (*self.names, *self.forbidden, *self.longer))
        found = [name for name in self.names if name in present]
        bad = [name for name in self.forbidden if name in present]
        if bad:
            return Verdict(False, f"names {bad[0]}, which is wrong")
        wanted = self._wanted()
        if wanted == 0 or len(found) < wanted:
            return Verdict(False, f"names {len(found)} of {len(self.names)} ({wanted} needed): {', '.join(found)}")
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
        """Look for each date in any common form."""
        found = dates(answer)
        missing = [str(day) for day in self.days if day not in found]
        return Verdict(not missing, f"does not say {missing[0]}" if missing else "says each date")

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
        """Look for the number in digits or words, outside of dates and of the numbering of lists."""
        text = re.sub(r"\d{4}-\d\d-\d\d|(?m:^\s*\d+[.)]\s)", " ", answer)
        return Verdict(self.value in numbers(text), f"{self.value:g} wanted")

    def right(self) -> str:
        """The number in digits."""
        return f"{self.value:g}"

    def wrong(self) -> str:
        """A number that is a little greater."""
        return f"{self.value + 3:g}"


_NOT_KNOWN = re.compile(
    r"\b(do not|dont|does not|could not|couldnt|cannot|cant|can not|unable to|not able to) "
    r"(know|tell|say|find|determine|answer|confirm)\b"
)


@dataclass(frozen=True, slots=True)
class YesNo:
    """Yes or no, with `names` mentioned."""

    yes: bool
    names: tuple[str, ...] = ()

    def judge(self, answer: str) -> Verdict:
        """Read the polarity of the answer; one that says that it does not know is neither."""
        if _NOT_KNOWN.search(normal(answer)):
            return Verdict(False, "does not commit itself")
        if not answer.strip() or affirms(answer) != self.yes:
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
    """That `winner` is `more` than `loser`: `more` and `less` are the comparatives, `phrase` says it in samples."""

    winner: str
    loser: str
    more: tuple[str, ...]
    less: tuple[str, ...]
    phrase: str = ""

    def judge(self, answer: str) -> Verdict:
        """Read who is said to be ahead in each clause that compares; the clauses must agree."""
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
        return None if subject is None else (subject == WINNER) == (clause[position] in self.more)


def _subject(clause: list[str], position: int) -> str | None:
    """Which of two marks the comparative at `position` is said of; None if it is said of neither."""
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
    pause = max((index for index in range(position) if clause[index] == "zzpause"), default=0)
    near = [word for word in clause[pause:position] if word in marks]
    return near[-1] if near else marks[0]


@dataclass(frozen=True, slots=True)
class Text:
    """A text by `author` at `url`, as one may quote it."""

    author: str
    content: str
    url: str


@dataclass(frozen=True, slots=True)
class Quotes:
    """One of `texts`: its author, its address or 25 characters of it in a row."""

    texts: tuple[Text, ...]

    def judge(self, answer: str) -> Verdict:
        """Look for a mark of any text."""
        plain = normal(answer)
        for text in self.texts:
            if mentions(answer, text.author) or text.url in answer or _shares_passage(plain, normal(text.content)):
                return Verdict(True, f"quotes {text.author}")
        return Verdict(False, f"quotes none of {len(self.texts)} texts")

    def right(self) -> str:
        """The first text with its author."""
        return f"{self.texts[0].content} ({self.texts[0].author})"

    def wrong(self) -> str:
        """Praise by nobody."""
        return f"It is a wonderful thing, says {NOBODY}."


def _shares_passage(answer: str, content: str) -> bool:
    return any(
        content[start : start + QUOTE_LENGTH] in answer for start in range(max(1, len(content) - QUOTE_LENGTH + 1))
    )


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of `parts`."""

    parts: tuple[Expectation, ...]

    def judge(self, answer: str) -> Verdict:
        """The first part that fails decides."""
        verdicts = [part.judge(answer) for part in self.parts]
        return next((verdict for verdict in verdicts if not verdict), verdicts[-1])

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
        return next((verdict for verdict in verdicts if verdict), verdicts[-1])

    def right(self) -> str:
        """The first part."""
        return self.parts[0].right()

    def wrong(self) -> str:
        """All parts false."""
        return self.parts[0].wrong()
