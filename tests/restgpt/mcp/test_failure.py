"""Guards what a client reads of an error that nobody foresaw: its type and place, never its own text."""

import asyncio
import logging
from typing import Any, cast

import pytest
from langgraph.store.memory import InMemoryStore
from mcp import MCPError
from mcpserver import ERAS, connected

from restgpt.mcp.protocol import Works, make_server
from restgpt.mcp.seal import Seals
from restgpt.mcp.service import Service, _or_error
from restgpt.tools.errors import RestgptError
from restgpt.tools.text.redaction import Redactor

SECRET = "planted-mcp-secret-07"


def broken(*_: object, **__: object) -> Any:
    raise KeyError(SECRET)


class BrokenService:
    """A service all of whose methods fail."""

    def __getattr__(self, name: str) -> Any:
        return broken


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("request_", ["list_tools", "call_tool", "read_resource"])
def test_no_text_of_an_unforeseen_error_is_answered(era: str, request_: str, caplog: pytest.LogCaptureFixture) -> None:
    server = make_server(cast("Service", BrokenService()), Seals(InMemoryStore()), lambda context: "client", Works())
    arguments = {"list_tools": (), "call_tool": ("find_operations", {}), "read_resource": ("restgpt://result/x",)}

    async def run() -> str:
        async with connected(server, era) as client:
            with pytest.raises(MCPError, match=r"KeyError at test_failure\.py") as caught:
                await getattr(client, request_)(*arguments[request_])
        return repr(caught.value)

    with caplog.at_level(logging.ERROR, "restgpt.mcp"):
        assert SECRET not in asyncio.run(run())
    assert "A request failed" in caplog.text


def test_a_tool_that_fails_tells_the_model_type_and_place_only() -> None:
    said = _or_error(broken)
    assert not hasattr(said, "standing")
    assert "KeyError at test_failure.py" in str(said)
    assert SECRET not in str(said)


def test_the_text_of_a_foreseen_error_is_without_secrets() -> None:
    Redactor([SECRET])

    def refused() -> Any:
        raise RestgptError(f"refused {SECRET}")

    assert "Refused [redacted]." in str(_or_error(refused))
