"""The sandbox as a LangChain tool: the model gives the argument `code`; the caller of `python_tool` gives the data."""

from typing import Literal

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from restgpt.tools.graphs.thread_pool import SHARED
from restgpt.tools.sandbox.result import STANDARD
from restgpt.tools.sandbox.runner import Limits, SandboxResult, run_python

DESCRIPTION = (
    "Run Python over an API response. The response is in the variable `data` (parsed, if it is JSON). Print the "
    "answer. Only pure standard-library modules can be imported; there are no files, no network and no input."
)


class PythonInput(BaseModel):
    """The argument of the tool `python`."""

    code: str = Field(description="Python source that reads `data` and prints the answer.")


def python_tool(data: object, *, media: Literal["json", "text"] = "json", limits: Limits = STANDARD) -> BaseTool:
    """Return the tool `python` over `data`; its content is the feedback text and its artifact the SandboxResult."""

    def run(code: str) -> tuple[str, SandboxResult]:
        result = run_python(code, data, media=media, limits=limits)
        return result.feedback(), result

    async def run_in_thread(code: str) -> tuple[str, SandboxResult]:
        return await SHARED.run(run, code)

    return StructuredTool.from_function(
        func=run,
        coroutine=run_in_thread,
        name="python",
        description=DESCRIPTION,
        args_schema=PythonInput,
        response_format="content_and_artifact",
    )
