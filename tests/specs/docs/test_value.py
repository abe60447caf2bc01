"""Guards how the values of bodies and arguments are written: what a caller has to send, before what it rarely does."""

from typing import Any

import yaml
from paths import api_of, read_paths

from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.field import Note, written
from restgpt.specs.docs.signature import signature
from restgpt.tools.request.prepared_request import build_request

LOANS = """
/loans:
  post:
    operationId: add_loan
    summary: Lend a book
    requestBody:
      required: true
      content: {application/json: {schema: {type: object, properties: {
        loans: {type: array, items: {$ref: '#/components/schemas/Loan'}}}}}}
    responses: {204: {description: done}}
"""
TEXT = {"type": "string"}
HABITS = {f"habit_{n}": {**TEXT, "maxLength": 50} for n in range(30)}
READER: dict[str, Any] = {"type": "object", "properties": {**HABITS, "readerId": TEXT, "name": TEXT, "street": TEXT}}
LOAN = {
    "type": "object",
    "properties": {
        "reader": {"$ref": "#/components/schemas/Reader"},
        "days": {"type": "integer"},
        "shelf": {**TEXT, "enum": ["north", "south"]},
    },
}


def function(paths: str, focus: str = "", budget: int = 150, **schemas: Any) -> str:
    [operation] = read_paths(paths, **schemas).operations
    return signature(operation, operation.name, budget=budget, focus=focus)


def test_a_record_inside_of_a_body_has_its_id_and_name_first_or_what_the_instruction_names() -> None:
    text = function(LOANS, Loan=LOAN, Reader=READER)
    assert "loans: [{reader: {readerId: str, name: str, habit_0: str" in text
    assert "…}, days: int, shelf: 'north'|'south'}]" in text
    assert "habit_9" not in text
    assert "reader: {street: str, " in function(LOANS, "Lend it to the street of Ada", Loan=LOAN, Reader=READER)
    assert "habit_29: str" in function(LOANS, Loan=LOAN, Reader=READER, budget=2500)


SHARES = """
/shares:
  post:
    operationId: share
    parameters:
      - {name: role, in: query, schema: {type: string},
         description: "The role. Possible values are: 'none', 'reader', 'writer'."}
      - {name: kind, in: query, schema: {type: string}, description: "The kind, one of `user` or `group`."}
      - {name: mood, in: query, schema: {type: string}, description: "One of: glad, sad, or whatever you feel."}
      - {name: tone, in: query, schema: {type: string}, description: "Valid values are 'low', 'high', and others."}
      - {name: view, in: query, schema: {type: string},
         description: "What is seen.\\n- \\"whole\\": All of it.\\n- \\"part\\": A part of it."}
    requestBody:
      content: {application/json: {schema: {type: object, properties: {
        place: {type: string, description: 'Allowed values: "here", "there"'}}}}}
    responses: {204: {description: done}}
"""


def test_values_that_prose_lists_in_quotes_or_bullets_are_shown_as_values_and_refuse_nothing() -> None:
    text = function(SHARES)
    assert "role: 'none'|'reader'|'writer', kind: 'user'|'group', mood: str, tone: str, view: 'whole'|'part'" in text
    assert "body: {place: 'here'|'there'}" in text
    assert "Possible values" not in text
    assert "mood: One of: glad, sad, or whatever you feel." in text
    operation = api_of(yaml.safe_load(SHARES), base_url="http://localhost").operation("share")
    request = build_request(operation, {"query": {"role": "owner"}, "body": {"place": "elsewhere"}})
    assert request.url.endswith("/shares?role=owner")


MANY = """
/paint:
  get:
    operationId: paint
    summary: Paint
    parameters:
      - {name: colour, in: query, required: true, schema: {type: string, enum: [VALUES]},
         description: The colour of the wall. Valid values are listed here.}
    responses: {204: {description: done}}
"""


def test_values_of_a_required_argument_stand_before_text() -> None:
    values = [f"colour_of_the_sea_{number}" for number in range(18)]
    text = function(MANY.replace("VALUES", ", ".join(values)), budget=200)
    assert "colour*: str" in text
    assert f"colour: one of {' | '.join(map(repr, values))}." in text
    assert "Valid values are" not in text


def test_a_cut_text_does_not_end_where_its_values_begin() -> None:
    told = [Note("size", "The size of the sail as the loft writes it. Valid values are " + "small " * 20, 1, False)]
    for room in range(60, 90):
        assert not any(line.endswith(("values…", "are…")) for line in written(told, room))


LETTERS = """
/letters:
  post:
    operationId: write_letter
    description: "Raises ValueError: if the paper is used up"
    requestBody:
      description: The request body.
      content: {application/json: {schema: {type: object, description: Request model for letters, properties: {
        paper: {type: string, description: Response model for paper. Hand-made only.}}}}}
    responses: {204: {description: done}}
"""


def test_what_says_only_that_something_is_a_model_is_left_out() -> None:
    [operation] = read_paths(LETTERS).operations
    for text in (function(LETTERS), documentation(operation)):
        assert "Hand-made only." in text
        for idle in ("ValueError", "model for", "request body"):
            assert idle not in text
