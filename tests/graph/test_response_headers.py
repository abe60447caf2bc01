"""Guards that useful headers of responses reach the result of a call, as data, and nothing else of them does."""

from collections.abc import Iterator
from contextlib import contextmanager

from board import CALLS, agent_of
from loopback import Handler, served
from paths import api_of
from programs import actions, decide
from roles import by_role, call, end, plan, program, prompts_of, select

OK = {"responses": {"200": {"description": "OK"}}}
MATCH = {"name": "If-Match", "in": "header", "schema": {"type": "string"}}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
PATHS = {
    "/notes": {"post": {"operationId": "make_note", **OK}},
    "/note": {
        "get": {"operationId": "read_note", **OK},
        "put": {"operationId": "change_note", "parameters": [MATCH], **OK},
    },
    "/notes/{id}": {"delete": {"operationId": "delete_note", "parameters": [ID], **OK}},
}


@contextmanager
def notes() -> Iterator[str]:
    """Serve notes that are created with 201 and have an ETag; yields the base URL."""

    class Notes(Handler):
        def do_GET(self) -> None:
            self.answer({"text": "milk"}, ETag='"v17"', Set_Cookie="session=5")

        def do_POST(self) -> None:
            self.body()
            self.answer(b"", 201, Location="/notes/n-81")

    with served(Notes) as url:
        yield url


def test_results_have_the_place_of_what_was_made_and_the_version_of_what_was_read() -> None:
    planner = [plan("Make a note"), plan("Read the note"), end("Done.")]
    script = {"planner": planner, "selector": [select("make_note"), select("read_note")], "caller": [call({})] * 2}
    with notes() as url:
        agent = agent_of([api_of(PATHS, base_url=url)], by_role(script), context=CALLS)
        agent.ask("Make a note and read it", writes="allow")
    made, read = (step["result"] for step in agent.state["steps"])
    assert made.endswith("status 201. The response has no body. (Headers: location: /notes/n-81)")
    assert read.endswith('status 200. {"text": "milk"} (Headers: etag: "v17")')
    assert "session" not in "".join(agent.model.texts)
    assert "/notes/n-81" in str(prompts_of(agent.model, "planner")[1][-1].text)


def test_the_question_names_the_header_that_an_id_comes_from() -> None:
    code = "made = make_note()\ndelete_note(id=headers(made)['location'].rsplit('/', 1)[1])"
    with notes() as url:
        agent = agent_of([api_of(PATHS, base_url=url)], by_role({"express": [program(code)]}))
        agent.ask("Make a note, and delete it again")
        [action] = actions(decide(agent, "approve"))
    assert "path.id: header location of a response of make_note" in action["description"]
    assert "is in nothing" not in action["description"]
