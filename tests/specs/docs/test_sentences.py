"""Guards that sentences which state a rule keep their room in the texts of operations."""

import pytest
from paths import api_of, operation_of

from restgpt.specs import Api, Operation, load_api
from restgpt.specs.docs.documentation import documentation
from restgpt.specs.docs.prose import beyond, chosen, docstring, is_common_rule, is_rule, sentences
from restgpt.specs.docs.signature import signature

FILTERED = """
openapi: 3.0.0
info: {title: Runs, version: "1"}
paths:
  /flows/{flow}/runs:
    get:
      operationId: list_runs
      summary: List the runs of a flow.
      description: |
        Returns runs that the caller may see. The list is made anew for each request and holds what is known then.
        Pass `~` as the flow to get the runs of all flows. Results are sorted by id unless `order_by` is given.
      parameters:
        - {name: flow, in: path, required: true, schema: {type: string}}
        - {name: limit, in: query, schema: {type: integer, default: 50, maximum: 100}}
FILTERS
        - {name: name_pattern, in: query, schema: {type: string},
           description: "A pattern of SQL, in which `%` means any text. Regular expressions are not supported."}
        - {name: kind_pattern, in: query, schema: {type: string},
           description: "A pattern of SQL, in which `%` means any text. Regular expressions are not supported."}
        - {name: is_manual, in: query, schema: {type: boolean}}
      responses:
        "200": {description: OK, content: {application/json: {schema: {type: array, items: {type: object,
          properties: {id: {type: string}, state: {type: string, enum: [queued, running]}}}}}}}
"""
ENDINGS = ("", "_gte", "_gt", "_lte", "_lt")
DATES = ("start_date", "end_date", "logical_date", "updated_at", "queued_at", "closed_at")


@pytest.fixture(scope="module")
def filtered() -> Operation:
    """An operation that has more than thirty filters."""
    names = [f"{date}{ending}" for date in DATES for ending in ENDINGS]
    lines = [f"        - {{name: {name}, in: query, schema: {{type: string, format: date-time}}}}" for name in names]
    return load_api(FILTERED.replace("FILTERS", "\n".join(lines))).operation("list_runs")


def test_rules_come_before_the_tail_of_filters_and_what_filters_share_is_written_once(filtered: Operation) -> None:
    text = signature(filtered, "list_runs", budget=150)
    assert "Pass ~ as the flow to get the runs of all flows." in text
    assert "sorted by id unless order_by is given" in text
    assert "limit=50 ≤100" in text
    assert "is_manual: bool" in text
    assert f"\n  {', '.join(DATES)}: each also _gte, _gt, _lte, _lt" in text
    assert ("start_date_gte" in text, "start_date: datetime" in text) == (False, True)
    text = signature(filtered, "list_runs", budget=200)
    assert text.count("Regular expressions are not supported") == 1
    assert "name_pattern, kind_pattern: " in text


def test_the_documentation_folds_the_same_filters_and_keeps_the_rules(filtered: Operation) -> None:
    text = documentation(filtered, budget=300)
    assert "Pass ~ as the flow" in text
    assert "each also _gte, _gt, _lte, _lt" in text
    assert "is_manual" in text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Use `~` for all.", True),
        ("The date must lie in the future.", True),
        ("Defaults to 50.", True),
        ("At most 100 ids.", True),
        ("Leave it out to keep the old value.", True),
        ("An empty list means no restriction.", True),
        ("You must use an access token with the repo scope.", False),
        ("Returns the list of pets.", False),
        ("Requires admin permissions.", False),
    ],
)
def test_a_sentence_that_tells_how_to_call_is_a_rule_but_not_sign_in_and_purpose(text: str, rule: bool) -> None:
    assert is_rule(text) is rule


def test_rules_that_do_not_fit_are_counted() -> None:
    found = sentences("It must be red. It must be round. It must be made of very expensive and shiny materials.")
    assert chosen(found, 0, 40) == ["It must be red.", "It must be round.", "… 1 more rule."]


def test_a_cut_summary_goes_on_with_its_rest() -> None:
    found = beyond("The name must be unique in the whole workspace of the team.", "The name must be unique in…")
    assert [sentence.text for sentence in found] == ["…the whole workspace of the team"]


TRAILER = """

Returns:
    The response will be the direct output of the tool.

- Returns 400 if the tool fails
- Every key must be kept.
"""


def tools(count: int, trailer: str = TRAILER) -> Api:
    told = [{"description": f"Tool {n} opens door {n}.{trailer}", "responses": {}} for n in range(count)]
    return api_of({f"/t{n}": {"post": operation} for n, operation in enumerate(told)})


def test_sentences_of_most_operations_are_common_and_left_out_of_each() -> None:
    api = tools(10)
    operation = api.operations[3]
    for text in (operation.description, docstring(operation.description).text):
        found = beyond(text, "Do it.", api.common_sentences)
        assert [sentence.text for sentence in found] == ["Tool 3 opens door 3."]
    assert beyond(docstring(operation.description).returns, "", api.common_sentences) == ()
    assert list(filter(is_common_rule, api.common_sentences)) == ["- Every key must be kept."]


def test_common_sentences_are_found_in_a_part_of_very_many_operations_but_not_in_two() -> None:
    assert "- Returns 400 if the tool fails" in tools(3000).common_sentences
    assert tools(2).common_sentences == tools(10, "").common_sentences == ()


def test_a_list_whose_answer_nobody_describes_has_pages() -> None:
    parameters = [{"name": name, "in": "query", "schema": {}} for name in ("state", "page")]
    responses = {"200": {"description": "OK", "content": {"application/json": {"schema": {}}}}}
    jobs = operation_of({"parameters": parameters, "responses": responses}, path="/jobs")
    assert "pages=1" in signature(jobs, "list_jobs", budget=100)
