"""Opens the tasks of a world by its name."""

from importlib import import_module
from typing import cast

from restgpt_bench.restbench.judges.task import Task
from restgpt_bench.worlds import NAMES


def open_tasks(name: str, *, own: bool = False) -> tuple[Task, ...]:
    """The tasks of a world by its name: the published instructions, or our `own`; LookupError on an unknown name."""
    if name not in NAMES:
        raise LookupError(f"there is no world {name}; there are: {', '.join(NAMES)}")
    tasks = import_module(f"restgpt_bench.restbench.judges.{name}.tasks")
    return cast("tuple[Task, ...]", tasks.own() if own else tasks.published())
