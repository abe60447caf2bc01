"""Scripted models that play every role from the prompts alone: one that does all right, and ones that err on purpose.

They know the gold calls and the true answer of one task, which no agent may know, and show that the whole way from
prompt to verdict works. Nothing below `bench` can import them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCall
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from restgpt.prompts import text_of
from restgpt.tools.model import ROLES
from restgpt.tools.model.scripted import Reply, ScriptedChatModel
from restgpt_bench.restbench.gold_program import Writer, variables_of
from restgpt_bench.restbench.judges.task import BrokenTaskError, Step, select, shape
from restgpt_bench.restbench.suite import Item, SuiteError
from restgpt_bench.worlds import World

PREFIX = "scripted:"
KINDS = ("perfect", "erring", *(f"erring-{role}" for role in ROLES))

STUCK = "Not every step could be carried out."
"""The answer of a player that makes no mistake and cannot go on."""

_TOKEN = 4
_CALLED = re.compile(
    r"^(?:\d+\. )?Called (\S+) .*?: status (\d+)\. ?(.*?)(?=^(?:\d+\. )?Called |^</result-|\Z)",
    re.MULTILINE | re.DOTALL,
)
_OPERATION = re.compile(r"^- (\S+): ([A-Z]+ /\S*)", re.MULTILINE)
_CALL = re.compile(r"^(\d+)\. (\S+): Gold step (\d+)\b", re.MULTILINE)
_STEP = re.compile(r"Gold step (\d+)\b")
_READ = re.compile(r"^Read: (.*)$", re.MULTILINE)
_TIMES = re.compile(r"\w+(?: ×(\d+))?(?:, |$)")
_PRINTED = re.compile(r'^(\{"\$.*\})$', re.MULTILINE)
LOOKED = text_of("instruction_functions").partition("\n")[0]
"""The first line of the message with the functions that the caller asked for."""
_WANTED = re.compile(r"^Query: Print the values of (\[.*\])$", re.MULTILINE)
_RESPONSE = re.compile(r"<(response-\w+)>\n(.*)\n</\1>", re.DOTALL)

READER = """
import json, re
def values(reference, data):
    found = [data]
    for step in re.findall(r"max\\([^)]*\\)|min\\([^)]*\\)|[^.\\[\\]]+|\\[[^\\]]*\\]", reference.partition(".")[2]):
        if step.startswith("["):
            name, equals, value = step[1:-1].partition("=")
            if equals:
                found = [item for item in found if str(item.get(name)) == value]
            elif name != "*":
                found = found[int(name):][:1]
        elif step.startswith(("max(", "min(")):
            key, pick = step[4:-1], max if step.startswith("max") else min
            ranked = [item for item in found if item.get(key)]
            found = [pick(ranked, key=lambda item: item[key])] if ranked else []
        else:
            names = step.split("+")
            held = [item[name] for item in found if isinstance(item, dict) for name in names if name in item]
            found = [part for item in held for part in (item if isinstance(item, list) else [item])]
    return found
"""
"""Python for the sandbox that reads references as gold steps write them."""


def scripted(name: str, item: Item, world: World[Any]) -> "ScriptedPlayer":
    """The model `scripted:KIND` for one task on a world as it is before the run; `SuiteError` on another kind."""
    kind = name.removeprefix(PREFIX)
    if kind not in KINDS:
        raise SuiteError(f"There is no scripted model {kind}. There are: {', '.join(KINDS)}.")
    answer = item.task.right(world) if kind == "perfect" else item.task.wrong(world)
    fault = {"perfect": "", "erring": "selector"}.get(kind, kind.removeprefix("erring-"))
    operations = {operation.name: f"{operation.method} {operation.path}" for operation in world.api.operations}
    report = "" if fault else item.task.answer
    return ScriptedPlayer.over(Script(item.instruction, item.task.steps, answer, fault, operations, report))


@dataclass(frozen=True, slots=True)
class Script:
    """The script of a player: the instruction, the gold steps, the answer, and the role that errs.

    `operations` maps the names of the world's operations to "METHOD /template", which native tools do not show.
    `report` is how a program computes the answer from the results of the steps; empty if it just prints the answer.
    `rounds` are tool calls that are known from the beginning, function and arguments, in place of steps.
    """

    instruction: str
    steps: tuple[Step, ...]
    answer: str
    fault: str = ""
    operations: Mapping[str, str] = field(default_factory=dict)
    report: str = ""
    rounds: Sequence[Sequence[tuple[str, Mapping[str, Any]]]] = ()

    def purpose(self, number: int) -> str:
        """The name of a gold step in plans and purposes."""
        return f"Gold step {number}: {self.steps[number - 1].operation}"

    def wanted(self, number: int) -> list[str]:
        """The references of all steps to the result of one."""
        references = dict.fromkeys(
            reference
            for step in self.steps
            for part in (step.path, step.query, step.body)
            for reference in references_in(part)
        )
        return [reference for reference in references if reference.startswith(f"${number}.")]


def references_in(value: Any) -> Iterator[str]:
    """Every reference to an earlier result in the arguments of a gold step."""
    if isinstance(value, str) and value.startswith("$"):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from references_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from references_in(part)


@dataclass(frozen=True, slots=True)
class Seen:
    """The progress that a prompt shows: the number of fulfilled calls, and the values in their results."""

    fulfilled: int = 0
    values: Mapping[str, list[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, script: Script, prompt: Sequence[BaseMessage]) -> "Seen":
        """Read the results out of a prompt."""
        text = "\n".join(str(message.text) for message in prompt if message.type == "human")
        fulfilled, values = 0, {}
        for _, status, result in _CALLED.findall(text):
            if status.startswith("2") and fulfilled < len(script.steps):
                fulfilled += 1
                values.update(_values(result, fulfilled, script.wanted(fulfilled)))
        # The result of a program: the values that it printed, and how often it read what.
        for printed in _PRINTED.findall(text):
            values.update(json.loads(printed))
        reads = sum(int(count or 1) for listed in _READ.findall(text) for count in _TIMES.findall(listed))
        return cls(min(fulfilled + reads, len(script.steps)), values)


def _values(result: str, number: int, wanted: Sequence[str]) -> dict[str, list[Any]]:
    """The wanted values in a result: as the parser printed them, or in a small body that is its own result."""
    try:
        found = json.JSONDecoder().raw_decode(result)[0]
    except ValueError:
        return {}
    if isinstance(found, dict) and all(name.startswith("$") for name in found):
        return found
    return dict(_selected(found, number, wanted))


def _selected(body: Any, number: int, wanted: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    for reference in wanted:
        try:
            yield reference, select(reference, [None] * (number - 1) + [body])
        except BrokenTaskError:
            continue


def _resolved(value: Any, values: Mapping[str, list[Any]]) -> Any:
    """The arguments with their references replaced; raises KeyError or IndexError where a value is not known."""
    if isinstance(value, str) and value.startswith("$"):
        return values[value][0]
    if isinstance(value, Mapping):
        return {name: _resolved(part, values) for name, part in value.items()}
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str) and value[0].startswith("$"):
        return values[value[0]]
    if isinstance(value, list):
        return [_resolved(part, values) for part in value]
    return value


class ScriptedPlayer(ScriptedChatModel):
    """A chat model that knows from the system message which role it plays, and from the rest how far things are."""

    _script: Script = PrivateAttr()
    _offered: tuple[Mapping[str, Any], ...] = PrivateAttr(default=())

    @classmethod
    def over(cls, script: Script) -> "ScriptedPlayer":
        """The player of one script."""
        player = cls()
        player._script = script
        return player

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Keep the definitions of tools to choose from; a tool that must be called is structured output."""
        if tool_choice is not None:
            return super().bind_tools(tools, tool_choice=tool_choice, **kwargs)
        offering = self.model_copy()
        offering._offered = tuple(map(convert_to_openai_tool, tools))
        return offering

    def reply(self, messages: list[BaseMessage], tools: Sequence[str]) -> Reply:
        """The reply of the role that the system message names."""
        opening = str(messages[0].text)
        if opening.startswith(TOOLS):
            text, calls = _tools(self._script, messages, self._offered)
            reply = AIMessage(text, tool_calls=calls)
            reply.usage_metadata = self.usage(messages, _written(reply))
            return reply
        play = next(play for start, play in PLAYS.items() if opening.startswith(start))
        return play(self._script, messages)

    def usage(self, messages: list[BaseMessage], text: str) -> UsageMetadata:
        """An estimate: four characters a token, in the definitions of the offered tools and in tool calls too.

        The schema of structured output is not counted: some providers take it as tokens and others as a grammar.
        """
        read = sum(len(_written(message)) for message in messages) + sum(len(_compact(tool)) for tool in self._offered)
        read, written = read // _TOKEN, len(text) // _TOKEN
        return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}


def _written(message: BaseMessage) -> str:
    """The text of a message and its tool calls."""
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    return str(message.text) + "".join(_compact({"name": call["name"], "arguments": call["args"]}) for call in calls)


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _planner(script: Script, prompt: Sequence[BaseMessage]) -> dict[str, Any]:
    rounds = sum("<result-" in str(message.text) for message in prompt[1:] if message.type == "human")
    if script.instruction not in str(prompt[1].text):
        return {"decision": "end", "text": "This is not the instruction that the script is for."}
    if not _goes_on(script, prompt, rounds):
        return {"decision": "end", "text": STUCK}
    if script.fault == "planner" or rounds >= len(script.steps):
        return {"decision": "end", "text": script.answer}
    return {"decision": "plan", "text": script.purpose(rounds + 1)}


def _goes_on(script: Script, prompt: Sequence[BaseMessage], rounds: int) -> bool:
    """Whether all calls so far were fulfilled; a player that errs does not check."""
    return bool(script.fault) or Seen.of(script, prompt[2:]).fulfilled == rounds


def _selector(script: Script, prompt: Sequence[BaseMessage]) -> dict[str, Any]:
    number = int(_STEP.findall(str(prompt[1].text))[-1])
    operation = _chosen(script, prompt, number)
    if not operation:
        return {"thought": "", "calls": [], "answer": "No operation in the list is the one of this step."}
    return {"thought": "", "calls": [{"operation": operation, "purpose": script.purpose(number)}], "answer": ""}


def _chosen(script: Script, prompt: Sequence[BaseMessage], number: int) -> str:
    """The listed operation of a gold step; to err, a read that is in no step."""
    listed = {name: shape(operation) for name, operation in _OPERATION.findall(str(prompt[0].text))}
    gold = [shape(step.operation) for step in script.steps]
    if script.fault == "selector":
        others = (name for name, key in listed.items() if key.startswith("GET ") and key not in gold and "{" not in key)
        return next(others, "")
    return next((name for name, key in listed.items() if key == gold[number - 1]), "")


def _caller(script: Script, prompt: Sequence[BaseMessage]) -> dict[str, Any]:
    task = str(prompt[1].text)
    seen = Seen.of(script, prompt[1:2])
    calls = []
    for position, _, number in _CALL.findall(task.partition("\nCalls to make now:\n")[2]):
        arguments = None if script.fault == "caller" else _arguments(script.steps[int(number) - 1], seen)
        if arguments is None:
            return {"thought": "", "calls": [], "missing": "a value of an earlier result"}
        wanted = script.wanted(int(number))
        calls.append(
            {
                "call": int(position),
                "arguments": arguments if script.fault != "selector" else {},
                "description": script.purpose(int(number)),
                "output_instruction": f"Print the values of {json.dumps(wanted)}",
            }
        )
    return {"thought": "", "calls": calls, "missing": "" if calls else "the planned call"}


def _arguments(step: Step, seen: Seen) -> dict[str, Any] | None:
    try:
        known = [_resolved(part, seen.values) for part in (dict(step.path), dict(step.query), step.body)]
    except (KeyError, IndexError):
        return None
    return dict(type(step)(step.operation, *known).planned(()).arguments)


def _parser(script: Script, prompt: Sequence[BaseMessage]) -> str:
    wanted = _wanted(prompt)
    if script.fault == "parser" or not wanted:
        return "```python\nprint('Nothing of it is needed.')\n```"
    return f"```python{READER}print(json.dumps({{name: values(name, data) for name in {wanted!r}}}))\n```"


def _direct(script: Script, prompt: Sequence[BaseMessage]) -> str:
    """Read the body itself, as far as it is shown."""
    found = _RESPONSE.search(str(prompt[1].text))
    wanted = _wanted(prompt)
    if script.fault == "parser" or not wanted or found is None:
        return "Nothing of it is needed."
    try:
        body = json.loads(found[2])
    except ValueError:
        return "The response was cut, so it cannot be read."
    number = int(wanted[0].removeprefix("$").partition(".")[0])
    return json.dumps(dict(_selected(body, number, wanted)), ensure_ascii=False)


def _wanted(prompt: Sequence[BaseMessage]) -> list[str]:
    found = _WANTED.findall(str(prompt[1].text))
    return [str(reference) for reference in json.loads(found[-1])] if found else []


def _whole(script: Script, prompt: Sequence[BaseMessage]) -> dict[str, Any]:
    """The program of all gold steps; the functions that the prompt shows only by name are asked for first."""
    text = "\n".join(str(message.text) for message in prompt)
    if script.instruction not in str(prompt[1].text):
        return {"decision": "end", "text": "This is not the instruction that the script is for."}
    if script.fault == "planner" or "<result-" in text:
        return {"decision": "end", "text": script.answer if script.fault else STUCK}
    names = [_function(script, number) for number in range(1, len(script.steps) + 1)]
    unseen = [name for name in dict.fromkeys(names) if f"\n{name}(" not in text]
    if unseen and not any(str(message.text).startswith(LOOKED) for message in prompt):
        return {"decision": "functions", "text": ", ".join(unseen)}
    if unseen:
        # Another document names its functions otherwise; the selector's list tells operations by method and path.
        return {"decision": "plan", "text": script.purpose(1)}
    return {"decision": "program", "text": whole_program(script, names)}


def _caller_program(script: Script, prompt: Sequence[BaseMessage]) -> str:
    """The program of the planned gold steps; it prints the values that later steps need."""
    task = str(prompt[1].text)
    values = Seen.of(script, prompt[1:2]).values
    found = _CALL.findall(task.partition("\nPlanned calls:\n")[2])
    numbers = [int(number) for _, _, number in found]
    wanted = [reference for number in numbers for reference in script.wanted(number)]
    return f"```python\n{_program(script, [name for _, name, _ in found], numbers, values, wanted)}\n```"


def _function(script: Script, number: int) -> str:
    """The name of the function of a gold step; to err as the selector, of a read that is in no step."""
    gold = [shape(step.operation) for step in script.steps]
    for name, operation in script.operations.items():
        key = shape(operation)
        is_other = key.startswith("GET ") and key not in gold and "{" not in key
        if is_other if script.fault == "selector" else key == gold[number - 1]:
            return name
    return ""


def whole_program(script: Script, names: Sequence[str]) -> str:
    """The program of all gold steps, which prints the answer: computed from the results, if the task says how."""
    numbers = range(1, len(names) + 1)
    writer = Writer(variables_of(script.steps, numbers, script.operations), {})
    report = writer.report(script.report) if script.report else repr(script.answer)
    return "\n".join([*_calls(script, names, numbers, writer, report), f"print({report})"])


def _program(
    script: Script, names: Sequence[str], numbers: Sequence[int], known: Mapping[str, list[Any]], wanted: list[str]
) -> str:
    """A program that carries out gold steps one after the other, and prints the values of references."""
    writer = Writer(variables_of(script.steps, numbers, script.operations), known)
    if script.fault == "parser":
        return "\n".join([*_calls(script, names, numbers, writer, ""), "print('Nothing of it is needed.')"])
    printed = ", ".join(f"{name!r}: {writer.all_values(name)}" for name in wanted)
    calls = _calls(script, names, numbers, writer, printed)
    return "\n".join(["import json", *calls, f"print(json.dumps({{{printed}}}))"])


def _calls(script: Script, names: Sequence[str], numbers: Sequence[int], writer: Writer, last: str) -> Iterator[str]:
    """The lines of gold steps; a result that neither a later line nor the last one reads gets no name."""
    is_wrong = script.fault in ("selector", "caller")
    calls = {
        number: f"{name}()" if is_wrong else writer.call(name, script.steps[number - 1])
        for name, number in zip(names, numbers, strict=True)
    }
    for number, call in calls.items():
        variable = writer.variables[number]
        later = " ".join([*(calls[other] for other in calls if other > number), last])
        yield f"{variable} = {call}" if re.search(rf"\b{variable}\b", later) else call


def _react(script: Script, prompt: Sequence[BaseMessage]) -> dict[str, Any]:
    return _rest(script, prompt, most=1)


def _rest(script: Script, prompt: Sequence[BaseMessage], most: int | None = None) -> dict[str, Any]:
    """The calls that are still to be made, at most so many; or the answer."""
    refused = any(str(message.text).startswith("These calls were not made") for message in prompt)
    rounds = sum("<result-" in str(message.text) for message in prompt[2:] if message.type == "human")
    done = rounds if script.fault and most else Seen.of(script, prompt[2:]).fulfilled
    if script.fault == "planner" or refused or (rounds > done) or done >= len(script.steps):
        answer = script.answer if script.fault or done >= len(script.steps) else STUCK
        return {"thought": "", "calls": [], "answer": answer, "description": ""}
    numbers = range(done + 1, len(script.steps) + 1)[:most]
    names = [_chosen(script, prompt, number) for number in numbers]
    calls = [
        {"operation": name, "purpose": script.purpose(number), "needs": list(range(1, position))}
        for position, (number, name) in enumerate(zip(numbers, names, strict=True), 1)
        if name
    ]
    return {"thought": "", "calls": calls, "answer": "" if calls else script.answer, "description": ""}


def _answer(script: Script, prompt: Sequence[BaseMessage]) -> str:
    return script.answer


def _judge(script: Script, prompt: Sequence[BaseMessage]) -> dict[str, Any]:
    return {"success": not script.fault, "reflection": "Look again." if script.fault else ""}


def _tools(
    script: Script, prompt: Sequence[BaseMessage], offered: Sequence[Mapping[str, Any]]
) -> tuple[str, list[ToolCall]]:
    """The next tool call, or the answer; the tool results are whole bodies, out of which the player reads values."""
    results = [message for message in prompt if isinstance(message, ToolMessage)]
    if script.rounds:
        return _known(script, offered, len(results))
    good = [str(message.text) for message in results if message.status == "success"][: len(script.steps)]
    done = len(results) if script.fault else len(good)
    if script.fault == "planner" or done >= len(script.steps):
        return script.answer, []
    if len(results) > done:
        return STUCK, []
    values = {name: found for number, body in enumerate(good, 1) for name, found in _values_of(script, number, body)}
    arguments = _arguments(script.steps[done], Seen(done, values))
    tool = _tool(script, offered, done + 1)
    if tool is None or arguments is None:
        return script.answer if script.fault else STUCK, []
    is_wrong = script.fault in ("selector", "caller")
    call: ToolCall = {
        "name": tool["name"],
        "args": {} if is_wrong else _flat(arguments, tool["parameters"]["properties"]),
        "id": f"call-{len(results) + 1}",
        "type": "tool_call",
    }
    return "", [call]


def _known(script: Script, offered: Sequence[Mapping[str, Any]], made: int) -> tuple[str, list[ToolCall]]:
    """The tool calls of the round that follows so many calls, or the answer after the last one."""
    fields = {tool["function"]["name"]: tool["function"]["parameters"]["properties"] for tool in offered}
    for calls in script.rounds:
        if made <= 0:
            given = [(name, {"body": args} if [*fields[name]] == ["body"] else dict(args)) for name, args in calls]
            return "", [
                {"name": name, "args": args, "id": f"call-{number}", "type": "tool_call"}
                for number, (name, args) in enumerate(given)
            ]
        made -= len(calls)
    return script.answer, []


def _values_of(script: Script, number: int, body: str) -> Iterator[tuple[str, list[Any]]]:
    """The values that later steps need from a body; a player that errs as the parser reads none."""
    try:
        found = json.loads(body)
    except ValueError:
        return
    if script.fault != "parser":
        yield from _selected(found, number, script.wanted(number))


def _tool(script: Script, offered: Sequence[Mapping[str, Any]], number: int) -> Mapping[str, Any] | None:
    """The definition of the tool of a gold step; to err as the selector, of a read that is in no step."""
    gold = [shape(step.operation) for step in script.steps]
    for definition in offered:
        tool: Mapping[str, Any] = definition["function"]
        key = shape(script.operations.get(tool["name"], ""))
        is_other = key.startswith("GET ") and key not in gold and "{" not in key
        if is_other if script.fault == "selector" else key == gold[number - 1]:
            return tool
    return None


def _flat(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments grouped by place as the flat arguments of a tool."""
    body = arguments.get("body")
    found: dict[str, Any] = {}
    for place in ("path", "query"):
        for name, value in arguments.get(place, {}).items():
            found[f"{name}__{place}" if f"{name}__{place}" in properties and name in found else name] = value
    if body is None:
        return found
    return {**found, "body": body} if "body" in properties else {**found, **body}


TOOLS = "You are an assistant that carries out a user's instruction with tools"
"""The opening of the system message of native tool calling, whose replies are messages."""

PLAYS: Mapping[str, Callable[[Script, Sequence[BaseMessage]], str | dict[str, Any]]] = {
    "You fulfil a user's instruction with the functions": _whole,
    "You carry out one sub-task": _caller_program,
    "You are the planner": _planner,
    "You are the API selector": _selector,
    "You are the caller": _caller,
    "You write Python": _parser,
    "You read one API response": _direct,
    "You fulfil a user's instruction by calling REST APIs, one call": _react,
    "You plan, once and in advance": _rest,
    "You write the final answer": _answer,
    "You fulfil a user's instruction by calling REST APIs. You describe": _rest,
    "You judge whether a trial": _judge,
}
"""How each role replies, by the opening of its system message."""
