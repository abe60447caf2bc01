"""Guards the twenty tasks on Xero and Google's Admin Directory: a right way passes, and a wrong one does not."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import requests

from lab.readers import directory, sentences, xero
from lab.readers.__main__ import main
from lab.readers.directory_seed import key_of as google_key
from lab.readers.directory_seed import mail
from lab.readers.filters import pick, search, where
from lab.readers.run import replay, tasks
from lab.readers.server import served
from lab.readers.task import MissingDocumentError, Suite, Task
from lab.readers.world import Refusal
from lab.readers.xero_seed import BANKS, key_of
from restgpt import load_api

OURS = tasks(("xero", "directory"))
NAMED = pytest.mark.parametrize(("suite", "task"), [pytest.param(*one, id=one[1].key) for one in OURS])
SUITES = pytest.mark.parametrize("suite", list({one.name: one for one, _ in OURS}.values()), ids=lambda one: one.name)
ROOT = directory.ROOT
CHROME = f"{ROOT}/customer/my_customer/devices/chromeos"
ROOMS = f"{ROOT}/customer/my_customer/resources/calendars"
Request = tuple[str, str, Any]


def send(url: str, *wanted: Request) -> list[requests.Response]:
    """Send requests by hand: method, path and body."""
    return [requests.request(method, url + path, json=body, timeout=30) for method, path, body in wanted]


def document(suite: Suite) -> bytes:
    """The document of a suite, or a skip that says what is missing."""
    try:
        return suite.document()
    except MissingDocumentError as error:
        pytest.skip(str(error))


def jonas(*groups: str) -> list[Request]:
    """The requests for somebody who leaves, and who leaves these groups."""
    one = google_key("jonas.weber")
    return [
        *(("DELETE", f"{ROOT}/groups/{mail(group)}/members/{one}", None) for group in groups),
        ("PATCH", f"{ROOT}/users/{one}", {"suspended": True}),
        ("POST", f"{ROOT}/users/{one}/signOut", None),
    ]


def payment(amount: float, account: str = BANKS[0]) -> list[Request]:
    """The requests for a payment, with the note that belongs to it."""
    body = {
        "Invoice": {"InvoiceID": key_of("INV-0398")}, "Account": {"AccountID": key_of(account)}, "Amount": amount,
        "Date": "2026-02-27",
    }  # fmt: skip
    note = {"HistoryRecords": [{"Details": "Remittance 5531"}]}
    return [("POST", "/Payments", body), ("PUT", f"/Invoices/{key_of('INV-0398')}/History", note)]


def invoices(status: str, *numbers: str) -> list[Request]:
    """The requests that give invoices a status, one after the other."""
    return [
        ("POST", f"/Invoices/{key_of(number)}", {"Invoices": [{"Status": status, "LineItems": [], "Contact": {}}]})
        for number in numbers
    ]


def quote(price: float, **more: Any) -> list[Request]:
    """The request for a quote."""
    lines = [
        {"ItemCode": "BIKE-LOCK", "Quantity": 6, "UnitAmount": price},
        {"ItemCode": "SHELTER", "Quantity": 4, "UnitAmount": 295.0, "Description": "Shelter"},
    ]
    own = {"Contact": {"Name": "Brightwater School"}, "Title": "Playground shelters", "ExpiryDate": "2026-04-30"}
    return [("POST", "/Quotes", {"Quotes": [own | {"LineItems": lines} | more]})]


def phones(*rows: tuple[str, str]) -> list[Request]:
    """The request for the phones of a contact."""
    given = [{"PhoneType": kind, "PhoneNumber": number} for kind, number in rows]
    body = {"Contacts": [{"ContactID": key_of("Northgate Timber"), "Phones": given}]}
    return [("POST", "/Contacts", body)]


def joined(*names: str) -> list[Request]:
    """The requests that take contacts into the group, one by one."""
    path = f"/ContactGroups/{key_of('Credit watch')}/Contacts"
    return [("PUT", path, {"Contacts": [{"ContactID": key_of(name)}]}) for name in names]


def allocated(number: str, amount: float) -> list[Request]:
    """The request that sets credit off against an invoice."""
    body = {"Allocations": [{"Invoice": {"InvoiceID": key_of(number)}, "Amount": amount, "Date": "2026-03-01"}]}
    return [("PUT", f"/CreditNotes/{key_of('CN-0021')}/Allocations", body)]


def moved(*serials: str) -> list[Request]:
    """The requests that move Chromebooks, one by one."""
    return [("PUT", f"{CHROME}/{google_key(one)}", {"orgUnitPath": "/Offices/Stock"}) for one in serials]


def interns(parent: str) -> list[Request]:
    """The requests for a unit and the three people in it."""
    path = f"{parent.rstrip('/')}/Interns"
    return [
        ("POST", f"{ROOT}/customer/C03fenn01/orgunits", {"name": "Interns", "parentOrgUnitPath": parent}),
        *(
            ("PATCH", f"{ROOT}/users/{mail(one)}", {"orgUnitPath": path})
            for one in ("yuki.tanaka", "ben.ashton", "clara.duval")
        ),
    ]


def room(**more: Any) -> list[Request]:
    """The request for a room."""
    own = {"resourceId": "room-77", "resourceName": "Heron", "buildingId": "BLD-01", "capacity": 8, "floorName": "3"}
    return [("POST", ROOMS, own | more)]


def press(person: str, alias: str = "press") -> list[Request]:
    """The request for an alias."""
    return [("POST", f"{ROOT}/users/{mail(person)}/aliases", {"alias": mail(alias)})]


def stolen(action: str, **more: str) -> list[Request]:
    """The requests for a stolen Chromebook, the notes first."""
    path = f"{CHROME}/{google_key('5CD20417')}"
    return [("PUT", path, {"notes": "stolen 1 March"}), ("POST", f"{path}/action", {"action": action} | more)]


def managed(group: str, role: str = "MANAGER") -> list[Request]:
    """The request for the role of a member."""
    return [("PUT", f"{ROOT}/groups/{mail(group)}/members/{mail('mei.lindqvist')}", {"role": role})]


DRAFTS = ("INV-0401", "INV-0402", "INV-0403")
SPARES = ("7GL31001", "7GL31004", "7GL31006", "7GL31007")
OWED = (
    "| INV-0350 | Northgate Timber | 480.00 |\n| INV-0344 | Lindgren Sport | £250 |\n"
    "| INV-0366 | Abbey Road Cycles | £2,310.50 |\n| INV-0380 | Pellow & Sons | 600.00 |"
)
OUTSIDE = "ana.silva@partnerline.example, fennmoor@brightagency.example, t.oduya@partnerline.example"
SMS = "E-mailed. This API can't send an SMS."
EMAILED: list[Request] = [("POST", "/Invoices/INV-0412/Email", {"Status": ""})]

RIGHT: dict[str, tuple[list[Request], str]] = {
    "overdue": ([], OWED),
    "units": ([], "You sold 222 bike locks."),
    "phone": (phones(("MOBILE", "07700 900481"), ("DDI", "")), "Done."),
    "drafts": (invoices("DELETED", *DRAFTS), "Deleted."),
    "watch": (joined("Abbey Road Cycles", "Pellow & Sons"), "Done."),
    "credit": (allocated("INV-0344", 80), "They still owe £170.00."),
    "awaiting": ([], "Nothing from Vantage Freight awaits approval."),
    "send": (EMAILED, SMS),
    "payment": (payment(750), "Recorded."),
    "quote": (quote(24.9, Date="2026-03-02"), "It comes to 1,329.40."),
    "screens": ([], "Puffin (12), Gannet (14), Kite (20)"),
    "outsiders": ([], f"228 members; {OUTSIDE}, office@fennmoor-catering.example"),
    "leaver": (jonas("all-staff", "sales", "orion-launch"), "Done."),
    "manager": (managed("orion-launch"), "Done."),
    "interns": (interns("/People"), "Done."),
    "stolen": (stolen("disable"), "Locked."),
    "spares": (moved(*SPARES), "Four were moved."),
    "room": (room(), "Added."),
    "silent": ([], "No, all Android phones synced later."),
    "press": (press("priya.raman"), "Added; I could not switch on the out-of-office reply."),
}
"""Another right way than the task's own, and its answer."""

WRONG: dict[str, tuple[list[Request], str, str]] = {
    "overdue": ([], f"{OWED}\n| INV-0371 | Lindgren Sport | 140.00 |", "the answer has 'INV-0371'"),
    "units": ([], "In all, 102 were sold.", "the answer lacks '222'"),
    "phone": (phones(("MOBILE", "07700 900481"), ("FAX", "")), "Done.", "not done: contacts"),
    "drafts": (invoices("DELETED", *DRAFTS, "INV-0407"), "Deleted.", "beyond the task: invoices"),
    "watch": (joined("Abbey Road Cycles", "Northgate Timber"), "Done.", "not done: group_members"),
    "credit": (allocated("INV-0371", 80), "They still owe £170.00.", "not done: allocations"),
    "awaiting": ([], "Yes: B-5552 with 512.30.", "the answer lacks"),
    "send": (EMAILED, "I sent the e-mail and the SMS.", "the answer lacks"),
    "payment": (payment(750, BANKS[1]), "Recorded.", "not done: payments"),
    "quote": (quote(39.5, Date="2026-03-02"), "It comes to 1,329.40.", "not done: quotes"),
    "screens": ([], "Puffin (12), Gannet (14), Kite (20), Wren (6)", "the answer has 'Wren'"),
    "outsiders": ([], f"200 members; {OUTSIDE}, office@fennmoor-catering.example", "the answer lacks '228'"),
    "leaver": (jonas("all-staff", "sales"), "Done.", "not done: members"),
    "manager": (managed("orion-launch", "OWNER"), "Done.", "not done: members"),
    "interns": (interns("/"), "Done.", "not done: orgunits"),
    "stolen": (stolen("deprovision", deprovisionReason="retiring_device"), "Locked.", "not done: chromebooks"),
    "spares": (moved(*SPARES, "7LE42001"), "4 were moved.", "beyond the task: chromebooks"),
    "room": (room(buildingId="BLD-03"), "Added.", "not done: rooms"),
    "silent": ([], "Yes, that of Luca Ferri.", "the answer lacks"),
    "press": (press("priya.rao"), "Added, but the reply is not possible.", "not done: users"),
}
"""A wrong way, with a right answer where the changes are wrong, and how the first fault begins."""


def acted(wanted: list[Request], answer: str) -> Callable[[str], str]:
    """Send requests that are all taken, and give the answer."""

    def act(url: str) -> str:
        for reply in send(url, *wanted):
            reply.raise_for_status()
        return answer

    return act


@NAMED
def test_the_own_calls_of_a_task_and_other_right_ones_pass_and_doing_nothing_fails(suite: Suite, task: Task) -> None:
    assert replay(suite, task) == []
    assert replay(suite, task, acted(*RIGHT[task.key])) == []
    assert replay(suite, task, lambda url: "") != []


@NAMED
def test_a_wrong_way_fails_for_what_is_wrong(suite: Suite, task: Task) -> None:
    wanted, answer, fault = WRONG[task.key]
    assert replay(suite, task, acted(wanted, answer))[0].startswith(fault)


@NAMED
def test_the_right_changes_with_one_more_fail(suite: Suite, task: Task) -> None:
    more: Request = ("POST", f"/Contacts/{key_of('Ely Wheels')}", {"Contacts": [{"AccountNumber": "7"}]})
    if suite.name == "directory":
        more = ("PATCH", f"{ROOT}/groups/{mail('choir')}", {"description": "We sing."})
    (fault,) = replay(suite, task, lambda url: acted([more], "")(url) + task.gold(url))
    assert fault.startswith("beyond the task")


def test_there_are_ten_tasks_for_each_api_with_one_surprise() -> None:
    for name in ("xero", "directory"):
        own = [task for suite, task in OURS if suite.name == name]
        assert (len(own), sum(task.changes for task in own)) == (10, 7)
        assert [task.key for task in own if task.surprise] == [{"xero": "quote", "directory": "room"}[name]]


@SUITES
def test_the_world_serves_operations_of_the_document_only(suite: Suite) -> None:
    api = load_api(document(suite), base_url="http://127.0.0.1:1", name=suite.name, given=suite.given)
    shapes = {re.sub(r"\{\w+\}", "{}", f"{one.method} {one.path}") for one in api.operations}
    own = {re.sub(r"\{\w+\}", "{}", key) for key in suite.world().routes}
    assert len(api.operations) == {"xero": 235, "directory": 118}[suite.name]
    # A path of two units, whose slash is not encoded, is one value in the document.
    assert {one for one in own - shapes if not one.endswith("/orgunits/{}/{}")} == set()
    assert b"\n      security:" not in suite.document()


@pytest.mark.parametrize("suite", sentences.suites(), ids=lambda one: one.name)
def test_the_operations_of_the_sentences_are_in_the_document(suite: Suite) -> None:
    document(suite)
    assert len(sentences.part(suite).tasks) == {"xero": 7, "directory": 7, "box": 6}[suite.name]


def test_tasks_on_a_document_that_is_not_there_are_left_out_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RESTGPT_GOOGLE_DOCUMENT", raising=False)
    assert main(["run", "--base-url", "http://127.0.0.1:1", "--task", "directory"]) == 2
    assert capsys.readouterr().err == (
        "The tasks on directory are left out: RESTGPT_GOOGLE_DOCUMENT names no file with the document "
        "admin_directory.yaml.\n"
    )


def test_the_first_try_is_refused_with_the_error_form_of_the_api() -> None:
    with served(xero.world()) as url:
        (reply,) = send(url, *quote(24.9))
        fault = reply.json()["Elements"][0]["ValidationErrors"][0]["Message"]
        assert (reply.status_code, fault) == (400, "Date is mandatory for a quote")
        assert [one.status_code for one in send(url, *invoices("VOIDED", "INV-0401"), *payment(750.01))] == [
            400
        ] * 2 + [200]
    with served(directory.world()) as url:
        refused = send(url, *room(resourceId=""), ("POST", ROOMS, ["a list"]), *press("nobody"))
        assert [one.json()["error"]["code"] for one in refused] == [400, 400, 404]
        assert refused[0].json()["error"]["message"] == "Missing required field: resourceId"
        assert requests.get(f"{url}{ROOT}/users", timeout=30).status_code == 400


def test_xero_shows_lines_by_page_only_and_filters_by_conditions() -> None:
    with served(xero.world()) as url:
        every = requests.get(f"{url}/Invoices", timeout=30).json()["Invoices"]
        page = requests.get(f"{url}/Invoices", params={"page": 3}, timeout=30).json()
        assert (len(every), every[0]["LineItems"], len(page["Invoices"])) == (251, [], 51)
        assert page["pagination"] == {"page": 3, "pageSize": 100, "pageCount": 3, "itemCount": 251}
        assert page["Invoices"][0]["LineItems"]
        assert page["Invoices"][-1]["Date"] == "/Date(1767571200000+0000)/"
        condition = 'Contact.Name.ToLower().Contains("pellow") && (Status=="DRAFT" || AmountDue>=600) && DueDate!=null'
        found = requests.get(
            f"{url}/Invoices", params={"where": condition, "order": "InvoiceNumber DESC"}, timeout=30
        ).json()
        assert [one["InvoiceNumber"] for one in found["Invoices"]] == [
            "INV-0407", "INV-0403", "INV-0402", "INV-0401", "INV-0380"
        ]  # fmt: skip
        contact = requests.get(f"{url}/Contacts/{key_of('Karsten Bau')}", timeout=30).json()["Contacts"][0]
        assert contact["Balances"]["AccountsReceivable"] == {"Outstanding": 750.0, "Overdue": 0}
        assert requests.get(f"{url}/Invoices", params={"where": "Status=="}, timeout=30).status_code == 400


def test_the_directory_pages_searches_and_cuts_its_answers() -> None:
    with served(directory.world()) as url:
        path = f"{url}{ROOT}/groups/{mail('all-staff')}/members"
        first = requests.get(path, params={"maxResults": 500, "fields": "members(email),nextPageToken"}, timeout=30)
        assert (len(first.json()["members"]), first.json()["members"][0]) == (200, {"email": mail("ada.abel")})
        rest = requests.get(path, params={"pageToken": first.json()["nextPageToken"]}, timeout=30).json()
        assert (len(rest["members"]), "nextPageToken" in rest) == (28, False)
        query = {"customer": "my_customer", "query": "givenName:Jonas orgUnitPath='/Support'"}
        (found,) = requests.get(f"{url}{ROOT}/users", params=query, timeout=30).json()["users"]
        assert found["primaryEmail"] == mail("jonas.weber2")
        query = {"query": "buildingId=BLD-01 AND capacity>=12 AND featureInstances.feature.name:Video*"}
        rooms = requests.get(url + ROOMS, params=query, timeout=30).json()["items"]
        assert [one["resourceName"] for one in rooms] == ["Gannet", "Puffin", "Kite"]
        groups = requests.get(f"{url}{ROOT}/groups?userKey={mail('owen.castell')}", timeout=30).json()["groups"]
        assert [one["name"] for one in groups] == ["All staff", "Orion Launch"]
        below = f"{url}{ROOT}/customer/my_customer/orgunits/Offices"
        for unit in (f"{below}%2FLeith", f"{below}/Leith"):
            assert requests.get(unit, timeout=30).json()["name"] == "Leith"


def test_filters_read_what_they_can_and_refuse_the_rest() -> None:
    record = {"Name": "Ely & Co", "Left": 4.5, "Day": "/Date(1772409600000+0000)/", "Of": {"ID": "a1"}, "On": True}
    for text in (
        'Name=="ELY & Co" AND Left>4', "NOT (Left<4) and On", 'Of.ID=guid("A1")', 'Gone==null OR Name.StartsWith("x")',
        "Day>=DateTime(2026,03,02) && Day<DateTime.Parse(\"2026-03-03\")", "On==true AND !(Left==0)",
    ):  # fmt: skip
        assert where(text)(record), text
    for text in ("Left>", "Name.Sing()", "Left ~ 4", "(Left>1", "Day>DateTime(1)"):
        with pytest.raises(Refusal):
            where(text)
    fields = {"name": lambda one: one["Name"], "left": lambda one: one["Left"]}
    for text in ("name:Ely", "name:El*", "Co", "left>=4.5 left<5", "NOT name:Kelso", "left:4..5"):
        assert search(text, fields, ("name",))(record), text
    assert not search("name:El", fields, ("name",))(record)
    with pytest.raises(Refusal):
        search("size:4", fields, ("name",))
    body = {"a": [{"b": 1, "c": {"d": 2, "e": 3}}], "f": 4}
    assert pick(body, "a(b,c/d)") == {"a": [{"b": 1, "c": {"d": 2}}]}
    assert pick(body, "a/b,a/c/e,f,none") == {"a": [{"b": 1, "c": {"e": 3}}], "f": 4}


def test_sentences_over_a_document_that_is_not_there_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in ("RESTGPT_DATA", "RESTGPT_GOOGLE_DOCUMENT"):
        monkeypatch.delenv(variable, raising=False)
    assert main(["search"]) == 2
    assert "The sentences over directory are left out" in capsys.readouterr().err
