"""A script for the chat server with the replies of all roles to instructions on the toy API: a read, a write, a talk.

The first reply in the talk has an answer, but is no JSON.
"""

from chatserver import ChatRequest, Reply
from roles import ROLES, call, end, plan, program, select

READ = "How many tasks are there?"
WRITE = "Create a project named Roof garden"
TALK = "What can you do?"
ABLE = "I call the operations of the board, and I ask before each change."
BROKEN = '{"thought": "", "decision": "end", "text": "I can do many things.", "fulfilled": perhaps}'
READS = "print('There are', find_tasks()['total'], 'tasks.')"
WRITES = 'create_project(body={"name": "Roof garden"})\nprint("It is created.")'
FIND_PERSON = {
    "name": "find_person",
    "description": "Find a person.",
    "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
}
SAID = {"status 201": "It is created.", "user rejected": "Left alone.", "allows no changes": "Not allowed."}


def board_script(request: ChatRequest) -> Reply:
    """Reply with the one call that the prompt's instruction needs, then with an answer from its result."""
    if "function calls" in request.texts[0]:
        return {"calls": [{"name": "find_person", "arguments": {"name": "Ada"}}]}
    writes = any(f"{opening}: {WRITE}" in request.text for opening in ("Instruction", "for context only"))
    role = next(role for opening, role in ROLES.items() if request.texts[0].startswith(opening))
    match role:
        case "express" if f"Instruction: {TALK}" in request.text:
            return end(ABLE) if "cannot be used" in request.texts[-1] else BROKEN
        case "express" if "<result-" in request.text:
            return end(_answer(request.texts[-1]))
        case "express":
            return program(WRITES if writes else READS)
        case "planner" if "Called " not in request.text:
            return plan("Create the project Roof garden" if writes else "Count the tasks")
        case "planner":
            return end(_answer(request.texts[-1]))
        case "selector":
            return select("create_project" if writes else "find_tasks")
        case "caller":
            return call({"body": {"name": "Roof garden"}} if writes else {})
    return "print('There are', data['total'], 'tasks.')"


def _answer(result: str) -> str:
    said = SAID | {"There are 24 tasks.": "There are 24 tasks."}
    return next((answer for words, answer in said.items() if words in result), "It would be created.")
