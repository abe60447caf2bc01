"""Habits about the form of a reply: the program in it is right, but it comes in a form that nobody asked for."""

import json
from html import escape
from typing import Any

from langchain_core.messages import AIMessage

from lab.habits.habit import COUNT, HOURS, NAME, Habit, in_text, program
from restgpt.tools.model.scripted import Reply

CODE = HOURS.code
CURLY = in_text("print(get_task(task_id=103)['title'])")


def _called(name: str, arguments: dict[str, Any]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "1", "type": "tool_call"}])


def _tool_call(arguments: Any) -> str:
    return json.dumps({"name": "ProgramReply", "arguments": arguments})


def _curly_quotes(text: str) -> str:
    """Return JSON with typographic quotes around its texts."""
    parts = text.split('"')
    return "".join(part + ("“" if number % 2 == 0 else "”") for number, part in enumerate(parts[:-1])) + parts[-1]


FORMS: dict[str, Reply] = {
    "a program without JSON": CODE,
    "a program in a fence": f"```python\n{CODE}\n```",
    "a program in a fence without language": f"```\n{CODE}\n```",
    "a program in a fence with tildes": f"~~~python\n{CODE}\n~~~",
    "prose around a program in a fence": f"Sure! Here it is:\n```python\n{CODE}\n```\nLet me know if it works.",
    "JSON in a fence": f"```json\n{in_text(CODE)}\n```",
    "prose around JSON": f"Here you go:\n{in_text(CODE)}\nDone!",
    "braces in the prose before JSON": f"I set {{hours}} as asked:\n{in_text(CODE)}",
    "JSON with a program in a fence": program(f"```python\n{CODE}\n```"),
    "a printed dict": str(program(CODE)),
    "a printed dict in a fence": f"```python\n{program(CODE)}\n```",
    "a comma too many": in_text(CODE).replace('"}', '",}'),
    "no comma at the end of a line": in_text(CODE).replace('", "text"', '"\n"text"'),
    "line breaks in a text": in_text(CODE).replace("\\n", "\n"),
    "typographic quotes": _curly_quotes(CURLY),
    "keys without quotes": in_text(CODE).replace('"thought"', "thought").replace('"text"', "text"),
    "a comment in JSON": in_text(CODE).replace('"text"', '// what to run\n"text"'),
    "a text in three quotes": f'{{"thought": "", "decision": "program", "text": """{CODE}"""}}',
    "JSON that is cut off": in_text(CODE)[:-9],
    "JSON in JSON": json.dumps(in_text(CODE)),
    "JSON in the text of a reply": program(in_text(CODE)),
    "a list around the reply": json.dumps([program(CODE)]),
    "the reply below a key": {"reply": program(CODE)},
    "the reply below the name of its type": {"ProgramReply": program(CODE)},
    "two replies": f'{{"thought": "I change it."}}\n{in_text(CODE)}',
    "the key program": {"thought": "", "decision": "program", "program": CODE},
    "the key code, without decision": {"code": CODE},
    "the key python": {"decision": "program", "python": CODE},
    "keys in capitals": {"Thought": "", "Decision": "program", "Text": CODE},
    "a decision in capitals": {**program(CODE), "decision": "PROGRAM"},
    "a decision of its own": {**program(CODE), "decision": "execute"},
    "no thought": {**program(CODE), "thought": None},
    "a program as a list of lines": {**program(""), "text": CODE.split("\n")},
    "a program with line breaks escaped twice": program(CODE.replace("\n", "\\n")),
    "a program with escaped signs": program(escape(CODE)),
    "a program that is indented": program("\n".join(f"    {line}" for line in CODE.split("\n"))),
    "a program after the word python": program(f"python\n{CODE}"),
    "a program as in the interpreter": program("\n".join(f">>> {line}" for line in CODE.split("\n"))),
    "a boolean in words": {**program(CODE), "fulfilled": "yes"},
    "thoughts before the reply": f"<think>They want five hours.</think>\n{in_text(CODE)}",
    "thoughts that do not end": f"<think>They want five hours.\n{in_text(CODE)}",
    "thoughts that begin nowhere": f"They want five hours.</think>\n{in_text(CODE)}",
    "an empty reply": "",
    "an empty object": {},
    "only thoughts": "<think>They want five hours.</think>",
    "blanks": " \n\t",
    "a tool call in tags": f"<tool_call>\n{_tool_call(program(CODE))}\n</tool_call>",
    "a tool call as JSON": json.dumps({"name": "ProgramReply", "parameters": program(CODE)}),
    "a tool call with its arguments as text": _tool_call(in_text(CODE)),
    "a call of an operation as a tool": _called("update_task", {"task_id": 103, "body": {"hours": 5}}),
    "a call of an operation as JSON": json.dumps({"name": "update_task", "arguments": {"task_id": 103, "hours": 5}}),
    "an apology": "I am sorry, but I cannot access external systems.",
    "only a call": "update_task(task_id=103, body={'hours': 5})",
    "a request in place of a program": 'PATCH /tasks/103\n{"hours": 5}',
    "a report of what was never done": {"thought": "", "decision": "end", "text": "Task 103 has 5 hours now."},
}

REPLIES = [
    *(Habit(name, NAME if reply == _curly_quotes(CURLY) else HOURS, reply) for name, reply in FORMS.items()),
    Habit(
        "an answer from memory",
        COUNT,
        {"thought": "", "decision": "end", "text": "12 tasks are open."},
        clue="nothing was called",
    ),
    Habit("functions without end", COUNT, {"decision": "functions", "text": "find_tasks"}, clue="shown above"),
]
