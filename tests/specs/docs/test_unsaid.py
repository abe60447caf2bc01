"""Guards that the reply about a function adds what its signature lacks, and repeats nothing."""

from typing import Any

from restgpt.specs import load_api
from restgpt.specs.docs.signature import signature
from restgpt.specs.docs.unsaid import unsaid

DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.0",
    "info": {"title": "Notes", "version": "1"},
    "paths": {
        "/notes": {
            "post": {
                "operationId": "add_note",
                "summary": "Add a note.",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "required": ["text"],
                                "properties": {
                                    "text": {"type": "string"},
                                    "expiry": {
                                        "type": "object",
                                        "properties": {"day": {"type": "string", "description": "Counted in Zurich."}},
                                    },
                                },
                            }
                        }
                    },
                },
                "responses": {
                    "200": {
                        "description": "OK",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "properties": {
                                        "id": {"type": "string", "description": "A beautiful identifier."},
                                        "day": {"type": "string", "description": "Null unless the note expires."},
                                    },
                                }
                            }
                        },
                    }
                },
            }
        }
    },
}


def told() -> str:
    operation = load_api(DOCUMENT).operation("add_note")
    return unsaid(operation, signature(operation, "add_note", budget=200), budget=1000)


def test_a_line_with_new_words_stays_below_its_object() -> None:
    assert "expiry: {\n    day: string  Counted in Zurich." in told()


def test_what_the_signature_says_is_not_repeated() -> None:
    assert "text*" not in told()
    assert "Add a note" not in told()


def test_of_an_answer_only_rules_and_new_fields_are_added() -> None:
    assert "Null unless the note expires." in told()
    assert "beautiful" not in told()
