"""Generates parts of the documentation from the code: pictures of graph and question, settings, tree, examples.

A page marks the place of a generated part with `<!-- NAME -->` and `<!-- end of NAME -->`. `make docs` writes all
parts, and a test asserts that they are up to date.
"""

import ast
import io
import re
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from textwrap import fill
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from rich.console import CONSOLE_SVG_FORMAT, Console

from restgpt.commands.agent_run import Agent
from restgpt.commands.terminal import Terminal
from restgpt.graph.agent import graph
from restgpt.graph.persistence import Persistence
from restgpt.nodes.run.events import ProgressEvent
from restgpt.nodes.run.services import Context
from restgpt.prompts import names, text_of
from restgpt.specs import load_api
from restgpt.specs.reading.download import bundled_document
from restgpt.tools.model.scripted import ScriptedModel
from restgpt.tools.sandbox.code import WAIT
from restgpt.tools.sandbox.result import Entry
from restgpt.tools.sandbox.runner import run_program
from restgpt.tools.settings import Settings

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/architecture.md",
    "docs/embedding.md",
    "docs/recipes.md",
    "docs/sandbox.md",
    "docs/streaming.md",
    "docs/studio.md",
)
EXAMPLES = {
    "api tools": "api_tools.py",
    "client": "client.py",
    "subgraph": "subgraph.py",
    "tool": "tool_in_agent.py",
    "remote": "remote_graph.py",
    "recipe": "recipe.py",
    "streaming": "streaming.py",
    "javascript": "streaming.mjs",
}
ROOMS = (
    "lab",
    "restgpt-bench/restgpt_bench",
    "restgpt",
    "restgpt-functions/restgpt_functions",
    "restgpt/commands",
    "restgpt/mcp",
    "restgpt/server",
    "restgpt/host",
    "graph",
    "nodes",
    "restgpt/recipes",
    "restgpt/calling",
    "tools",
    "specs",
    "prompts",
)
OTHERS = {
    "page/": "The page of `restgpt ui`: TypeScript, built by `make page`.",
    "tests/": "A folder for each of these.",
    "docs/": "One page per subject; decisions/ explains the choices.",
}


def picture() -> str:
    """Return the graph as LangGraph draws it, in Mermaid."""
    drawn = graph.get_graph().draw_mermaid()
    # Without front matter and colours the renderer chooses its own, which fit light and dark pages.
    drawn = re.sub(r"\A---\n.*?\n---\n", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r":::\w+|\n\tclassDef .*", "", drawn)
    drawn = re.sub(r"\((\w+)<hr/><small><em>description = (.*?)</em></small>\)", r'("<b>\1</b><br/>\2")', drawn)
    # The label is quoted, because Mermaid takes a bare `end` for the end of a block.
    drawn = re.sub(r"-\. &nbsp;(.*?)&nbsp; \.->", r'-.->|"\1"|', drawn)
    return "\n".join(line.rstrip() for line in drawn.splitlines() if line.strip()) + "\n"


class Recorded(Terminal):
    """A terminal that is drawn, and at which nobody answers."""

    is_interactive = True
    console = Console(record=True, width=104, file=io.StringIO(), highlight=False, markup=False, emoji=False)

    def say(self, text: str) -> None:
        """Draw a message."""
        self.console.print(text)

    def ask(self, question: str) -> str:
        """Draw a question, and leave it for later."""
        self.say(question)
        return ""


def question() -> str:
    """Return what `restgpt ask` prints of a change on the toy board up to its question, as a picture in SVG."""
    instruction, terminal = "Create a project named Roof garden", Recorded()
    code = 'create_project(body={"name": "Roof garden"})\nprint("It is created.")'
    board = load_api(bundled_document("toy"), base_url="http://127.0.0.1:8101/v1", auth={"key": "none"}, name="board")
    agent = Agent.over(
        [board],
        context=Context(),
        settings=Settings(),
        persistence=Persistence(InMemorySaver(), InMemoryStore(), "memory", lambda thread: nullcontext()),
        model=ScriptedModel([{"thought": "", "decision": "program", "text": code}]),
        recipes=(),
    )
    terminal.say(f'$ restgpt ask "{instruction}" --api board --thread garden\nthread garden')
    given = {"messages": [("user", instruction)]}
    agent.drive("garden", given, terminal)
    # Who looks at the picture asks no other server for a font.
    style = re.sub(r" *@font-face \{\{.*?\}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    drawn = terminal.console.export_svg(title="", code_format=style, unique_id="question")
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


def settings() -> str:
    """Return the settings of a run as a table."""
    schema = Context.model_json_schema()
    rows = [
        f"| `{name}` | {_default(setting)} | {setting['description'].replace('|', chr(92) + '|')} |"
        for name, setting in schema["properties"].items()
    ]
    return "\n".join(["| setting | default | what it does |", "|---|---|---|", *rows]) + "\n"


def _default(setting: dict[str, Any]) -> str:
    value = setting.get("default")
    if setting.get("langgraph_type") == "prompt":
        return next(f"`prompts/{name}.md`" for name in names() if text_of(name) == value)
    if value in ("", [], None):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def tree() -> str:
    """Return the folders, each with the first paragraph of its package's docstring."""
    lines = {f"{room}/": _purpose(ROOT / room / "__init__.py") for room in ROOMS} | OTHERS
    width = max(map(len, lines))
    return "```\n" + "".join(f"{name:<{width}}  {purpose}\n" for name, purpose in lines.items()) + "```\n"


def _purpose(path: Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n\n")[0].replace("\n", " ")


def events() -> str:
    """Return the progress events as a table of types, what happened and fields with their JSON types; then remarks."""
    rows, remarks = [], []
    for event in get_args(ProgressEvent):
        kind, *fields = get_type_hints(event).items()
        told, _, more = (" ".join(part.split()) for part in (event.__doc__ or "").partition("\n\n"))
        listed = ", ".join(f"`{name}` ({_json_type(of)})" for name, of in fields)
        rows.append(f"| `{get_args(kind[1])[0]}` | {told} | {listed} |")
        remarks += [fill(f"- `{get_args(kind[1])[0]}`: {more}", 120, subsequent_indent="  ")] if more else []
    return "\n".join(["| `type` | what happened | other fields |", "|---|---|---|", *rows, "", *remarks]) + "\n"


def _json_type(of: Any) -> str:
    """Return the JSON type of an annotation in words."""
    if of in (bool, int, float, str, NoneType):
        return {bool: "true or false", int: "number", float: "number", str: "text", NoneType: "null"}[of]
    if get_origin(of) is list:
        return f"list of {_json_type(get_args(of)[0])}"
    if get_origin(of) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(of))
    if hints := getattr(of, "__annotations__", None):
        return "{" + ", ".join(f"`{name}`" for name in hints) + "}"
    return " or ".join(map(_json_type, get_args(of)))


def example(name: str) -> str:
    """Return the program of that name in docs/examples as a code block."""
    language = "python" if name.endswith(".py") else "javascript"
    return f"```{language}\n{(ROOT / 'docs' / 'examples' / name).read_text(encoding='utf-8')}```\n"


def constructs() -> str:
    """Return a table of what a program may contain that is not as in Python, and how such a program ends."""
    parts = (
        (ROOT / "tests" / "tools" / "sandbox" / "corpus" / "constructs.py").read_text(encoding="utf-8").split("#: ")[1:]
    )
    rows = ["| in a program | how it ends |", "|---|---|"]
    for part in parts:
        title, _, code = part.partition("\n")
        if problem := _problem(code):
            rows.append(f"| {title} | {problem} |")
    return "\n".join(rows) + "\n"


def _problem(code: str) -> str:
    """Return the error of a program, or "". Each call `get(n)` is answered by `n`, and one with 404 by an error."""
    entries: list[Entry] = []
    while True:
        options: Any = {"clock": 1_700_000_000.0, "seed": "a seed", "most": 100}
        run = run_program(code, entries=entries, functions=["get"], **options)
        if run.kind != "calls":
            if run.kind in ("finished", "unknown"):
                return ""
            problem = run.problem.strip().partition("\n")[0].partition(": ")[2].partition(" on line ")[0]
            return (problem or run.kind).replace("|", "\\|").replace("\n", " ")
        for call in run.calls:
            if call.function == WAIT:
                clock = options["clock"] + call.seconds
                entries.append(Entry(call.position, "", call.digest, "slept", until=clock, clock=clock))
                continue
            [n] = [*call.positional, *call.keywords.values()]
            given = "error" if n == 404 else "held" if n == 0 else "answer"
            entries.append(Entry(call.position, call.position, call.digest, given, int(n), {}, "json", str(n).encode()))  # type: ignore[arg-type]


def blocks() -> dict[str, str]:
    """Return every generated part by its name."""
    return {
        "graph": f"```mermaid\n{picture()}```\n",
        "settings": settings(),
        "tree": tree(),
        "events": events(),
        "constructs": constructs(),
        **{name: example(file) for name, file in EXAMPLES.items()},
    }


def filled(page: str, parts: dict[str, str]) -> str:
    """Return a page with its generated parts replaced."""
    for name, text in parts.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        page = re.sub(pattern, partial(_between, text), page, flags=re.DOTALL)
    return page


def _between(text: str, match: re.Match[str]) -> str:
    return match[1] + text + match[2]


def pages() -> dict[Path, str]:
    """Return the expected text of every generated file."""
    parts = blocks()
    written = {ROOT / name: filled((ROOT / name).read_text(encoding="utf-8"), parts) for name in PAGES}
    return written | {
        ROOT / "docs" / "graph.mmd": picture(),
        ROOT / "docs" / "pictures" / "question.svg": question(),
    }


def main() -> None:
    """Write all generated files."""
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
