"""Calls without a model: find an operation, call it, decide on the change that it makes, and undo it."""

import json

from restgpt import Called, Client, Pending, Undone, load_api
from restgpt.specs.reading.download import bundled_document
from restgpt_bench.worlds import CREDENTIAL, open_world
from restgpt_bench.worlds.server import serve


def main() -> list[str]:
    """Look something up, make a change that a person approves, and undo it."""
    with serve(open_world("toy")) as server:
        document = bundled_document("toy").read_bytes()
        api = load_api(document, base_url=server.url, auth={"key": CREDENTIAL})
        client = Client([api])
        said = [client.find("delete a task")[0].name]

        read = client.call("get_task", {"path": {"task_id": 103}})
        assert isinstance(read, Called)
        said.append(read.json["title"])

        waiting = client.call("delete_task", {"path": {"task_id": 103}})
        assert isinstance(waiting, Pending)
        said.append(waiting.description)
        # The question can be kept, sent to another place, and decided there by a person.
        kept = json.dumps(waiting.to_json())
        deleted = client.decide(Pending.from_json(json.loads(kept)), "approve")
        said.append(f"{deleted.operation}: {deleted.status_code}")

        reversing = deleted.undo()
        assert isinstance(reversing, Pending)
        undone = reversing.approve()
        assert isinstance(undone, Undone)
        return [*said, ", ".join(call.operation for call in undone.calls)]


if __name__ == "__main__":
    print("\n---\n".join(main()))
