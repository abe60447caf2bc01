"""Guards the conformance of MCP servers: what counts as a failure, and the proxy that renames."""

import requests

from lab.mcp.conformance import verdict
from lab.mcp.suite_server import Quiet, answering, proxied


def test_a_scenario_fails_only_by_a_check_that_the_server_offers() -> None:
    def checks(*told: tuple[str, str]) -> list[dict[str, str]]:
        return [{"status": status, "errorMessage": message} for status, message in told]

    assert verdict("tools-list", "restgpt", checks(("SUCCESS", ""))) == "pass"
    assert verdict("tools-list", "restgpt", checks(("SUCCESS", ""), ("FAILURE", "no tools"))) == "fail"
    assert verdict("tools-list", "restgpt", checks(("SUCCESS", ""), ("FAILURE", "Not testable: no tool"))) == "pass"
    assert verdict("tools-call-audio", "restgpt", checks(("FAILURE", "no audio"))) == "not offered"
    assert verdict("resources-read-text", "restgpt", checks(("FAILURE", "unknown"))) == "fail"
    assert verdict("resources-read-text", "fastmcp", checks(("FAILURE", "unknown"))) == "not offered"


def test_a_proxy_renames_in_both_directions() -> None:
    class Echo(Quiet):
        def do_POST(self) -> None:
            self.answer(200, self.rfile.read(int(self.headers["Content-Length"])) + b" real", {})

    with answering(Echo) as url, proxied(f"{url}/mcp", {"alias": "real"}) as through:
        assert requests.post(through, data=b"an alias", timeout=10).text == "an alias alias"
