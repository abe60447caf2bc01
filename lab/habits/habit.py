"""A habit of weak models, the tasks on which it shows, and a model that has it until it is told what is wrong."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import PrivateAttr

from restgpt.tools.model.scripted import Reply, ScriptedChatModel

GIVEN_UP = "It could not be done."


@dataclass(frozen=True, slots=True)
class Task:
    """A task of the toy API: the instruction, the program that carries it out, and a text that the answer must hold."""

    instruction: str
    code: str
    answer: str


COUNT = Task(
    "How many tasks are open?",
    "tasks = rows(find_tasks(pages=20))\nprint(sum(not task['done'] for task in tasks), 'tasks are open.')",
    "16 tasks are open.",
)
TOTAL = Task("How many tasks are there?", "print('There are', find_tasks()['total'], 'tasks.')", "24")
NAME = Task("What is the title of task 103?", "print('The title is', get_task(task_id=103)['title'])", "Paint the maps")
HOURS = Task(
    "Set the hours of task 103 to 5",
    'update_task(task_id=103, body={"hours": 5})\nprint("Task 103 has 5 hours now.")',
    "5",
)
ADD = Task(
    "Add the task Buy soil to the project Seed library",
    'project = one(rows(list_projects()), name="Seed library")\n'
    'made = create_task(project_id=project["id"], body={"title": "Buy soil"})\n'
    'print("Added", made["title"])',
    "Buy soil",
)


TASKS = {"count": COUNT, "total": TOTAL, "name": NAME, "hours": HOURS, "add": ADD}


@dataclass(frozen=True, slots=True)
class Habit:
    """One habit: what the model replies in place of a clean reply, on a task.

    It is mended when a prompt after the first says something that matches `clue`: a weak model corrects what it is
    told, and nothing else. `again` replies follow the first, whatever is said.
    """

    name: str
    task: Task
    reply: Reply
    clue: str = "."
    again: tuple[Reply, ...] = ()


def program(code: str) -> dict[str, Any]:
    """Return the clean reply with a program."""
    return {"thought": "", "decision": "program", "text": code}


def habits() -> list[Habit]:
    """Return all habits: about the form of a reply, and about the program in it."""
    forms = [Habit(name, HOURS, _filled(reply)) for name, reply in _read("replies.yaml").items()]
    return [*forms, *(_written(name, **given) for name, given in _read("programs.yaml").items())]


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return found


def _filled(reply: Any) -> Any:
    match reply:
        case {"tool_call": call}:
            return AIMessage("", tool_calls=[{**call, "id": "1", "type": "tool_call"}])
        case dict():
            return {name: _filled(value) for name, value in reply.items()}
        case str():
            return reply.replace("$json", json.dumps(program(HOURS.code))).replace("$code", HOURS.code)
    return reply


def _written(
    name: str, task: str, code: str = "", clue: str = ".", again: Sequence[str] = (), reply: Reply = ""
) -> Habit:
    written = program(code.replace("$code", TASKS[task].code))
    return Habit(name, TASKS[task], reply or written, clue, tuple(map(program, again)))


class HabitModel(ScriptedChatModel):
    """Has a habit until a prompt says what is wrong; plays the planner, and gives up what it is asked to plan."""

    _habit: Habit = PrivateAttr()
    _is_steady: bool = PrivateAttr(default=False)
    _asked: list[str] = PrivateAttr(default_factory=list)

    @classmethod
    def of(cls, habit: Habit, *, is_steady: bool = False) -> "HabitModel":
        """Return the model of a habit; a steady one gives its first reply for ever, as at temperature 0."""
        model = cls()
        model._is_steady = is_steady
        model._habit = habit
        return model

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self._asked)

    def reply(self, messages: list[BaseMessage], tools: Any) -> Reply:
        """Return the habitual reply, or the clean one once the prompt says what is wrong."""
        number, habit = len(self._asked), self._habit
        # What came after the instruction, without the model's own replies.
        told = "\n".join(str(message.text) for message in messages[2:] if message.type == "human")
        self._asked.append(told)
        if self._is_steady:
            return habit.reply
        if "You fulfil a user's instruction with the functions" not in str(messages[0].text):
            return {"thought": "", "decision": "end", "text": GIVEN_UP, "fulfilled": False}
        if number == 0:
            return habit.reply
        if number <= len(habit.again):
            return habit.again[number - 1]
        return program(habit.task.code) if re.search(habit.clue, told, re.DOTALL) else habit.reply
