"""No request, however odd, breaks a world: there is a documented kind of reply to all of them."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from restgpt_bench.worlds import CREDENTIAL, NAMES, World, open_world
from restgpt_bench.worlds.exchange import Request

WORLDS: dict[str, World[Any]] = {}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
VALUE = (
    st.text(max_size=12)
    | st.integers().map(str)
    | st.sampled_from(["-1", "nan", "1e999", "null", "true", "../..", "٣"])
)


def world_called(name: str) -> World[Any]:
    """One world per name for all examples: a broken reply must not need a fresh one."""
    return WORLDS.setdefault(name, open_world(name))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_arguments_get_a_reply(name: str, data: st.DataObject) -> None:
    world = world_called(name)
    operation = data.draw(st.sampled_from(sorted(world.routes)))
    known = next(item for item in world.api.operations if f"{item.method} {item.path}" == operation)
    named = {
        item.name: data.draw(VALUE)
        for item in known.parameters
        if item.location == "query" and data.draw(st.booleans())
    }
    path = {item.name: data.draw(VALUE) for item in known.parameters if item.location == "path"}
    reply = world.call(operation, path=path, query=named, body=data.draw(st.none() | JSON))
    assert 200 <= reply.status < 500


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from(["GET", "PUT", "PATCH", "TRACE"]),
    path=st.text(max_size=30),
    query=st.text(max_size=30),
    body=st.binary(max_size=30),
)
def test_any_bytes_get_a_reply(name: str, method: str, path: str, query: str, body: bytes) -> None:
    world = world_called(name)
    request = Request(method, f"{world.base_path}/{path}", query, {"Authorization": f"Bearer {CREDENTIAL}"}, body)
    assert 200 <= world.handle(request).status < 500


@pytest.mark.parametrize("name", NAMES)
def test_a_body_nested_without_end_is_refused(name: str) -> None:
    world = open_world(name)
    operation = next(operation for operation in world.routes if "{" not in operation)
    method, path = operation.split(" ")
    request = Request(method, world.base_path + path, "", {"Authorization": f"Bearer {CREDENTIAL}"}, b"[" * 200_000)
    assert world.handle(request).status == 400
