"""Guards that a bare order finds the operation that does it, in general English, and lists few others."""

import time
from functools import partial

import pytest
from paths import read_paths

from restgpt.specs import Api, Catalogue
from restgpt.specs.search.query import Act, act_of, acts_of, methods_by_verb, read_query

HOTEL = """
/rooms:
  get: {operationId: list-rooms, summary: List the rooms of a hotel, responses: {}}
/rooms/{roomId}:
  parameters: [{name: roomId, in: path, required: true, schema: {type: string}}]
  get: {operationId: get-room, summary: Get a room, responses: {}}
/bookings:
  get: {operationId: list-bookings, summary: List the bookings of rooms, responses: {}}
  post: {operationId: create-booking, summary: Create a booking, responses: {}}
/bookings/{bookingId}:
  parameters: [{name: bookingId, in: path, required: true, schema: {type: string}}]
  get: {operationId: get-booking, summary: Get a booking, responses: {}}
  patch: {operationId: update-booking, summary: Update a booking, responses: {}}
  delete: {operationId: delete-booking, summary: Delete a booking, responses: {}}
/bookings/{bookingId}/move: {post: {operationId: move-booking, summary: Move a booking to other days, responses: {}}}
/bookings/{bookingId}/guests:
  get: {operationId: list-guests, summary: List the guests of a booking, responses: {}}
  post: {operationId: add-guest, summary: Add a guest to a booking, responses: {}}
/photos: {post: {operationId: post-photo, summary: Upload a photo of a room, responses: {}}}
/invoices:
  get: {operationId: list-invoices, summary: List invoices, responses: {}}
  post: {operationId: create-invoice, summary: Create an invoice, responses: {}}
/invoices/{invoiceId}/email: {post: {operationId: email-invoice, summary: Send an invoice by mail, responses: {}}}
/customers:
  get: {operationId: list-customers, summary: List customers, responses: {}}
  post: {operationId: create-customer, summary: Create a customer, responses: {}}
"""
read = partial(read_paths, title="Hotel")


@pytest.fixture(scope="module")
def hotel() -> Api:
    return read(HOTEL)


def names(api: Api, text: str) -> list[str]:
    return [operation.name for operation in Catalogue([api]).search(text)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("book a room", "create-booking"),
        ("cancel a booking", "delete-booking"),
        ("change a booking", "update-booking"),
        ("move a booking", "move-booking"),
        ("please add a guest", "add-guest"),
        ("send an invoice", "email-invoice"),
        ("upload a photo", "post-photo"),
        ("list invoices", "list-invoices"),
        # Words of business, which documents call otherwise
        ("make a reservation", "create-booking"),
        ("void my reservation", "delete-booking"),
        ("relocate an appointment", "move-booking"),
        ("invite a guest", "add-guest"),
        ("attach a picture", "post-photo"),
        ("write a bill", "create-invoice"),
        ("list the clients", "list-customers"),
    ],
)
def test_a_verb_and_a_noun_find_what_does_it_first(hotel: Api, text: str, name: str) -> None:
    assert names(hotel, text)[0] == name


def test_a_precise_query_lists_few_operations_and_a_vague_one_all_that_tie(hotel: Api) -> None:
    assert len(names(hotel, "upload a photo")) < 4
    assert len(names(hotel, "send an invoice")) < 5
    lamps = [f"/{kind}s: {{get: {{summary: Show {kind}s of a lamp, responses: {{}}}}}}" for kind in "abcdefgh"]
    assert len(names(read("\n".join(lamps)), "lamp")) == 8


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("book a room", True),
        ("delete songs from a playlist", True),
        ("open tasks of a person", True),
        ("Which rooms are free?", False),
        ("give me a room", False),
        ("book the room of Ana", False),
        ("book a room. Then pay the bill of the guest", False),
    ],
)
def test_a_verb_with_nouns_is_bare_and_a_sentence_is_not(text: str, bare: bool) -> None:
    assert read_query(text).is_bare is bare


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("Rename the folder of Ana", Act("renam", "folder")),
        ("createProjectMember", Act("creat", "member")),
        ("could you please cancel my order 7", Act("cancel", "order")),
        ("sign up a customer", Act("sign up", "custom")),
        ("add Petra to the group", Act("add", "")),
        ("", Act("", "")),
    ],
)
def test_an_order_is_a_verb_and_what_it_acts_on_which_is_no_name(text: str, act: Act) -> None:
    assert act_of(text, ["petra"]) == act


def test_a_path_says_what_an_operation_does() -> None:
    assert acts_of("POST", "/pages/{id}/move", "", "") == (Act("POST", "mov"), Act("mov", "pag"))
    assert acts_of("DELETE", "/pages/{id}", "", "")[0] == Act("DELETE", "pag")
    assert acts_of("GET", "/pages", "", "") == ()


def test_a_verb_asks_for_its_methods_only() -> None:
    assert methods_by_verb()["cancel"] == {"PATCH", "DELETE"}
    assert "lamp" not in methods_by_verb()


def test_a_long_summary_takes_no_longer_than_a_short_one() -> None:
    start = time.process_time()
    assert act_of("please " * 100_000 + "cancel it") == Act("", "")
    assert time.process_time() - start < 1
