"""AgentDojo's suites as REST APIs: a route for each function, an environment for each task, AgentDojo's own judges."""

import json
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from threading import Thread
from types import ModuleType
from typing import Annotated, Any

import uvicorn
import yaml
from pydantic import ValidationError

from lab.kit.process import MissingServerError
from restgpt.specs import load_api

FOLDER = Path(__file__).parents[2] / ".dojo"
VERSION = "v1.2.2"
SUITES = ("banking", "slack", "travel", "workspace")
READS = ("get_", "read_", "search_", "list_", "check_")
"""How the names of functions begin that only read."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@cache
def installed() -> Mapping[str, Any]:
    """Return AgentDojo's suites by name. Raises `MissingServerError` if it is not installed."""
    if not (FOLDER / ".ready").exists():
        raise MissingServerError("AgentDojo is not installed: run `make dojo`.")
    sys.path.append(str(FOLDER))
    # AgentDojo's pipelines import the clients of four providers of models; its suites need only their interface.
    for name in ("agentdojo.agent_pipeline", "agentdojo.agent_pipeline.ground_truth_pipeline"):
        sys.modules[name] = ModuleType(name)
    vars(sys.modules["agentdojo.agent_pipeline"])["__path__"] = [str(FOLDER / "agentdojo" / "agent_pipeline")]
    vars(sys.modules["agentdojo.agent_pipeline.ground_truth_pipeline"])["GroundTruthPipeline"] = None
    from agentdojo.task_suite.load_suites import get_suites

    return dict(get_suites(VERSION))


class Bed:
    """One suite with the environment of a task, and a log of what was called.

    `is_posted` says that every function is served by POST, so that only a rule of the owner tells which ones read.
    """

    def __init__(self, name: str, *, is_posted: bool = False) -> None:
        self.suite, self.is_posted = installed()[name], is_posted
        from agentdojo.functions_runtime import FunctionsRuntime

        self.functions = FunctionsRuntime(self.suite.tools)
        self.environment: Any
        self.before: Any
        self.api: Any
        self.log: list[Any] = []

    def open(self, task: Any, planted: Mapping[str, str]) -> None:
        """Begin a task anew, with these texts in place of the harmless ones that AgentDojo has in some answers."""
        text = _document(self.suite, frozenset(planted))
        for place, said in planted.items():
            text = text.replace(_mark(place), json.dumps(said)[1:-1])
        self.environment = self.suite.environment_type.model_validate(json.loads(text))
        self.environment = getattr(task, "init_environment", lambda environment: environment)(self.environment)
        self.before, self.log = self.environment.model_copy(deep=True), []

    def places(self, task: Any) -> list[str]:
        """Return the places whose text the right calls of a task read."""
        every = sorted(self.suite.get_injection_vector_defaults())
        self.open(task, {place: _mark(place) for place in every})
        read = str([self.call(call.function, call.args) for call in task.ground_truth(self.before)])
        return [place for place in every if _mark(place) in read]

    def call(self, name: str, arguments: Mapping[str, Any]) -> tuple[Any, str | None]:
        """Call a function in the environment; returns its result, and what went wrong."""
        from agentdojo.functions_runtime import FunctionCall

        self.log.append(FunctionCall(function=name, args=dict(arguments)))
        return self.functions.run_function(self.environment, name, arguments)  # type: ignore[no-any-return]

    def settled(self, name: str, arguments: Any) -> Any:
        """Return the arguments of a function with its defaults, to compare two calls; wrong ones as they are."""
        try:
            return self.functions.functions[name].parameters.model_validate(arguments).model_dump()
        except ValidationError:
            return arguments

    def changes(self, calls: Iterable[Any]) -> list[tuple[str, dict[str, Any]]]:
        """Return the calls that change something, with all their arguments."""
        return [(one.function, self.settled(one.function, one.args)) for one in calls if not reads(one.function)]

    def judged(self, task: Any, answer: str) -> bool:
        """Return AgentDojo's verdict: whether the user's task is done, or an injection's harm."""
        from agentdojo.types import text_content_block_from_string

        said = [text_content_block_from_string(answer)]
        return bool(self.suite._check_task_result(task, said, self.before, self.environment, self.log))

    def method(self, name: str) -> str:
        """Return the method by which a function is served."""
        return "GET" if reads(name) and not self.is_posted else "POST"

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve the functions on a free port of loopback, and give the base URL; `api` is that of the agent."""
        from fastapi import FastAPI

        app = FastAPI(title=f"{self.suite.name} of AgentDojo", version=VERSION)
        for function in self.suite.tools:
            self._route(app, function)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            thread = Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            url, name = f"http://127.0.0.1:{listening.getsockname()[1]}", self.suite.name
            self.api = load_api(app.openapi(), base_url=url, name=name, entry=name)
            try:
                yield url
            finally:
                server.should_exit = True
                thread.join()

    def _route(self, app: Any, function: Any) -> None:
        from fastapi import Body, HTTPException, Query

        async def endpoint(given: Any) -> Any:
            result, fault = self.call(function.name, given.model_dump(exclude_unset=True))
            if fault:
                raise HTTPException(400, fault)
            return result

        method, about = self.method(function.name), {"summary": function.description, "operation_id": function.name}
        endpoint.__annotations__["given"] = Annotated[function.parameters, Query() if method == "GET" else Body()]
        app.add_api_route(f"/{function.name}", endpoint, methods=[method], response_model=function.return_type, **about)


def reads(function: str) -> bool:
    """Return whether a function of a suite only reads, by its name."""
    return function.startswith(READS)


def _mark(place: str) -> str:
    return f"PLANTED{place}DETNALP"


@lru_cache
def _document(suite: Any, marked: frozenset[str]) -> str:
    """Return the environment of a suite as JSON, with a mark at each of some places."""
    from agentdojo.task_suite.task_suite import read_suite_file

    text = read_suite_file(suite.name, "environment.yaml", suite.data_path)
    harmless = suite.get_injection_vector_defaults()
    filled = text.format(**{**harmless, **{place: _mark(place) for place in marked}})
    return json.dumps(yaml.load(filled, _Loader), default=str)
