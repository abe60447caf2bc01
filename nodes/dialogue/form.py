"""The form of an answer: a typed value beside the text, for a host that gives a schema as `create_agent` takes it."""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel, TypeAdapter, create_model

from restgpt.nodes.run.run import Run
from restgpt.nodes.state.records import Step
from restgpt.nodes.state.results import bounded_results
from restgpt.prompts import fenced, render
from restgpt.tools.model.errors import ModelReplyError, UsedUpError
from restgpt.tools.model.reply import json_in

MOST_SCHEMA = 4000
"""The most characters of a form's JSON Schema in the prompts of the roles; they do not see a longer one."""


class Form:
    """The type of the answer: a pydantic model, a dataclass or a `TypedDict`; raises `TypeError` for anything else."""

    def __init__(self, kind: type[Any]) -> None:
        if not isinstance(kind, type):
            raise TypeError(
                f"response_format is a pydantic model, a dataclass or a TypedDict, not {type(kind).__name__}."
            )
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)
        is_model = issubclass(kind, BaseModel)
        self._reply: type[BaseModel] = kind if is_model else create_model(kind.__name__, value=(kind, ...))
        self._is_model = is_model

    @property
    def rule(self) -> str:
        """What the roles are told of the form, so that a report has it already."""
        schema = json.dumps(self._adapter.json_schema(), ensure_ascii=False, separators=(",", ":"))
        return render("form", schema=schema).strip() if len(schema) <= MOST_SCHEMA else ""

    def value(self, run: Run, instruction: str, steps: Sequence[Step], answer: str) -> Any:
        """Return the answer in its form: as it is, or as the planner's model puts it; None if it cannot."""
        text = answer.strip()
        if text.startswith("{") and text.endswith("}"):
            try:
                return self._adapter.validate_python(json_in(text))
            except ValueError:
                # No JSON, or of another form.
                pass
        results = fenced("result", "\n".join(bounded_results(steps)))
        task = render("formed_task", instruction=instruction, answer=answer, results=results)
        try:
            reply: Any = run.models.ask("planner", [SystemMessage(render("formed")), HumanMessage(task)], self._reply)
        except (ModelReplyError, UsedUpError):
            return None
        return reply if self._is_model else reply.value
