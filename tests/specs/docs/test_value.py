"""Guards how the values of bodies and arguments are written: what a caller has to send, before what it rarely does."""

from typing import Any

from paths import read_paths

from restgpt.specs.docs.signature import signature

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
READER: dict[str, Any] = {
    "type": "object",
    "properties": {
        **{f"habit_{n}": {"type": "string", "maxLength": 50} for n in range(30)},
        "readerId": {"type": "string"},
        "name": {"type": "string"},
        "street": {"type": "string"},
    },
}
LOAN = {
    "type": "object",
    "properties": {
        "reader": {"$ref": "#/components/schemas/Reader"},
        "days": {"type": "integer"},
        "shelf": {"type": "string", "enum": ["north", "south"]},
    },
}


def function(paths: str, focus: str = "", budget: int = 150, **schemas: Any) -> str:
    [operation] = read_paths(paths, **schemas).operations
    return signature(operation, operation.name, budget=budget, focus=focus)


def test_a_record_inside_of_what_a_body_is_about_has_its_id_and_name_first() -> None:
    text = function(LOANS, Loan=LOAN, Reader=READER)
    assert "loans: [{reader: {readerId: str, name: str, habit_0: str" in text
    assert "…}, days: int, shelf: 'north'|'south'}]" in text
    assert "habit_9" not in text


def test_a_record_inside_of_a_body_has_the_fields_that_the_instruction_names() -> None:
    assert "reader: {street: str, " in function(LOANS, "Lend it to the street of Ada", Loan=LOAN, Reader=READER)


def test_a_record_inside_of_a_body_has_all_its_fields_where_there_is_room() -> None:
    assert "habit_29: str" in function(LOANS, Loan=LOAN, Reader=READER, budget=2500)
