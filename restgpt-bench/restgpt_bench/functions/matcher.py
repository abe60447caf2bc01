"""The match of calls with the answer key, by the rules of the Berkeley function-calling leaderboard.

`LEADERBOARD` reproduces its verdicts; the default rules differ where the original is known to be wrong: parallel calls
are paired by bipartite matching, a malformed call is no abstention, and nested values are compared with their types.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from restgpt_bench.functions.literals import JAVA_KINDS, JAVASCRIPT_KINDS, find_sources, read_java, read_javascript
from restgpt_functions.calls.call import Call, CallSyntaxError, Variable
from restgpt_functions.calls.literals import read_node
from restgpt_functions.calls.parsing import parse_calls
from restgpt_functions.docs.function import Function, FunctionParameter

Answer = Mapping[str, Mapping[str, Sequence[Any]]]
"""One expected call: the function's name, and the right values of each parameter; `""` marks an optional one."""

Language = Literal["python", "java", "javascript"]

KINDS: dict[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}
OMITTED = ""
_IGNORED = re.compile(r"[ ,./\-_*^]")


@dataclass(frozen=True, slots=True)
class MatchRules:
    """The points in which verdicts may differ from the leaderboard's.

    `bipartite` pairs parallel calls with answers by matching instead of greedily. `deep_types` keeps true and 1
    apart inside lists and objects. `lenient` reads prose around calls, positional values and bare `true`.
    `malformed_abstains` counts an unreadable call as an abstention. `underscores` lets `a_b` name the function `a.b`.
    """

    bipartite: bool = True
    deep_types: bool = True
    lenient: bool = True
    malformed_abstains: bool = False
    underscores: bool = False


LEADERBOARD = MatchRules(bipartite=False, deep_types=False, lenient=False, malformed_abstains=True)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether calls match; if not, the `kind` of the first difference (the leaderboard's word) and a sentence."""

    valid: bool
    kind: str = ""
    message: str = ""


OK = Verdict(True)


def decode_calls(
    text: str, functions: Sequence[Function], *, language: Language = "python", rules: MatchRules | None = None
) -> list[Call]:
    """Read a model's text into calls by the rules; raises `CallSyntaxError` when it is none.

    For Java and JavaScript each argument is the source of its value.
    """
    if language != "python":
        return [
            Call(name, {key: _source(value, language) for key, value in given.items()}) for name, given in _raw(text)
        ]
    if rules is None or rules.lenient:
        return parse_calls(text, functions)
    try:
        tree = ast.parse(_bracketed(text), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise CallSyntaxError("the text is not a list of calls") from None
    nodes = tree.body.elts if isinstance(tree.body, ast.List) else [tree.body]
    if not nodes or not all(isinstance(node, ast.Call) for node in nodes):
        raise CallSyntaxError("the text is not a list of calls")
    return [_strict_call(node) for node in nodes if isinstance(node, ast.Call)]


def _raw(text: str) -> list[tuple[str, dict[str, str]]]:
    found = find_sources(text)
    if not found:
        raise CallSyntaxError("the text holds no call")
    return found


def _source(text: str, language: Language) -> str:
    is_java_string = language == "java" and len(text) > 1 and text[0] == text[-1] == '"'
    return text[1:-1] if is_java_string else text


def _bracketed(text: str) -> str:
    stripped = text.strip("`\n ")
    return f"[{stripped.removeprefix('[').removesuffix(']')}]"


def _strict_call(node: ast.Call) -> Call:
    """A call as the leaderboard reads it: keywords only, and no bare word is a literal but Python's own."""
    name = ast.unparse(node.func)
    return Call(name, {part.arg: read_node(part.value, {}) for part in node.keywords if part.arg is not None})


def match_calls(
    calls: Sequence[Call],
    answers: Sequence[Answer],
    functions: Sequence[Function],
    *,
    language: Language = "python",
    rules: MatchRules | None = None,
) -> Verdict:
    """Compare calls with the answer key, in any order; the number of calls must be right."""
    rules = rules or MatchRules()
    if len(calls) != len(answers):
        return Verdict(False, "wrong_count", f"{len(calls)} calls where {len(answers)} are expected")
    verdicts = [
        [match_call(call, answer, functions, language=language, rules=rules) for call in calls] for answer in answers
    ]
    if len(calls) == 1:
        return verdicts[0][0]
    allowed = [[index for index, verdict in enumerate(row) if verdict.valid] for row in verdicts]
    unmatched = _pair_bipartite(allowed) if rules.bipartite else _pair_greedily(allowed)
    if unmatched is None:
        return OK
    reasons = "; ".join(dict.fromkeys(verdict.message for verdict in verdicts[unmatched] if not verdict.valid))
    return Verdict(False, "cannot_find_match", f"no call matches expected call {unmatched + 1}: {reasons}")


def _pair_greedily(allowed: Sequence[Sequence[int]]) -> int | None:
    """Give each answer the first free call, never taking one back; the first answer left without, or None."""
    taken: set[int] = set()
    for row, columns in enumerate(allowed):
        free = next((column for column in columns if column not in taken), None)
        if free is None:
            return row
        taken.add(free)
    return None


def _pair_bipartite(allowed: Sequence[Sequence[int]]) -> int | None:
    """Find a perfect matching along augmenting paths; the first answer that cannot be matched, or None."""
    owner: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for column in allowed[row]:
            if column in tried:
                continue
            tried.add(column)
            if column not in owner or place(owner[column], tried):
                owner[column] = row
                return True
        return False

    return next((row for row in range(len(allowed)) if not place(row, set())), None)


def match_call(
    call: Call,
    answer: Answer,
    functions: Sequence[Function],
    *,
    language: Language = "python",
    rules: MatchRules | None = None,
) -> Verdict:
    """Compare one call with one expected call."""
    rules = rules or MatchRules()
    name, expected = next(iter(answer.items()))
    function = next((one for one in functions if one.name == name), None)
    if function is None:
        return Verdict(False, "unknown_function", f"the answer key calls {name}, which is not documented")
    if call.name != name and not (rules.underscores and call.name == name.replace(".", "_")):
        return Verdict(False, "wrong_func_name", f"{call.name} is called instead of {name}")
    if call.positional:
        return Verdict(False, "unexpected_param", f"{name}: a value has no parameter")
    for required in function.required:
        if required not in call.arguments:
            return Verdict(False, "missing_required", f"{name}: {required} is missing")
    for key, value in call.arguments.items():
        verdict = _match_argument(function, key, value, expected, language, rules)
        if not verdict.valid:
            return verdict
    for key, alternatives in expected.items():
        if key not in call.arguments and OMITTED not in alternatives:
            return Verdict(False, "missing_optional", f"{name}: {key} is missing")
    return OK


def _match_argument(
    function: Function,
    key: str,
    value: Any,
    expected: Mapping[str, Sequence[Any]],
    language: Language,
    rules: MatchRules,
) -> Verdict:
    parameter = function.parameter(key)
    if parameter is None or key not in expected:
        return Verdict(False, "unexpected_param", f"{function.name}: {key} is unexpected")
    alternatives = expected[key]
    place = f"{function.name}: {key}"
    if isinstance(value, Variable):
        value = value.text
    if language == "python":
        kind, items = _python_kinds(parameter)
        value = _adjusted(value, parameter, kind)
    else:
        if not isinstance(value, str):
            return Verdict(False, f"type_error:{language}", f"{place} must be the source of a value as text")
        kind, items, value = _foreign(value, parameter, language)
    typed, is_variable = _check_type(place, value, alternatives, kind, items)
    if not typed.valid:
        return typed
    return _check_value(place, value, alternatives, kind, items, is_variable, rules)


def _python_kinds(parameter: FunctionParameter) -> tuple[type, type | None]:
    """The Python type of a value, and of its elements where those are checked; without a type it is text."""
    kind = KINDS.get(str(parameter.schema.get("type")), str)
    if kind is not list:
        return kind, None
    items = parameter.schema.get("items")
    word = items.get("type") if isinstance(items, Mapping) else None
    return kind, KINDS.get(str(word), str) if items else None


def _adjusted(value: Any, parameter: FunctionParameter, kind: type) -> Any:
    """A tuple counts as a list where one is documented, and an integer as a float."""
    if isinstance(value, tuple) and parameter.type_word == "tuple":
        return list(value)
    if kind is float and type(value) is int:
        return float(value)
    return value


def _foreign(text: str, parameter: FunctionParameter, language: Language) -> tuple[type, type | None, Any]:
    items = parameter.schema.get("items")
    element = FunctionParameter("", items).type_word if isinstance(items, Mapping) and items else ""
    kinds, read = (JAVA_KINDS, read_java) if language == "java" else (JAVASCRIPT_KINDS, read_javascript)
    kind = kinds.get(parameter.type_word, str)
    nested = kinds.get(element) if kind is list and element else None
    return kind, nested, read(text, parameter.type_word, element if kind is list else "")


def _check_type(
    place: str, value: Any, alternatives: Sequence[Any], kind: type, items: type | None
) -> tuple[Verdict, bool]:
    """Whether the type is right, and whether the value is a variable (the answer key has another type)."""
    answered = next((type(one) for one in alternatives if one != OMITTED), None)
    is_variable = answered is not None and answered is not kind
    if type(value) is kind:
        if items is None or _has_items(value, alternatives, items):
            return OK, is_variable
        return Verdict(False, "type_error:nested", f"{place} has elements that are not {items.__name__}"), False
    if answered is not None and type(value) is answered:
        return OK, True
    problem = f"{place} is {type(value).__name__} where {kind.__name__} is documented"
    return Verdict(False, "type_error:simple", problem), False


def _has_items(value: Any, alternatives: Sequence[Any], items: type) -> bool:
    """Whether the elements have the documented type, or the type of the elements of some right answer."""
    lists = [one for one in alternatives if isinstance(one, list)]
    if len(lists) < len(alternatives):
        return True
    return any(all(type(part) is items or type(part) is _first_type(one) for part in value) for one in lists)


def _first_type(answer: Sequence[Any]) -> type | None:
    return next((type(part) for part in answer if part != OMITTED), None)


def _check_value(
    place: str,
    value: Any,
    alternatives: Sequence[Any],
    kind: type,
    items: type | None,
    is_variable: bool,
    rules: MatchRules,
) -> Verdict:
    if is_variable:
        return _among(place, value, alternatives, "value_error:others", rules)
    if kind is dict:
        verdicts = [_check_object(place, value, one, rules) for one in alternatives if one != OMITTED]
        return _best(verdicts, place, "value_error:dict_value")
    if kind is list and items is dict:
        verdicts = [_check_objects(place, value, one, rules) for one in alternatives if one != OMITTED]
        return _best(verdicts, place, "value_error:list_dict_count")
    if kind is str:
        texts = [one for one in alternatives if isinstance(one, str)]
        return _among(place, value, texts, "value_error:string", rules)
    if kind is list:
        # As in the original, an empty list is right where the parameter may be left out.
        lists = [[] if one == OMITTED else one for one in alternatives]
        return _among(place, value, lists, "value_error:list/tuple", rules)
    return _among(place, value, alternatives, "value_error:others", rules)


def _best(verdicts: Sequence[Verdict], place: str, kind: str) -> Verdict:
    if any(verdict.valid for verdict in verdicts):
        return OK
    return verdicts[-1] if verdicts else Verdict(False, kind, f"{place} must be left out")


def _among(place: str, value: Any, alternatives: Sequence[Any], kind: str, rules: MatchRules) -> Verdict:
    folds = kind != "value_error:others"
    if any(_equal(_folded(value) if folds else value, _folded(one) if folds else one, rules) for one in alternatives):
        return OK
    return Verdict(False, kind, f"{place} is {value!r}; expected one of {list(alternatives)!r}")


def fold_text(text: str) -> str:
    """A text as it is compared: without spaces and `,./-_*^`, in lower case, with double quotes."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def _folded(value: Any) -> Any:
    """Texts folded at the top and one level down, as in the original."""
    if isinstance(value, str):
        return fold_text(value)
    if isinstance(value, list | tuple):
        return [fold_text(part) if isinstance(part, str) else part for part in value]
    return value


def _equal(value: Any, expected: Any, rules: MatchRules) -> bool:
    if not rules.deep_types:
        return bool(value == expected)
    if isinstance(value, bool) is not isinstance(expected, bool):
        return False
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        same = len(value) == len(expected)
        return same and all(_equal(one, other, rules) for one, other in zip(value, expected, strict=True))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(_equal(value[key], expected[key], rules) for key in value)
    return bool(value == expected)


def _check_object(place: str, value: Any, expected: Any, rules: MatchRules) -> Verdict:
    """Keys exactly, in any order; each value among its alternatives, which are literal below the first level."""
    if not isinstance(value, dict) or not isinstance(expected, dict):
        return Verdict(False, "value_error:dict_value", f"{place} is {value!r}; expected {expected!r}")
    for key, part in value.items():
        if key not in expected:
            return Verdict(False, "value_error:dict_key", f"{place}: the key {key!r} is unexpected")
        alternatives = expected[key] if isinstance(expected[key], list) else [expected[key]]
        if not any(_equal(_text_folded(part), _text_folded(one), rules) for one in alternatives):
            return Verdict(
                False, "value_error:dict_value", f"{place}: {key} is {part!r}; expected one of {alternatives!r}"
            )
    for key, alternatives in expected.items():
        if key not in value and OMITTED not in alternatives:
            return Verdict(False, "value_error:dict_key", f"{place}: the key {key!r} is missing")
    return OK


def _text_folded(value: Any) -> Any:
    return fold_text(value) if isinstance(value, str) else value


def _check_objects(place: str, value: Sequence[Any], expected: Any, rules: MatchRules) -> Verdict:
    if not isinstance(expected, list) or len(value) != len(expected):
        return Verdict(False, "value_error:list_dict_count", f"{place} has the wrong number of objects")
    verdicts = [_check_object(place, one, other, rules) for one, other in zip(value, expected, strict=True)]
    return next((verdict for verdict in verdicts if not verdict.valid), OK)
