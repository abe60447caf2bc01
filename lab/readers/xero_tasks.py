"""Ten tasks on Xero Accounting.

One of them cannot be done by the document alone: `quote` (a date that has a default by the document is demanded). It
says why in its `surprise`.
"""

import re
from typing import Any

import requests

from lab.readers.task import DENIAL, Suite, Task, Wanted
from lab.readers.world import Record
from lab.readers.xero import world
from lab.readers.xero_seed import BANKS, TODAY, key_of, seed


def call(method: str, url: str, **given: Any) -> Any:
    """Send one request; return what is in the body of the answer."""
    reply = requests.request(method, url, timeout=30, **given)
    reply.raise_for_status()
    return reply.json() if reply.content else None


def _rows(url: str, kind: str, condition: str = "") -> list[Record]:
    """All records of a kind for which a condition holds, page by page."""
    found: list[Record] = []
    while True:
        query = {"where": condition, "page": len(found) // 100 + 1}
        page = call("GET", f"{url}/{kind}", params=query)
        found += page[kind]
        if len(found) >= page["pagination"]["itemCount"]:
            return found


def _contact(url: str, name: str) -> str:
    (found,) = _rows(url, "Contacts", f'Name=="{name}"')
    return str(found["ContactID"])


def _gold_overdue(url: str) -> str:
    rows = _rows(url, "Invoices", 'Type=="ACCREC" AND Status=="AUTHORISED" AND DueDate<DateTime(2026,03,02)')
    return "\n".join(f"{one['InvoiceNumber']}, {one['Contact']['Name']}: {one['AmountDue']:.2f}" for one in rows)


def _gold_units(url: str) -> str:
    during = "Date>=DateTime(2025,01,01) && Date<DateTime(2026,01,01)"
    rows = _rows(url, "Invoices", f'Type=="ACCREC" && Status=="PAID" && {during}')
    lines = [line for one in rows for line in one["LineItems"] if line["ItemCode"] == "BIKE-LOCK"]
    return f"{sum(int(line['Quantity']) for line in lines)} units"


def _gold_phone(url: str) -> str:
    phones = [{"PhoneType": "MOBILE", "PhoneAreaCode": "", "PhoneNumber": "07700 900481"}]
    key = _contact(url, "Northgate Timber")
    call("POST", f"{url}/Contacts/{key}", json={"Contacts": [{"ContactID": key, "Phones": phones}]})
    return "The mobile number is set."


def _gold_drafts(url: str) -> str:
    rows = _rows(url, "Invoices", f'Contact.ContactID==guid("{_contact(url, "Pellow & Sons")}") AND Status=="DRAFT"')
    body = {"Invoices": [{"InvoiceID": one["InvoiceID"], "Status": "DELETED"} for one in rows]}
    call("POST", f"{url}/Invoices", json=body)
    return f"{len(rows)} drafts are deleted."


def _gold_watch(url: str) -> str:
    owed: dict[str, float] = {}
    for one in _rows(url, "Invoices", 'Type=="ACCREC" AND Status=="AUTHORISED"'):
        key = one["Contact"]["ContactID"]
        owed[key] = owed.get(key, 0.0) + one["AmountDue"]
    most = sorted(owed, key=lambda key: -owed[key])[:3]
    group = next(one for one in call("GET", f"{url}/ContactGroups")["ContactGroups"] if one["Name"] == "Credit watch")
    body = {"Contacts": [{"ContactID": key} for key in most]}
    call("PUT", f"{url}/ContactGroups/{group['ContactGroupID']}/Contacts", json=body)
    return "All three are in the group."


def _gold_credit(url: str) -> str:
    own = f'Contact.ContactID==guid("{_contact(url, "Lindgren Sport")}") AND Status=="AUTHORISED"'
    (note,) = _rows(url, "CreditNotes", own)
    first = call("GET", f"{url}/Invoices", params={"where": own, "order": "Date ASC"})["Invoices"][0]["InvoiceID"]
    body = {"Allocations": [{"Invoice": {"InvoiceID": first}, "Amount": note["RemainingCredit"], "Date": TODAY}]}
    call("PUT", f"{url}/CreditNotes/{note['CreditNoteID']}/Allocations", json=body)
    (left,) = call("GET", f"{url}/Invoices/{first}")["Invoices"]
    return f"{left['AmountDue']:.2f} is left on {left['InvoiceNumber']}."


def _gold_awaiting(url: str) -> str:
    own = f'Contact.ContactID==guid("{_contact(url, "Vantage Freight")}") AND Type=="ACCPAY" AND Status=="SUBMITTED"'
    return f"There are {len(_rows(url, 'Invoices', own)) or 'no'} bills that wait for approval."


def _gold_send(url: str) -> str:
    (one,) = call("GET", f"{url}/Invoices", params={"InvoiceNumbers": "INV-0412"})["Invoices"]
    call("POST", f"{url}/Invoices/{one['InvoiceID']}/Email", json={})
    return "The invoice is sent by e-mail; a text message (SMS) cannot be sent."


def _gold_payment(url: str) -> str:
    (one,) = call("GET", f"{url}/Invoices", params={"InvoiceNumbers": "INV-0398"})["Invoices"]
    (bank,) = call("GET", f"{url}/Accounts", params={"where": f'Name=="{BANKS[0]}"'})["Accounts"]
    body = {
        "Invoice": {"InvoiceID": one["InvoiceID"]}, "Account": {"AccountID": bank["AccountID"]}, "Date": "2026-02-27",
        "Amount": one["AmountDue"],
    }  # fmt: skip
    call("PUT", f"{url}/Payments", json={"Payments": [body]})
    note = {"HistoryRecords": [{"Details": "Remittance 5531"}]}
    call("PUT", f"{url}/Invoices/{one['InvoiceID']}/History", json=note)
    return "The payment is recorded, and the note is there."


def _gold_quote(url: str) -> str:
    body = {
        "Contact": {"ContactID": _contact(url, "Brightwater School")}, "Title": "Playground shelters", "Date": TODAY,
        "ExpiryDate": "2026-04-30", "LineItems": [{"ItemCode": "SHELTER", "Quantity": 4, "UnitAmount": 295},
                                                    {"ItemCode": "BIKE-LOCK", "Quantity": 6}],
    }  # fmt: skip
    (made,) = call("PUT", f"{url}/Quotes", json={"Quotes": [body]})["Quotes"]
    return f"The quote {made['QuoteNumber']} comes to {made['Total']:.2f}."


def _phones(value: Any) -> bool:
    """Whether the mobile number is the new one, in whatever way it is cut into parts, and the others are the old."""
    old = {one["PhoneType"]: one for one in seed()["contacts"][key_of("Northgate Timber")]["Phones"]}
    new = {one["PhoneType"]: one for one in value}
    mobile = new.pop("MOBILE", {})
    parts = (mobile.get(f"Phone{name}", "") for name in ("CountryCode", "AreaCode", "Number"))
    digits = re.sub(r"\D", "", "".join(parts))
    old.pop("MOBILE")
    return new == old and digits in ("07700900481", "447700900481", "4407700900481")


def _lines(*wanted: tuple[str, float, float]) -> Any:
    """Tell whether lines are for these items, quantities and prices, in any order."""

    def fit(lines: Any) -> bool:
        return sorted((one["ItemCode"], one["Quantity"], one["UnitAmount"]) for one in lines) == sorted(wanted)

    return fit


def _mentions(*texts: str) -> Any:
    return lambda value: all(text in str(value).casefold() for text in texts)


def _units() -> str:
    """The units in paid invoices of 2025, counted from the seed: every seeded one of that year is paid or void."""
    rows = seed()["invoices"].values()
    sold = [one for one in rows if one["Type"] == "ACCREC" and one["Date"] < "2026" and one["Status"] == "AUTHORISED"]
    lines = [line for one in sold for line in one["LineItems"] if line["ItemCode"] == "BIKE-LOCK"]
    return str(int(sum(line["Quantity"] for line in lines)))


_CREDIT_WATCH = key_of("Credit watch")

TASKS_ON_XERO = (
    # Dates come as milliseconds since 1970; a bill that we owe and drafts lie beside; one invoice is paid in part.
    Task(
        "overdue",
        "Which approved invoices to our customers are overdue today, 2 March 2026? For each of them tell me its "
        "number, the customer and what is still to be paid.",
        _gold_overdue,
        says=(
            "INV-0344",
            "250|250.00|250.0",
            "INV-0350",
            "480|480.00|480.0",
            "INV-0366",
            "2310.5|2310.50",
            "INV-0380",
            "600|600.00|600.0",
            "Lindgren Sport",
            "Northgate Timber",
            "Abbey Road Cycles",
            "Pellow & Sons",
        ),
        never=("INV-0371", "INV-0398", "INV-0405", "INV-0412", "B-5531"),
    ),
    # 228 paid invoices of that year; what is on their lines comes with a page only, of 100 invoices.
    Task(
        "units",
        "How many pieces of the item BIKE-LOCK did we sell in 2025? Count the sales invoices with a date in 2025 that "
        "are paid, and nothing else.",
        _gold_units,
        says=(_units(),),
    ),
    Task(
        "phone",
        "Northgate Timber have a new mobile number, 07700 900481. Please put it into our books, and leave their other "
        "phone numbers alone.",
        _gold_phone,
        wanted=(Wanted("contacts", {"Phones": _phones}, key_of("Northgate Timber")),),
    ),
    # A draft is not voided but deleted, by a status; another customer's name begins the same.
    Task(
        "drafts",
        "The invoices to Pellow & Sons that are still drafts were entered twice. Delete all of those drafts; the "
        "approved ones stay.",
        _gold_drafts,
        wanted=tuple(
            Wanted("invoices", {"Status": "DELETED"}, key_of(number)) for number in ("INV-0401", "INV-0402", "INV-0403")
        ),
    ),
    # One of the three is in the group already.
    Task(
        "watch",
        "See to it that the three customers who owe us the most money are all in the contact group 'Credit watch'. "
        "Nobody leaves that group.",
        _gold_watch,
        wanted=tuple(
            Wanted("group_members", {"group": _CREDIT_WATCH, "contact": key_of(name)})
            for name in ("Abbey Road Cycles", "Pellow & Sons")
        ),
    ),
    Task(
        "credit",
        "Lindgren Sport have an approved credit note with some credit left. Set all that is left off against the "
        "oldest invoice they haven't paid yet, and tell me how much they then still owe on that invoice.",
        _gold_credit,
        says=("170|170.00|170.0",),
        wanted=(
            Wanted(
                "allocations",
                {"CreditNoteID": key_of("CN-0021"), "InvoiceID": key_of("INV-0344"), "Amount": 80.0},
            ),
        ),
    ),
    # There is none: others of that supplier have another status, and one of that status has another supplier.
    Task(
        "awaiting",
        "Is there a bill from Vantage Freight that is waiting for approval (submitted, not yet approved)? If so, give "
        "me its number and total.",
        _gold_awaiting,
        says=(DENIAL,),
        never=("512.30|512.3",),
    ),
    # The API sends no text messages.
    Task(
        "send",
        "Send invoice INV-0412 to the customer by e-mail, and also as a text message (SMS) to their mobile phone.",
        _gold_send,
        says=("SMS|text|texts|texting|text message|text messages", DENIAL),
        wanted=(Wanted("emails", {"InvoiceID": key_of("INV-0412")}),),
    ),
    # A part of the invoice is paid already.
    Task(
        "payment",
        "Karsten Bau have paid the rest of invoice INV-0398 on 27 February 2026, into our 'Business Current Account'. "
        "Record that payment, and add the note 'Remittance 5531' to the history of the invoice.",
        _gold_payment,
        wanted=(
            Wanted(
                "payments",
                {
                    "InvoiceID": key_of("INV-0398"),
                    "AccountID": key_of(BANKS[0]),
                    "Date": "2026-02-27",
                    "Amount": 750.0,
                    "Status": "AUTHORISED",
                },
            ),
            Wanted("history", {"of": key_of("INV-0398"), "Details": _mentions("remittance 5531")}),
        ),
    ),
    # The price of the second item stands in the price list.
    Task(
        "quote",
        "Make a quote for Brightwater School with the title 'Playground shelters': 4 of the item SHELTER at 295.00 "
        "each and 6 of the item BIKE-LOCK at our list price, no tax, valid until 30 April 2026. What does it come to?",
        _gold_quote,
        says=("1329.40|1329.4",),
        wanted=(
            Wanted(
                "quotes",
                {
                    "ContactID": key_of("Brightwater School"),
                    "Title": "Playground shelters",
                    "Date": TODAY,
                    "ExpiryDate": "2026-04-30",
                    "Status": "DRAFT",
                    "LineItems": _lines(("BIKE-LOCK", 6, 24.9), ("SHELTER", 4, 295)),
                },
            ),
        ),
        surprise="The document calls `Date` optional, with today as its default; without it the API answers 400 and "
        "says that it is mandatory.",
    ),
)
"""The ten tasks."""

XERO = Suite(
    "xero",
    "xero_accounting.yaml",
    "140f64f8e6bd2d8524b8ffdbffd08589d417efa5466ba57bfa04939a69ff6db8",
    world,
    TASKS_ON_XERO,
    given=(("header", "xero-tenant-id"),),
    secured=True,
)
"""Xero's API of 235 operations, and the tasks on it."""
