"""Every request of the wire suite can be looked at with `restgpt call --dry-run --json` before it is sent."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner
from wire.case import Case, Sent
from wire.cases import CASES

from restgpt.cli import app
from restgpt.specs import load_api
from restgpt.tools.request.prepared_request import build_request
from restgpt.tools.request.view import view
from restgpt.tools.settings.environment import auth_variable
from restgpt.tools.text.redaction import Redactor

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
