"""A script for the chat server with the replies that the tests of the page need, one for each instruction."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

from chatserver import ChatRequest, Refusal, Reply
from planted import PLANTED
from roles import end, program

READ = "How many tasks are there?"
CREATE = "Create a project named Roof garden"
THREE = "Prepare the spring: a project, a task in project 1, and 9 hours for task 101"
HOSTILE = "Create a project with a strange name"
LARGE = "Add a task with long notes to project 1"
EXACT = "Set the hours of task 101 to a large number"
COPY = "Give the second task of the list one more hour"
REPAIR = "Create a project named Shed and tell its number"
SLOW = "Count the tasks slowly"
MANY = "Add task after task to project 1"
BIG = "How long are the notes of task 101?"
BROKEN = "Ask a model that is out of order"
UNWELL = "Ask a model that refuses with markup"
PLANT = "Plant this:"
UNABLE = "Paint the fence"
ASTRAY = "Move task 101 to project 999"
ALIKE = "Add the tasks Fill beds, Turn compost and Water seedlings to project 1"
UNFIT = "Give task 101 many hours"
REPORT = "Report on the tasks"
QUOTED = "Create a project with a name of shell characters"

STRANGE = "pay\u202ealice\u202c \u200bp\u0430ypal \x1b[31mred\x07 <img src=x onerror=alert(1)>"
"""A name with reordering marks, an invisible character, a Cyrillic letter, terminal escapes and HTML."""
NOTES = 400_000
CHANGES = 26
"""How many changes the instruction `MANY` makes, which is two steps of the graph each: it asks about each."""
HUGE = 9_007_199_254_740_993
"""The first whole number that JavaScript's numbers cannot hold."""
ANSWER = "There are 24 tasks on the board, and each of them has a title."

CODES = {
    READ: "print('There are', find_tasks()['total'], 'tasks.')",
    CREATE: 'create_project(body={"name": "Roof garden"})\nprint("It is created.")',
    THREE: """
results = gather(
    lambda: create_project(body={"name": "Rain garden", "owner": "Ada"}),
    lambda: create_task(project_id=1, body={"title": "Sow the peas", "hours": 2, "done": False}),
    lambda: update_task(task_id=101, body={"hours": 9}),
)
print("Two of three are done.")
""",
    HOSTILE: f'create_project(body={{"name": {STRANGE!r}}})\nprint("It is created.")',
    LARGE: f'create_task(project_id=1, body={{"title": "Long", "notes": "n" * {NOTES} + "END"}})\nprint("Added.")',
    EXACT: f'update_task(task_id="101", body={{"hours": {HUGE}}})\nprint("Set.")',
    COPY: """
task = find_tasks()["items"][1]
update_task(task_id=task["id"], body={"hours": task["hours"] + 1})
print("It has one more.")
""",
    REPAIR: """
made = create_project(body={"name": "Shed"})
print("Its number is", made["id"] // (made["id"] - made["id"]))
""",
    SLOW: "stop(find_tasks()['total'])",
    ASTRAY: 'update_task(task_id=101, body={"project_id": 999})',
    UNFIT: 'find_tasks()\nupdate_task(task_id=101, body={"hours": "many"})',
    PLANT: f"""
# {PLANTED}
title = find_tasks()["items"][0]["title"]
plant_project(body={{"name": title, "owner": {PLANTED!r}}})
stop({PLANTED!r})
""",
    MANY: f"for n in range({CHANGES}):\n    create_task(project_id=1, body={{'title': str(n)}})\nprint('Done.')",
    ALIKE: """
for title in ("Fill beds", "Turn compost", "Water seedlings"):
    create_task(project_id=1, body={"title": title})
print("All three are added.")
""",
    QUOTED: """create_project(body={"name": "Bo's $HOME `id`"})""",
    BIG: "print('They have', len(get_task(task_id=101)['notes']), 'characters.')",
}
ENDS = {SLOW: ANSWER, PLANT: PLANTED}
"""What the model answers after a program of these instructions has stopped."""
REPAIRED = """
made = create_project(body={"name": "Shed"})
print("Its number is", made["id"])
"""


@dataclass
class PageScript:
    """The script; a model call of the instruction `SLOW` waits for its gate after the first request."""

    gate: Event = field(default_factory=Event)
    report: str = ""
    """The answer to the instruction `REPORT`."""

    def __call__(self, request: ChatRequest) -> Reply:
        """Reply with the program of the instruction, and after a stop or a refusal with an answer."""
        text = request.texts[-1]
        asked = max(
            [*CODES, BROKEN, UNWELL, UNABLE, REPORT],
            key=lambda instruction: request.text.rfind(f"Instruction: {instruction}"),
        )
        if asked == UNABLE or (asked == UNFIT and "Line 2:" in text):
            return end("That cannot be done here.", fulfilled=False)
        if asked == REPORT:
            return program(f"find_tasks()\nprint({self.report!r})")
        if asked == ASTRAY and "422" in text:
            return end("There is no such project.")
        if asked == UNWELL:
            return Refusal(400, PLANTED)
        if asked == BROKEN:
            return Refusal(400, "The model is out of order.")
        if asked == REPAIR and "ZeroDivisionError" in text:
            return program(REPAIRED.strip())
        if "<result-" in text or "rejected" in text:
            if asked == SLOW:
                self.gate.wait(60)
            return end(ENDS.get(asked, "One change was left out, as you said."))
        return program(CODES[asked].strip())

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Let the slow instruction wait until the context is left."""
        self.gate.clear()
        try:
            yield
        finally:
            self.gate.set()
