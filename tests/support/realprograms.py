"""Scripted replies for tasks on real servers: written for the tests, not recorded from a model."""

import json
from textwrap import dedent
from typing import Any

from scripted import ScriptedModel


def program(code: str) -> dict[str, Any]:
    return {"thought": "", "decision": "program", "text": dedent(code).strip()}


def end(text: str) -> dict[str, Any]:
    return {"thought": "", "decision": "end", "text": text, "fulfilled": False}


SEARCH = "search_threads_threads_search_post"
REPLIES = {
    "langgraph/red": [
        program(
            f"""
            threads = {SEARCH}(body={{"metadata": {{"team": "red"}}, "limit": 100}})
            owners = ", ".join(sorted(t["metadata"]["owner"] for t in threads))
            print(f"{{len(threads)}} threads have the team red, owned by {{owners}}.")
            """
        )
    ],
    "langgraph/maya": [
        program(
            f"""
            found = one({SEARCH}(body={{"metadata": {{"ticket": "T-104"}}}}))
            change = {{"metadata": {{"owner": "Maya"}}}}
            patch_thread_threads__thread_id__patch(thread_id=found["thread_id"], body=change)
            print("Maya owns the thread with the ticket T-104 now.")
            """
        )
    ],
    "langgraph/clear": [
        program(
            f"""
            blue = {SEARCH}(body={{"metadata": {{"team": "blue"}}, "limit": 100}})
            gather(
                *[delete_thread_threads__thread_id__delete(thread_id=t["thread_id"]) for t in blue],
                put_item(body={{"namespace": ["notes", "2026"], "key": "lunch", "value": {{"place": "Harbour"}}}}),
            )
            print(f"Deleted {{len(blue)}} threads and remembered the lunch.")
            """
        )
    ],
    "langgraph/namesakes": [
        program(
            """
            found = one(search_assistants_assistants_search_post(body={"name": "Summary"}), name="Summary")
            delete_assistant_assistants__assistant_id__delete(assistant_id=found["assistant_id"])
            print("Deleted.")
            """
        ),
        end("There are two assistants named Summary, in the regions north and south. Which one should I delete?"),
    ],
    "langgraph/filed": [
        program(
            """
            desk = one(search_assistants_assistants_search_post(body={"name": "Travel Desk"}), name="Travel Desk")
            message = {"role": "user", "content": "Where is my invoice?"}
            body = {"assistant_id": desk["assistant_id"], "input": {"messages": [message]}}
            print(wait_run_stateless_runs_wait_post(body=body)["messages"][-1]["content"])
            """
        )
    ],
    "kinto/count": [
        program(
            """
            books = rows(get_records(bucket_id="library", collection_id="books", pages=20))
            print(sum(b["bought"] < 2010 for b in books), "books were bought before 2010.")
            """
        )
    ],
    "kinto/unchanged": [
        program(
            """
            answer = patch_record(
                bucket_id="library", collection_id="rules", id="late-fee",
                If_Match='"VERSION"', body={"data": {"amount": 2.5}},
            )
            print("The late fee is", answer["data"]["amount"], "now.")
            """
        )
    ],
    "kinto/outdated": [
        program(
            """
            try:
                patch_record(
                    bucket_id="library", collection_id="rules", id="opening-hours",
                    If_Match='"1000000000000"', body={"data": {"close": "18:00"}},
                )
                print("Set.")
            except ApiError as error:
                print(f"The record has been changed since then, so nothing was set (status {error.status}).")
            """
        ),
    ],
    "kinto/clear": [
        program(
            """
            collections = rows(get_collections(bucket_id="library"))
            place = {"bucket_id": "library", "collection_id": one(collections, id="books")["id"]}
            members = one(collections, id="members")["id"]
            books = rows(get_records(**place, pages=20))
            gone = [b for b in books if b["status"] == "discarded"]
            member = {"name": "Ruth Okafor", "city": "Trier", "card": "M-118"}
            gather(
                *[delete_record(**place, id=b["id"]) for b in gone],
                create_record(bucket_id="library", collection_id=members, body={"data": member}),
            )
            print("Deleted", len(gone), "books and added Ruth Okafor.")
            """
        )
    ],
    "powerdns/addresses": [
        program(
            """
            server = listServers()[0]["id"]
            found = one(listZones(server_id=server), name="example.org.")
            zone = listZone(server_id=server, zone_id=found["id"])
            records = one(zone["rrsets"], name="www.example.org.", type="A")["records"]
            print("www.example.org has", " and ".join(r["content"] for r in records))
            """
        )
    ],
    "powerdns/move": [
        program(
            """
            server = listServers()[0]["id"]
            zone = listZone(server_id=server, zone_id=one(listZones(server_id=server), name="example.net.")["id"])
            found = one(zone["rrsets"], name="shop.example.net.", type="A")
            change = {"name": found["name"], "type": "A", "ttl": found["ttl"], "changetype": "REPLACE"}
            change["records"] = [{"content": "192.0.2.77", "disabled": False}]
            patchZone(server_id=server, zone_id=zone["id"], body={"rrsets": [change]})
            print("Moved.")
            """
        )
    ],
    "powerdns/alias": [
        program(
            """
            server = listServers()[0]["id"]
            zone = one(listZones(server_id=server), name="example.org.")
            change = {"name": "www.example.org.", "type": "CNAME", "ttl": 300, "changetype": "REPLACE"}
            change["records"] = [{"content": "web.example.com.", "disabled": False}]
            try:
                patchZone(server_id=server, zone_id=zone["id"], body={"rrsets": [change]})
                print("Added.")
            except ApiError as error:
                print(f"The server refused it: {error.body}")
            """
        ),
    ],
    # Changes too much: the person has to reject it.
    "powerdns/retire": [
        program(
            """
            server = listServers()[0]["id"]
            zone = one(listZones(server_id=server), name="example.org.")
            deleteZone(server_id=server, zone_id=zone["id"])
            print("Deleted.")
            """
        ),
        end("You rejected the change."),
    ],
}
"""The planner's replies in each task, in their order."""


def model_for(task: str, **values: str) -> ScriptedModel:
    """Return a model that gives the replies of a task, with names in them replaced by values."""
    replies = json.dumps(REPLIES[task])
    for name, value in values.items():
        replies = replies.replace(name, value)
    return ScriptedModel(json.loads(replies))
