"""Every case of the wire suite holds for this project, and the published table says so."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner
from wire.case import Case, Sent, judge
from wire.cases import CASES
from wire.echo import EchoServer
from wire.ours import RestgptAdapter
from wire.table import page

from restgpt.cli import app
from restgpt.specs import load_api
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.request.view import view
from restgpt.tools.settings.environment import auth_variable
from restgpt.tools.text.redaction import Redactor


@pytest.fixture(scope="module")
def echo() -> Iterator[EchoServer]:
    with EchoServer() as server:
        yield server


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_case_holds_on_the_wire(case: Case, echo: EchoServer) -> None:
    echo.script(case.replies)
    outcome = RestgptAdapter().call(case, case.document(echo.url))
    assert judge(case, echo.arrived, outcome) == ""


def test_every_request_can_be_shown_as_json_without_its_credential() -> None:
    for case in CASES:
        if not isinstance(case.expect, Sent):
            continue
        api = load_api(case.document("http://127.0.0.1:1"), auth=case.auth)
        shown = json.dumps(build_request(api.operation("probe"), case.arguments).shown())
        assert not any(secret in shown for secret in case.auth.values())


def test_there_are_enough_cases_and_no_two_of_one_name() -> None:
    labels = [case.label for case in CASES]
    assert len(labels) >= 120
    assert len(labels) == len(set(labels))


def test_the_published_page_is_current() -> None:
    written = (Path(__file__).parents[2] / "docs" / "wire.md").read_text(encoding="utf-8")
    assert written == page({case.label: "" for case in CASES})


SHOWN = [case for case in CASES if isinstance(case.expect, Sent)]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("case", SHOWN, ids=lambda case: case.label)
def test_the_request_is_shown_as_it_would_be_sent(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "wire.json"
    path.write_text(json.dumps(case.document("http://127.0.0.1:1")))
    secrets = {auth_variable(scheme): value for scheme, value in case.auth.items()}
    line = ["call", "probe", "--spec", str(path), "--args", json.dumps(case.arguments), "--dry-run", "--json"]
    ran = CliRunner().invoke(app, line, env=secrets)
    assert ran.exit_code == 0, ran.output
    request = json.loads(ran.stdout)["request"]
    built = build_request(load_api(path.read_bytes()).operation("probe"), case.arguments)
    expected = view(built, Redactor())
    assert (request["method"], request["url"], request["body"]) == (
        expected["method"],
        expected["url"],
        expected["body"],
    )
    assert not any(secret in ran.output for secret in case.auth.values())
