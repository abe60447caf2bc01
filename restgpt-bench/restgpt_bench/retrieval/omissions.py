"""Measures what documents say of parameters, bodies, answers and operations that the caller's prompt does not.

    python -m restgpt_bench.retrieval.omissions [--each N] [--show] [--json] [--most PERCENT] [FILE ...]

Each operation is asked for by its summary. `prompt` is the first prompt, with all functions of the API in its budget;
`decision` is the reply to the decision `functions` with the name of the operation. An operation is compared where it
stands with its signature; where it is a line or absent, that is counted. A thing is hidden `despite room` if its text
is shorter than what the budget has left. Names of what nobody must send are counted, but not in the percentage.
Without files, the documents are the bundled ones, those of RESTGPT_DATA, and those that the measure of search fetches.
Exit code 1: more than `--most` percent of what is said of the operations in first prompts is hidden.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from langgraph.store.memory import InMemoryStore

from restgpt.nodes.dialogue.functions import functions_text, look, look_text, select
from restgpt.nodes.run.run import Run
from restgpt.nodes.run.services import Context, Services
from restgpt.nodes.state.records import Look
from restgpt.specs import Api, Operation, SpecError, load_api
from restgpt.specs.docs.documentation import TOKEN
from restgpt.specs.docs.field import FORMATS, SENT_FORMATS
from restgpt.specs.docs.prose import sentences
from restgpt.specs.effort import Allowance, within
from restgpt.specs.operation import BODY
from restgpt.specs.reading.download import bundled_document
from restgpt.specs.schemas.shape import Shape
from restgpt.specs.search.query import STOP_STEMS, stems
from restgpt.tools.settings import Settings
from restgpt_bench.packages import CACHE, FILES, named_path
from restgpt_bench.retrieval.function_text import Entry, FunctionText, read_function

BUNDLED = ("toy", "tmdb", "spotify")
PROMPT, DECISION, OPERATION, ANSWER, NAMES = "prompt", "decision", "operation", "answer", "names"
UNIT = re.compile(
    r"\b(?:(?:milli|micro|nano)?seconds|(?<!\d[- ])(?:minutes|hours|days)|(?:kilo|mega|giga)?bytes?"
    r"|(?:(?<=\d )|(?<=in ))[KMG]i?B|per ?cent(?:age)?|cents|minor units?|smallest currency unit|basis points?"
    r"|ISO[- ]?\d{4}(?:-\d)?|RFC ?\d{4}|E\.164|BCP ?47|UTC|base64|comma[- ](?:separated|delimited)|epoch"
    r"|unix time(?:stamp)?|(?:kilo|centi|milli)?met(?:er|re)s?|miles?|inch(?:es)?|degrees|celsius|fahrenheit|pixels?"
    r"|(?:kilo)?grams?|pounds|YYYY-MM(?:-DD)?|HH:MM(?::SS)?|(?:upper|lower)[- ]?case|case[- ](?:in)?sensitive"
    r"|hex(?:adecimal)?|url[- ]encoded)\b",
    re.IGNORECASE,
)
"""Units and notations."""
STANDARD = re.compile(r"ISO[- ]?8601|RFC ?3339|YYYY|UTC|epoch", re.IGNORECASE)
"""Notations of times."""
NULL, NUMBER = re.compile(r"(?i:\bnull\b)|\bNone\b"), re.compile(r"\d+(?:\.\d+)?")
# Words of sentences that say no more than a type does, or begin a list.
REPEATED = STOP_STEMS | frozenset(
    stems("maximum minimum length default format value characters one of must can may be null limits requirements")
)
LEASTS = ("minimum", "minLength", "minItems")
BOUNDS = (*LEASTS, "maximum", "exclusiveMinimum", "exclusiveMaximum", "maxLength", "maxItems", "multipleOf")
TIMES = ("date", "date-time", "time")
# Longer lists, patterns and defaults are not worth their room; a larger bound is that of the type.
VALUES_MOST, PATTERN_MOST, DEFAULT_MOST, LARGEST = 24, 80, 80, 2**31 - 1
# The characters of a field's description, the fields of a level, and the steps for one operation.
DESCRIPTION_MOST, FIELDS_MOST, STEPS_MOST = 1000, 200, 100_000


class Fact(NamedTuple):
    """What a document says: of the operation, a parameter, the body or the answer, and at which path there."""

    place: str
    kind: str
    path: str
    said: str
    is_shown: bool


class Finding(NamedTuple):
    """A fact in a view that leaves `left` tokens of its budget; `function` is what the view shows of the operation.

    `has_room` tells whether the budget has room for the fact alone.
    """

    document: str
    view: str
    operation: str
    fact: Fact
    has_room: bool
    left: int
    function: str


def measure(name: str, api: Api, each: int, progress: Callable[[str], None] = lambda text: None) -> Iterator[Finding]:
    """Yield what a document says of `each` operations, all if that is 0, beside what prompts show of them."""
    run = Run(Services([api], settings=Settings()), Context(), InMemoryStore(), thread="", started=0)
    chosen = api.operations[:: max(1, len(api.operations) // each)][:each] if each else api.operations
    for number, operation in enumerate(chosen, 1):
        progress(f"{name}: {number} of {len(chosen)} operations")
        # A limit that one operation reaches would halve those of the next ones.
        operation.document.allowance = Allowance()
        for view, budget, text in _views(run, operation):
            function = read_function(text, run.catalogue.function_name(operation))
            stands = "line" if f"- {run.catalogue.name_of(operation)}: " in text else "absent"
            found = [Fact(OPERATION, "signature", "", "whole" if function else stands, function is not None)]
            with within(STEPS_MOST):
                found += facts(operation, function) if function else ()
            left, shown = budget - len(text) // TOKEN, function.excerpt() if function else ""
            for fact in found:
                has_room = len(fact.path) + len(fact.said) + TOKEN < left * TOKEN
                yield Finding(name, view, f"{operation.method} {operation.path}", fact, has_room, left, shown)


def _views(run: Run, operation: Operation) -> Iterator[tuple[str, int, str]]:
    """Yield the texts that may show an operation, each with its budget."""
    instruction = (operation.summary or operation.name)[:200]
    choice = select(run, instruction)
    yield PROMPT, run.context.functions_budget, functions_text(run, choice, instruction)
    # What the decision shows counts alone, so nothing was shown before.
    wish: Look = {"words": run.catalogue.function_name(operation), "thought": ""}
    choice = {**choice, "operations": [], "others": [], "looks": [wish]}
    choice["looks"] = [look(run, choice, instruction)]
    yield DECISION, run.context.documentation_budget, look_text(run, choice, 0, instruction)


def facts(operation: Operation, function: FunctionText) -> Iterator[Fact]:
    """Yield what the document says of an operation, and whether its function shows it."""
    for text in (item.text for item in sentences(operation.description) if item.is_rule):
        yield Fact(OPERATION, "rules", "", text, _is_told(text, function.text))
    for item in operation.keywords:
        shape = Shape(operation.document, item.parameter.schema, request=True)
        description = item.parameter.description or shape.description
        comparison, entry = _Comparison("parameter", function), function.arguments.get(item.name)
        yield from comparison.entry(item.name, entry, shape, description, is_needed=item.required)
    body, response = operation.sent, operation.response()
    if body is not None and operation.body is not None:
        entry, is_needed = function.arguments.get(BODY), operation.body.required
        yield from _Comparison(BODY, function).entry("", entry, body, body.description, is_needed=is_needed)
    media = response.preferred if response is not None else None
    if media is not None and "json" in media.media_type.lower():
        shape = Shape(operation.document, media.schema)
        yield from _Comparison(ANSWER, function).entry("", function.result, shape, shape.description)


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Compares the schemas of one place with the text of a function."""

    place: str
    function: FunctionText

    def entry(
        self,
        path: str,
        entry: Entry | None,
        shape: Shape,
        description: str,
        *,
        owner: str = "",
        is_needed: bool = False,
        around: frozenset[str] = frozenset(),
    ) -> Iterator[Fact]:
        """Yield the facts of a field of the type `owner` and those of its fields; of one without a name, only that.

        The fields of a field that is only named are compared if they must be sent.
        """
        is_shown = entry is not None and (entry.is_starred or not is_needed)
        yield Fact(self.place, "required" if is_needed else NAMES, path, "", is_shown)
        text = entry.text if entry is not None else ""
        if entry is not None:
            name = path.rpartition(".")[2]
            told = f"{text} {self.function.told(path or BODY, f'{owner}.{name}')}"
            found = _of_value(shape, name, description, told, self.function.prose, is_sent=self.place != ANSWER)
            yield from (Fact(self.place, kind, path, said, is_shown) for kind, said, is_shown in found)
        while shape.items is not None:
            shape = shape.items
        if shape.reference in around or not (text or is_needed):
            return
        around |= {shape.reference} if shape.reference else set()
        owner, entries = self.function.fields(text)
        if not path and shape.fields:
            yield Fact(
                self.place, "fields", path, ", ".join(shape.fields)[:80], not entries.keys().isdisjoint(shape.fields)
            )
        # A body without its required fields is refused, even if the body itself may be left out.
        is_needed = is_needed or (self.place == BODY and not path)
        for name, inner in islice(shape.fields.items(), FIELDS_MOST):
            needed = is_needed and name in shape.required
            # What is below the first level and not shown is no news.
            if needed or name in entries or not path:
                below = f"{path}.{name}" if path else name
                yield from self.entry(
                    below, entries.get(name), inner, inner.description, owner=owner, is_needed=needed, around=around
                )


def _of_value(
    shape: Shape, name: str, description: str, told: str, prose: str, *, is_sent: bool
) -> Iterator[tuple[str, str, bool]]:
    """Yield the kind and the words of what is said of a field of this name, and whether it is `told`, or in `prose`."""
    core = shape
    while core.items is not None:
        core = core.items
    values = list(dict.fromkeys(map(str, core.values)))
    if 0 < len(values) <= VALUES_MOST:
        yield "values", " | ".join(values), all(_has_word(told, value) for value in values)
    kind = str(core.flat.get("format"))
    if kind in (SENT_FORMATS if is_sent else FORMATS) and not values and core.kinds == ("string",):
        is_named = bool(STANDARD.search(told)) if kind in TIMES else kind in name.lower()
        words = (SENT_FORMATS[kind], FORMATS.get(kind, kind))
        yield "formats", kind, is_named or any(_has_word(told, word) for word in words)
    for flat in ([shape.flat] if core is shape else [shape.flat, core.flat]) if is_sent else ():
        yield from _limits(flat, told)
    known = f"{name} {told} {prose}"
    for text, is_rule in ((item.text, item.is_rule) for item in sentences(description[:DESCRIPTION_MOST])):
        if units := UNIT.findall(text):
            yield "units", text, all(_has_unit(unit, known) for unit in units)
        elif REPEATED.issuperset(stems(text)):
            continue
        elif NULL.search(text):
            yield "null", text, bool(NULL.search(told))
        elif is_rule and is_sent:
            yield "rules", text, _is_told(text, known)


def _limits(flat: Mapping[str, Any], told: str) -> Iterator[tuple[str, str, bool]]:
    """Yield the same of the limits and the default of a schema."""
    numbers = {float(number) for number in NUMBER.findall(told.replace(",", ""))}
    for key, value in ((key, flat[key]) for key in BOUNDS if type(flat.get(key)) in (int, float)):
        if abs(value) < LARGEST and not (key in LEASTS and value in (0, 1)):
            yield "bounds", f"{key} {value}", float(abs(value)) in numbers
    pattern, default = flat.get("pattern"), flat.get("default")
    if isinstance(pattern, str) and 0 < len(pattern) <= PATTERN_MOST and "enum" not in flat:
        yield "patterns", pattern, pattern in told
    if default not in (None, "") and not isinstance(default, dict | list) and len(str(default)) <= DEFAULT_MOST:
        is_shown = f"={default!r}" in told.replace("= ", "=")
        yield "defaults", str(default), is_shown or ("efault" in told and _has_word(told, str(default)))


def _has_word(text: str, word: str) -> bool:
    return bool(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE)) or repr(word) in text


def _has_unit(unit: str, text: str) -> bool:
    is_written = re.sub(r"[- ]", "", unit.lower()) in re.sub(r"[- ]", "", text.lower())
    return is_written or bool(STANDARD.match(unit) and re.search(r"\bdate(?:time)?\b", text)) or _is_told(unit, text)


def _is_told(sentence: str, text: str) -> bool:
    """Tell whether a text has a sentence, or all its words but those that any limit has."""
    return sentence in text or frozenset(stems(sentence)) - REPEATED <= frozenset(stems(text))


def documents(data: str, cache: Path) -> Iterator[Path]:
    """Yield the paths of the known documents, those that are not there too."""
    yield from (Path(str(bundled_document(name))) for name in BUNDLED)
    yield from (sorted(Path(data, "openapi").glob("*.[jy]*")) if data else [Path("$RESTGPT_DATA")])
    yield from sorted(Path(data, "restbench").glob("*_oas.json")) if data else ()
    yield from (named_path(name, cache) for name in ("github", *FILES))


def share(findings: Iterable[Finding], view: str) -> float:
    """Return the percentage of hidden facts in a view, without names and without operations that are not compared."""
    counted = [item.fact for item in findings if item.view == view and item.fact.kind not in (NAMES, "signature")]
    return 100 * sum(not fact.is_shown for fact in counted) / max(1, len(counted))


def table(findings: Iterable[Finding]) -> Iterator[str]:
    """Write the facts by view, place and kind: hidden of said, and how many of the hidden despite room."""
    said = Counter((item.view, *item.fact[:2]) for item in findings)
    hidden = Counter((item.view, *item.fact[:2]) for item in findings if not item.fact.is_shown)
    roomy = Counter((item.view, *item.fact[:2]) for item in findings if not item.fact.is_shown and item.has_room)
    for key in sorted(said):
        place = "  ".join(map("{:9}".format, key))
        yield f"{place}  {hidden[key]:6} of {said[key]:6}  {roomy[key]:6} despite room"


def main() -> None:
    """Print the figures from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="OpenAPI documents, instead of the known ones")
    parser.add_argument("--each", type=int, default=8, help="operations of each document, 0 for all")
    parser.add_argument("--show", action="store_true", help="print each hidden thing")
    parser.add_argument("--json", action="store_true", help="print one JSON document, with what the functions say")
    parser.add_argument("--most", type=float, default=100.0, help="the percentage of hidden things that is allowed")
    options = parser.parse_args()
    found: list[Finding] = []
    for path in options.files or documents(os.environ.get("RESTGPT_DATA", ""), CACHE):
        try:
            found += measure(path.stem, load_api(path), options.each, _progress)
        except SpecError as error:
            _progress(f"{path} skipped: {str(error)[:200]}\n")
    _progress("")
    print(_json(found) if options.json else "\n".join(_lines(found, is_shown=options.show)))
    sys.exit(1 if share(found, PROMPT) > options.most else 0)


def _progress(text: str) -> None:
    """Write the state of the work over the last line of stderr."""
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _json(found: list[Finding]) -> str:
    hidden = [{**item._asdict(), "fact": item.fact._asdict()} for item in found if not item.fact.is_shown]
    shares = {view: round(share(found, view), 2) for view in (PROMPT, DECISION)}
    return json.dumps({"hidden percent": shares, "table": list(table(found)), "hidden": hidden}, ensure_ascii=False)


def _lines(found: list[Finding], *, is_shown: bool) -> Iterator[str]:
    for item in found if is_shown else ():
        if not item.fact.is_shown:
            room = "despite room" if item.has_room else "no room"
            yield f"{item.document}  {item.operation}  {item.view}  {' '.join(item.fact[:4])}  [{room}]"
    for name in dict.fromkeys(item.document for item in found):
        own = [item for item in found if item.document == name]
        yield f"{share(own, PROMPT):6.1f} % hidden in prompts, {share(own, DECISION):6.1f} % in decisions: {name}"
    yield from table(found)
    yield f"{share(found, PROMPT):6.1f} % hidden in prompts, {share(found, DECISION):6.1f} % in decisions: all"


if __name__ == "__main__":
    main()
