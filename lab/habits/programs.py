"""Habits about the program: the reply has the right form, but its code does what does not work here."""

from lab.habits.habit import ADD, COUNT, HOURS, NAME, TOTAL, Habit, Task, program

SAFE_CHANGE = 'update_task(task_id=103, body={"hours": 5})'


def _habit(name: str, task: Task, code: str, clue: str = ".", *again: str) -> Habit:
    return Habit(name, task, program(code), clue, tuple(map(program, again)))


PROGRAMS = [
    # Arguments.
    _habit("positional arguments", HOURS, 'update_task(103, {"hours": 5})\nprint("5 hours")'),
    _habit(
        "a wrong place of a positional argument", HOURS, 'update_task({"hours": 5}, 103)\nprint("5 hours")', "task_id"
    ),
    _habit("texts for numbers", HOURS, 'update_task(task_id="103", body={"hours": "5"})\nprint("5 hours")'),
    _habit("fields of the body as arguments", HOURS, 'update_task(task_id=103, hours=5)\nprint("5 hours")'),
    _habit(
        "camelCase in an argument", HOURS, 'update_task(taskId=103, body={"hours": 5})\nprint("5 hours")', "task_id"
    ),
    _habit("the argument id", HOURS, 'update_task(id=103, body={"hours": 5})\nprint("5 hours")', "task_id"),
    _habit("arguments by place", NAME, 'print(get_task(path={"task_id": 103})["title"])', "task_id"),
    _habit("one object of arguments", NAME, 'print(get_task({"task_id": 103})["title"])', "task_id"),
    _habit("the body as a text of JSON", HOURS, "update_task(task_id=103, body='{\"hours\": 5}')\nprint('5 hours')"),
    _habit(
        "a field that the body lacks", HOURS, 'update_task(task_id=103, body={"hour": 5})\nprint("5 hours")', "hours"
    ),
    _habit("a credential as an argument", TOTAL, 'print(find_tasks(api_key="x")["total"])', "api_key"),
    _habit("an argument that there is not", TOTAL, 'print(find_tasks(limit=100)["total"])', "limit"),
    _habit("a page for all", TOTAL, 'print(find_tasks(page="all")["total"])', "page"),
    # Functions.
    _habit("an invented function", TOTAL, "print(count_tasks())", "count_tasks"),
    _habit("camelCase in a function", TOTAL, 'print(findTasks()["total"])', "find_tasks"),
    _habit("functions of a module", TOTAL, 'import api\nprint(api.find_tasks()["total"])', "api"),
    _habit("functions that are imported", TOTAL, 'from api import find_tasks\nprint(find_tasks()["total"])', "api"),
    _habit("functions of a client", TOTAL, 'print(client.find_tasks()["total"])', "client"),
    _habit("functions below their tag", TOTAL, 'print(tasks.find_tasks()["total"])', "tasks"),
    _habit("a request of its own", TOTAL, 'import requests\nprint(requests.get("/tasks").json()["total"])', "requests"),
    _habit(
        "functions that it defines itself",
        TOTAL,
        'def find_tasks():\n    return {"total": 7}\n\nprint(find_tasks()["total"])',
    ),
    _habit("a report from memory", COUNT, "print('12 tasks are open.')", "called no function"),
    # Answers.
    _habit(
        "an answer that is decoded once more", TOTAL, 'import json\nprint(json.loads(find_tasks())["total"])', "json"
    ),
    _habit("an answer with a method json", TOTAL, 'print(find_tasks().json()["total"])', "json"),
    _habit("an envelope that is not there", TOTAL, 'print(find_tasks()["data"]["total"])', "data"),
    _habit("a field that is not there", NAME, 'print(get_task(task_id=103)["name"])', "title"),
    _habit(
        "a missing field without an error", NAME, 'print("The title is", get_task(task_id=103).get("name"))', "title"
    ),
    _habit("fields as attributes", NAME, "print(get_task(task_id=103).title)"),
    _habit("a list that is an object", COUNT, "print(sum(not task['done'] for task in find_tasks()))"),
    _habit("a status that is unpacked", TOTAL, 'status, body = find_tasks()\nprint(body["total"])'),
    _habit(
        "a forgotten rest of the pages",
        COUNT,
        "tasks = rows(find_tasks())\nprint(sum(not task['done'] for task in tasks), 'tasks are open.')",
    ),
    _habit(
        "pages that it turns itself",
        COUNT,
        "open_tasks, page = 0, 1\nwhile page <= find_tasks(page=page)['pages']:\n"
        "    open_tasks += sum(not task['done'] for task in find_tasks(page=page)['items'])\n    page += 1\n"
        "print(open_tasks, 'tasks are open.')",
    ),
    _habit(
        "truth as a text",
        COUNT,
        "tasks = rows(find_tasks(pages=20))\nprint(sum(task['done'] == 'false' for task in tasks), 'tasks are open.')",
    ),
    _habit("the whole answer as the report", TOTAL, "print(find_tasks())"),
    # Python.
    _habit("no print", TOTAL, 'find_tasks()["total"]', "print"),
    _habit("a return in place of a print", TOTAL, 'return find_tasks()["total"]'),
    _habit("a main that nobody calls", TOTAL, 'def main():\n    print(find_tasks()["total"])', "print"),
    _habit(
        "a main behind __name__",
        TOTAL,
        'def main():\n    print(find_tasks()["total"])\n\nif __name__ == "__main__":\n    main()',
    ),
    _habit("await", TOTAL, 'print((await find_tasks())["total"])', "await|synchronous"),
    _habit(
        "asyncio",
        TOTAL,
        "import asyncio\n\nasync def main():\n    print((await find_tasks())['total'])\n\nasyncio.run(main())",
    ),
    _habit("input", HOURS, f'if input("Shall I? ") == "y":\n    {SAFE_CHANGE}\nprint("5 hours")', "input"),
    _habit("names of JSON", COUNT, "print(len(rows(find_tasks(done=false, pages=20))), 'tasks are open.')", "false"),
    _habit("Python 2", TOTAL, 'print find_tasks()["total"]'),
    _habit("quotes that do not match", TOTAL, "print(find_tasks()['total\"])"),
    _habit("typographic quotes in code", TOTAL, "print(find_tasks()[‘total’])"),
    _habit("JavaScript", TOTAL, "const found = await find_tasks();\nconsole.log(found.total);"),
    _habit(
        "a call as JSON in place of code",
        HOURS,
        '{"function": "update_task", "arguments": {"task_id": 103, "hours": 5}}',
    ),
    _habit("a sentence in place of code", HOURS, "Call update_task with task_id 103 and hours 5."),
    _habit("ellipses in code", HOURS, "update_task(task_id=103, body={...})\nprint('5 hours')"),
    # Changes and failures.
    _habit(
        "every error is swallowed",
        HOURS,
        'try:\n    update_task(task_id=103, body={"hour": 5})\nexcept Exception:\n    pass\nprint("5 hours")',
        "hours",
    ),
    _habit(
        "an endless retry",
        HOURS,
        'while True:\n    try:\n        update_task(task_id=9999, body={"hours": 5})\n        break\n'
        "    except Exception:\n        continue",
        "9999",
    ),
    _habit("a wait", TOTAL, 'import time\ntime.sleep(0.1)\nprint(find_tasks()["total"])'),
    _habit(
        "an invented id", ADD, 'create_task(project_id=77, body={"title": "Buy soil"})\nprint("Added Buy soil")', "77"
    ),
    _habit(
        "an id that is a name",
        ADD,
        'create_task(project_id="Seed library", body={"title": "Buy soil"})\nprint("Added Buy soil")',
        "project_id",
    ),
    _habit(
        "an id that stays a placeholder",
        ADD,
        'create_task(project_id="<project_id>", body={"title": "Buy soil"})\nprint("Added Buy soil")',
        "project_id",
    ),
    _habit("a change before an error", ADD, f"{ADD.code}\nprint(made['titel'].upper())"),
    _habit("a change that is repeated to be sure", HOURS, f"{HOURS.code}\n{SAFE_CHANGE}"),
    _habit("a create that is repeated after an error", ADD, f"{ADD.code}\nprint(1 / (made['hours'] or 0))"),
    _habit(
        "the same error in every reply",
        HOURS,
        'update_task(task_id=103, body={"hour": 5})\nprint("5 hours")',
        r"\A\b\B",
    ),
    _habit(
        "another error in every reply",
        TOTAL,
        "print(count())",
        "find_tasks",
        'print(find_task()["total"])',
        'print(find_tasks()["count"])',
    ),
]
