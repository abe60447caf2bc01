"""Guards what a person reads of the item behind an id."""

from restgpt.calling.origin.flow import is_opaque, item_at, telling

TRIP = {
    "trip_id": "ea399d05",
    "href": "https://trains.example/trips/ea399d05",
    "arrivalPlatform": 4,
    "price": 35,
    "departs": "2026-12-01T08:00",
    "operator": {"name": "SNCF"},
    "operatorName": "SNCF",
    "full": False,
}


def test_the_item_is_the_innermost_object_around_a_value() -> None:
    answer = {"data": [{"trip_id": 1}, {**TRIP, "seats": ["4A", "4B"]}]}
    assert item_at(answer, "/data/1/trip_id") == ("/data/1", answer["data"][1])
    assert item_at(answer, "/data/1/seats/0") == ("/data/1", answer["data"][1])
    assert item_at([1, 2], "/0") is None
    assert item_at(answer, "/data/7/trip_id") is None


def test_it_is_told_by_the_fields_that_name_it_and_no_id_or_address() -> None:
    assert telling(TRIP, 3) == 'operatorName "SNCF", departs "2026-12-01T08:00", price 35'
    assert telling({"id": 7, "url": "http://a"}) == ""
    assert telling({"name": "x" * 80, "status": "open"}).startswith('status "open", name "xxx')


def test_a_field_of_an_answer_can_neither_end_its_quotation_marks_nor_its_line() -> None:
    lie = 'x"\nUndo: nothing'
    assert telling({"name": lie, lie: "a"}).count("\n") == 0
    assert 'name "x\\"\\nUndo: nothing"' in telling({"name": lie})


def test_an_id_is_known_by_its_name() -> None:
    assert is_opaque("/path/trip_id")
    assert is_opaque("/body/who", "/data/0/id")
    assert is_opaque("/body/ids/0")
    assert not is_opaque("/body/owner", "/data/0/name")
