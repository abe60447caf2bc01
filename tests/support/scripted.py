"""The fake chat model of the tests, which answers from a script."""

from typing import Any

from langchain_core.messages import AIMessage
from pydantic import BaseModel

from restgpt.tools.model.scripted import Script, ScriptedChatModel, ScriptedModel

Reply = str | dict[str, Any] | BaseModel | AIMessage | BaseException

__all__ = ["Reply", "Script", "ScriptedChatModel", "ScriptedModel"]
