"""Xero Accounting: how it shows, lists and writes contacts, invoices, payments, credit notes and quotes.

One thing departs from the document: a quote has to have a date. As in the document's examples, dates come as
`/Date(1772409600000+0000)/`.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from lab.readers.filters import where
from lab.readers.world import Call, Record, Refusal, Reply, Route, World
from lab.readers.xero_seed import NEW, TODAY, key_of, new_key, seed, total

PREFIX = "/api.xro/2.0"


def _error(refusal: Refusal) -> Record:
    if refusal.status != 400:
        return {"Title": "An error occurred", "Detail": refusal.message, "Status": refusal.status}
    return {
        "ErrorNumber": 10, "Type": "ValidationException", "Message": "A validation exception occurred",
        "Elements": [{"ValidationErrors": [{"Message": refusal.message}]}],
    }  # fmt: skip


def _dates(record: Record, *names: str) -> Record:
    """Write dates as Xero does: as milliseconds since 1970, and as a text beside."""
    shown: Record = {}
    for name in names:
        if record.get(name):
            when = datetime.fromisoformat(record[name]).replace(tzinfo=UTC)
            shown |= {name: f"/Date({int(when.timestamp() * 1000)}+0000)/", f"{name}String": f"{record[name]}T00:00:00"}
    return shown


def _day(value: Any, name: str) -> str:
    """Read a date in any form that Xero takes; raises `Refusal`."""
    text = str(value)
    found = re.fullmatch(r"/Date\((-?\d+)(?:[+-]\d+)?\)/", text)
    try:
        when = datetime.fromtimestamp(int(found[1]) / 1000, UTC) if found else datetime.fromisoformat(text)
    except ValueError as error:
        raise Refusal(400, f"{name} is not a valid date: {text}") from error
    return when.date().isoformat()


def _amount(value: Any, name: str) -> float:
    try:
        return round(float(value), 4)
    except (TypeError, ValueError) as error:
        raise Refusal(400, f"{name} is not a number: {value}") from error


def _due(world: World, invoice: Record) -> tuple[float, float, float]:
    """What of an invoice is paid, credited and left."""
    paid = sum(one["Amount"] for one in world.rows("payments", InvoiceID=invoice["InvoiceID"], Status="AUTHORISED"))
    credited = sum(one["Amount"] for one in world.rows("allocations", InvoiceID=invoice["InvoiceID"]))
    return round(paid, 2), round(credited, 2), round(total(invoice) - paid - credited, 2)


def _brief(world: World, collection: str, key: str, *names: str) -> Record:
    record = world.state[collection].get(key, {})
    return {name: record[name] for name in names if name in record}


def _show_invoice(world: World, one: Record, *, whole: bool = True) -> Record:
    paid, credited, due = _due(world, one)
    settled = one["Status"] == "AUTHORISED" and due <= 0
    shown = {name: value for name, value in one.items() if name != "ContactID"} | _dates(one, "Date", "DueDate")
    lines = [
        line | {"LineItemID": key_of(f"{one['InvoiceID']}/{place}"), "TaxAmount": 0.0,
                "LineAmount": round(line["Quantity"] * line["UnitAmount"], 2)}
        for place, line in enumerate(one["LineItems"])
    ]  # fmt: skip
    return shown | {
        "Contact": _brief(world, "contacts", one["ContactID"], "ContactID", "Name"),
        "Status": "PAID" if settled else one["Status"], "LineAmountTypes": "NoTax", "CurrencyCode": "GBP",
        "SubTotal": total(one), "TotalTax": 0.0, "Total": total(one), "AmountDue": due, "AmountPaid": paid,
        "AmountCredited": credited, "LineItems": lines if whole else [], "HasAttachments": False,
        "SentToContact": bool(world.rows("emails", InvoiceID=one["InvoiceID"])),
        "UpdatedDateUTC": "/Date(1772400000000+0000)/",
    }  # fmt: skip


def _show_contact(world: World, one: Record, *, whole: bool = True) -> Record:
    balances: Record = {}
    own = [shown for shown in world.rows("invoices", ContactID=one["ContactID"]) if shown["Status"] == "AUTHORISED"]
    for name, kind in (("AccountsReceivable", "ACCREC"), ("AccountsPayable", "ACCPAY")):
        left = [(_due(world, each)[2], each["DueDate"]) for each in own if each["Type"] == kind]
        overdue = sum(amount for amount, due in left if due < TODAY)
        balances[name] = {"Outstanding": round(sum(amount for amount, _ in left), 2), "Overdue": round(overdue, 2)}
    kinds = {each["Type"] for each in own}
    groups = [
        _brief(world, "groups", each["group"], "ContactGroupID", "Name", "Status")
        for each in world.rows("group_members", contact=one["ContactID"])
    ]
    shown = {"IsSupplier": "ACCPAY" in kinds, "IsCustomer": "ACCREC" in kinds, "Balances": balances, "Addresses": []}
    return one | shown | {"UpdatedDateUTC": "/Date(1772400000000+0000)/"} | ({"ContactGroups": groups} if whole else {})


def _show_note(world: World, one: Record, *, whole: bool = True) -> Record:
    used = [
        each | {"Invoice": _brief(world, "invoices", each["InvoiceID"], "InvoiceID", "InvoiceNumber")}
        for each in world.rows("allocations", CreditNoteID=one["CreditNoteID"])
    ]
    left = round(one["Total"] - sum(each["Amount"] for each in used), 2)
    status = "PAID" if one["Status"] == "AUTHORISED" and left <= 0 else one["Status"]
    contact = {"Contact": _brief(world, "contacts", one["ContactID"], "ContactID", "Name"), "Status": status}
    return one | _dates(one, "Date") | contact | {"RemainingCredit": left, "Allocations": used, "CurrencyCode": "GBP"}


def _show_payment(world: World, one: Record, *, whole: bool = True) -> Record:
    invoice = _brief(world, "invoices", one["InvoiceID"], "InvoiceID", "InvoiceNumber", "Type")
    contact = world.state["invoices"].get(one["InvoiceID"], {}).get("ContactID", "")
    shown = {"Account": _brief(world, "accounts", one["AccountID"], "AccountID", "Code", "Name"), "Invoice": invoice}
    invoice["Contact"] = _brief(world, "contacts", contact, "ContactID", "Name")
    return one | _dates(one, "Date") | shown


def _show_group(world: World, one: Record, *, whole: bool = True) -> Record:
    people = [
        _brief(world, "contacts", each["contact"], "ContactID", "Name")
        for each in world.rows("group_members", group=one["ContactGroupID"])
    ]
    return one | ({"Contacts": people} if whole else {"HasValidationErrors": False})


def _show_quote(world: World, one: Record, *, whole: bool = True) -> Record:
    contact = _brief(world, "contacts", one["ContactID"], "ContactID", "Name")
    return one | _dates(one, "Date", "ExpiryDate") | {"Contact": contact, "Total": total(one), "SubTotal": total(one)}


def _show_plain(world: World, one: Record, *, whole: bool = True) -> Record:
    return dict(one)


Show = Callable[..., Record]
KINDS: dict[str, tuple[str, str, Show]] = {
    "Accounts": ("accounts", "AccountID", _show_plain),
    "Contacts": ("contacts", "ContactID", _show_contact),
    "ContactGroups": ("groups", "ContactGroupID", _show_group),
    "CreditNotes": ("credit_notes", "CreditNoteID", _show_note),
    "Invoices": ("invoices", "InvoiceID", _show_invoice),
    "Items": ("items", "ItemID", _show_plain),
    "Payments": ("payments", "PaymentID", _show_payment),
    "Quotes": ("quotes", "QuoteID", _show_quote),
}
"""By the name in paths and bodies: the collection, the name of its id, and what shows one of its records."""
_NUMBERS = {"Invoices": "InvoiceNumber", "CreditNotes": "CreditNoteNumber", "Items": "Code", "Contacts": "Name"}
"""The fields by which a record may be named, too."""


def _find(world: World, kind: str, key: str) -> Record:
    """A record by its id, or by the number that Xero takes as well; raises `Refusal`."""
    collection, name, _ = KINDS[kind]
    number = _NUMBERS.get(kind, name)
    for one in world.rows(collection):
        if key and (one[name] == key.lower() or (kind != "Contacts" and one.get(number) == key)):
            return one
    raise Refusal(404, "The resource you're looking for cannot be found")


def _pick_any(call: Call, name: str) -> set[str]:
    return {one.strip(" \"'").casefold() for one in call.query.get(name, "").split(",") if one.strip(" \"'")}


def _fits(kind: str, record: Record, call: Call) -> bool:
    """Whether a record fits the explicit parameters of a list."""
    contact = record.get("Contact", {}).get("ContactID", "")
    own = {
        "IDs": record.get(KINDS[kind][1]), "InvoiceNumbers": record.get("InvoiceNumber"), "ContactIDs": contact,
        "Statuses": record.get("Status"), "ContactID": contact, "Status": record.get("Status"),
        "QuoteNumber": record.get("QuoteNumber"),
    }  # fmt: skip
    term = call.query.get("searchTerm", "").casefold()
    texts = ("Name", "EmailAddress", "FirstName", "LastName", "InvoiceNumber", "Reference")
    held = not term or any(term in str(record.get(name, "")).casefold() for name in texts)
    return held and all(
        str(value).casefold() in _pick_any(call, name) for name, value in own.items() if _pick_any(call, name)
    )


def _listed(kind: str) -> Route:
    """List records: all of them without what is on their lines, or a page of them as a whole."""
    collection, _, show = KINDS[kind]

    def route(world: World, call: Call) -> Reply:
        paged, condition = "page" in call.query, where(call.query.get("where", ""))
        every = [(one, show(world, one, whole=False)) for one in world.rows(collection)]
        found = [(one, shown) for one, shown in every if condition(shown) and _fits(kind, shown, call)]
        for part in reversed([part for part in call.query.get("order", "").split(",") if part.strip()]):
            column, _, direction = part.strip().partition(" ")
            found.sort(key=lambda pair: _sortable(pair[1], column), reverse=direction.strip().upper() == "DESC")
        if not paged:
            return Reply(200, {kind: [shown for _, shown in found]})
        page, size = (_count(call, *given) for given in (("page", 1), ("pageSize", 100)))
        cut = found[(page - 1) * min(size, 1000) : page * min(size, 1000)]
        rows = [show(world, one, whole=kind != "ContactGroups") for one, _ in cut]
        counts = {"page": page, "pageSize": size, "pageCount": -(-len(found) // size), "itemCount": len(found)}
        return Reply(200, {"pagination": counts, kind: rows})

    return route


def _sortable(shown: Record, column: str) -> Any:
    value = shown.get(f"{column}String", shown.get(column))
    return value if isinstance(value, int | float) else str(value or "")


def _count(call: Call, name: str, default: int) -> int:
    text = call.query.get(name, str(default))
    if not text.isdigit() or int(text) < 1:
        raise Refusal(400, f"{name} must be a positive number")
    return int(text)


def _one(kind: str) -> Route:
    return lambda world, call: Reply(200, {kind: [KINDS[kind][2](world, _find(world, kind, call.ids["id"]))]})


def _given(call: Call, kind: str) -> list[Record]:
    """The elements of a body: a list under the name of their kind, or one of them by itself."""
    body = call.body
    rows = body.get(kind, [body]) if isinstance(body, dict) else body
    if not isinstance(rows, list) or not rows or not all(isinstance(one, dict) for one in rows):
        raise Refusal(400, f"The body must have a list of {kind}")
    return rows


def _contact_key(world: World, given: Any) -> str:
    """The id of a contact that is named by id or name; a new name makes a new contact, as in Xero."""
    given = given if isinstance(given, dict) else {}
    if given.get("ContactID"):
        return str(_find(world, "Contacts", str(given["ContactID"]))["ContactID"])
    if not given.get("Name"):
        raise Refusal(400, "A Contact must be specified for this type of transaction")
    found = [one for one in world.rows("contacts") if one["Name"].casefold() == str(given["Name"]).casefold()]
    return str(found[0]["ContactID"]) if found else str(_write_contact(world, {}, given)["ContactID"])


def _lines(world: World, given: Any) -> list[Record]:
    found = []
    for line in given:
        item = next((one for one in world.rows("items", Code=line.get("ItemCode") or "-")), None)
        if line.get("ItemCode") and item is None:
            raise Refusal(400, f"Item code '{line['ItemCode']}' is not valid")
        price = line.get("UnitAmount", item["SalesDetails"]["UnitPrice"] if item else None)
        quantity = _amount(line.get("Quantity", 1), "Quantity")
        if price is None:
            price = _amount(line.get("LineAmount", 0), "LineAmount") / (quantity or 1)
        description = line.get("Description") or (item or {}).get("Description")
        if not description:
            raise Refusal(400, "Description is required for each line item")
        found.append({
            "Description": description, "Quantity": quantity, "UnitAmount": _amount(price, "UnitAmount"),
            "ItemCode": line.get("ItemCode") or "", "AccountCode": line.get("AccountCode") or "200",
            "TaxType": line.get("TaxType") or "NONE",
        })  # fmt: skip
    return found


def _keep(world: World, kind: str, old: Record, new: Record) -> Record:
    """Keep a changed record, or a new one under the next id."""
    collection, name, _ = KINDS[kind]
    if not old:
        key, world.next_id = new_key(world.next_id), world.next_id + 1
        new = {name: key} | new
    world.state[collection][new[name]] = new
    return new


def _write_contact(world: World, old: Record, given: Record) -> Record:
    names = ("Name", "ContactStatus", "AccountNumber", "EmailAddress", "FirstName", "LastName")
    new = {"ContactStatus": "ACTIVE", "Phones": []} | old | {name: given[name] for name in names if name in given}
    if not new.get("Name"):
        raise Refusal(400, "The contact name must be specified")
    phones = {one["PhoneType"]: one for one in new["Phones"]}
    for phone in given.get("Phones") or []:
        kind = phone.get("PhoneType", "DEFAULT")
        parts = {name: str(phone.get(name) or "") for name in ("PhoneNumber", "PhoneAreaCode", "PhoneCountryCode")}
        phones[kind] = {"PhoneType": kind, **parts}
    return _keep(world, "Contacts", old, new | {"Phones": list(phones.values())})


def _write_invoice(world: World, old: Record, given: Record) -> Record:
    new: Record = {
        "Type": None,
        "Reference": "",
        "Date": TODAY,
        "DueDate": None,
        "Status": "DRAFT",
        "LineItems": [],
    } | old
    new |= {name: given[name] for name in ("Type", "Reference", "InvoiceNumber", "Status") if given.get(name)}
    new |= {name: _day(given[name], name) for name in ("Date", "DueDate") if given.get(name)}
    if given.get("LineItems"):
        new["LineItems"] = _lines(world, given["LineItems"])
    if given.get("Contact") or not old:
        new["ContactID"] = _contact_key(world, given.get("Contact"))
    if new["Type"] not in ("ACCREC", "ACCPAY"):
        raise Refusal(400, "Invoice Type must be ACCREC or ACCPAY")
    if new["Status"] == "PAID":
        new["Status"] = old.get("Status", "DRAFT")
    _check_status(world, old, new)
    new.setdefault("InvoiceNumber", f"INV-{500 + world.next_id:04}")
    return _keep(world, "Invoices", old, new)


def _check_status(world: World, old: Record, new: Record) -> None:
    before, after = old.get("Status"), new["Status"]
    if after not in ("DRAFT", "SUBMITTED", "AUTHORISED", "DELETED", "VOIDED"):
        raise Refusal(400, f"Status {after} is not valid")
    if after == "AUTHORISED" and not new["DueDate"]:
        raise Refusal(400, "DueDate cannot be empty when the Status is AUTHORISED")
    if before in ("DELETED", "VOIDED"):
        raise Refusal(400, "Invoice not of valid status for modification")
    if after == "DELETED" and before == "AUTHORISED":
        raise Refusal(400, "An approved invoice cannot be deleted; it may be voided")
    if after == "VOIDED" and (before != "AUTHORISED" or _due(world, old)[2] != total(old)):
        raise Refusal(400, "Only an approved invoice without payments can be voided; a draft is deleted")


def _write_quote(world: World, old: Record, given: Record) -> Record:
    new: Record = {"Status": "DRAFT", "LineItems": []} | old
    new |= {name: given[name] for name in ("Title", "Summary", "Terms", "Reference", "Status") if given.get(name)}
    # The document says that the date has a default; the API demands it.
    if not given.get("Date") and not old:
        raise Refusal(400, "Date is mandatory for a quote")
    new |= {name: _day(given[name], name) for name in ("Date", "ExpiryDate") if given.get(name)}
    if given.get("LineItems"):
        new["LineItems"] = _lines(world, given["LineItems"])
    if given.get("Contact") or not old:
        new["ContactID"] = _contact_key(world, given.get("Contact"))
    new.setdefault("QuoteNumber", f"QU-{40 + world.next_id:04}")
    return _keep(world, "Quotes", old, new)


def _write_payment(world: World, old: Record, given: Record) -> Record:
    if old:
        if given.get("Status") != "DELETED":
            raise Refusal(400, "A payment can only be deleted")
        return _keep(world, "Payments", old, old | {"Status": "DELETED"})
    named = given.get("Invoice") or {}
    invoice = _find(world, "Invoices", str(named.get("InvoiceID") or named.get("InvoiceNumber") or given.get(
        "InvoiceNumber") or ""))  # fmt: skip
    own = given.get("Account") or {}
    account = next(
        (one for one in world.rows("accounts")
         if one["AccountID"] == own.get("AccountID") or one["Code"] == (own.get("Code") or given.get("Code"))), None
    )  # fmt: skip
    if account is None or account["Type"] != "BANK":
        raise Refusal(400, "A bank account to which payments can be made must be specified")
    amount = _amount(given.get("Amount"), "Amount")
    if invoice["Status"] != "AUTHORISED" or not 0 < amount <= _due(world, invoice)[2]:
        raise Refusal(400, "Payment amount exceeds the amount outstanding on this document")
    new = {
        "InvoiceID": invoice["InvoiceID"], "AccountID": account["AccountID"], "Amount": amount,
        "Date": _day(given.get("Date") or TODAY, "Date"), "Reference": given.get("Reference") or "",
        "Status": "AUTHORISED",
    }  # fmt: skip
    return _keep(world, "Payments", old, new)


def _write_group(world: World, old: Record, given: Record) -> Record:
    new = {"Status": "ACTIVE"} | old | {name: given[name] for name in ("Name", "Status") if given.get(name)}
    if not new.get("Name"):
        raise Refusal(400, "The contact group name must be specified")
    return _keep(world, "ContactGroups", old, new)


WRITERS: dict[str, Callable[[World, Record, Record], Record]] = {
    "Contacts": _write_contact,
    "ContactGroups": _write_group,
    "Invoices": _write_invoice,
    "Payments": _write_payment,
    "Quotes": _write_quote,
}


def _made(kind: str) -> Route:
    """Create the records of a body (PUT)."""

    def route(world: World, call: Call) -> Reply:
        made = [WRITERS[kind](world, {}, one) for one in _given(call, kind)]
        return Reply(200, {kind: [KINDS[kind][2](world, one) for one in made]})

    return route


def _written(kind: str) -> Route:
    """Update the records of a body that are known, and create the others (POST)."""
    _, name, show = KINDS[kind]

    def route(world: World, call: Call) -> Reply:
        made = []
        for given in _given(call, kind):
            number = _NUMBERS.get(kind, name)
            same = [one for one in world.rows(KINDS[kind][0]) if given.get(number) and one.get(number) == given[number]]
            old = _find(world, kind, str(given[name])) if given.get(name) else same[0] if same else {}
            made.append(WRITERS[kind](world, old, given))
        return Reply(200, {kind: [show(world, one) for one in made]})

    return route


def _updated(kind: str) -> Route:
    def route(world: World, call: Call) -> Reply:
        made = WRITERS[kind](world, _find(world, kind, call.ids["id"]), _given(call, kind)[0])
        return Reply(200, {kind: [KINDS[kind][2](world, made)]})

    return route


def _join(world: World, call: Call) -> Reply:
    group = _find(world, "ContactGroups", call.ids["id"])["ContactGroupID"]
    joined = [_find(world, "Contacts", str(one.get("ContactID")))["ContactID"] for one in _given(call, "Contacts")]
    for key in joined:
        world.state["group_members"][f"{group}/{key}"] = {"group": group, "contact": key}
    return Reply(200, {"Contacts": [_brief(world, "contacts", key, "ContactID", "Name") for key in joined]})


def _leave(world: World, call: Call) -> Reply:
    group = _find(world, "ContactGroups", call.ids["id"])["ContactGroupID"]
    for key, one in list(world.state["group_members"].items()):
        if one["group"] == group and call.ids.get("contact", one["contact"]) == one["contact"]:
            del world.state["group_members"][key]
    return Reply(204)


def _allocate(world: World, call: Call) -> Reply:
    note, made = _find(world, "CreditNotes", call.ids["id"]), list[Record]()
    for given in _given(call, "Allocations"):
        named = given.get("Invoice") or {}
        invoice = _find(world, "Invoices", str(named.get("InvoiceID") or named.get("InvoiceNumber") or ""))
        amount = _amount(given.get("Amount"), "Amount")
        left = min(_show_note(world, note)["RemainingCredit"], _due(world, invoice)[2])
        if note["Status"] != "AUTHORISED" or invoice["ContactID"] != note["ContactID"] or not 0 < amount <= left:
            raise Refusal(400, "The credit note cannot be allocated to this invoice by this amount")
        key, world.next_id = new_key(world.next_id), world.next_id + 1
        one = {"AllocationID": key, "CreditNoteID": note["CreditNoteID"], "InvoiceID": invoice["InvoiceID"]}
        one |= {"Amount": amount, "Date": _day(given.get("Date") or TODAY, "Date")}
        world.state["allocations"][key] = one
        made.append(one | {"Invoice": _brief(world, "invoices", one["InvoiceID"], "InvoiceID", "InvoiceNumber")})
    return Reply(200, {"Allocations": made})


def _history(kind: str) -> Route:
    def route(world: World, call: Call) -> Reply:
        key = _find(world, kind, call.ids["id"])[KINDS[kind][1]]
        if call.method == "PUT":
            for given in _given(call, "HistoryRecords"):
                if not given.get("Details"):
                    raise Refusal(400, "Details must be specified")
                world.add("history", {"of": key, "Details": given["Details"], "Changes": "Note", "User": "System"})
        shown = [{name: one[name] for name in ("Details", "Changes", "User")} for one in world.rows("history", of=key)]
        return Reply(200, {"HistoryRecords": shown})

    return route


def _email(world: World, call: Call) -> Reply:
    invoice = _find(world, "Invoices", call.ids["id"])
    if invoice["Status"] not in ("AUTHORISED", "SUBMITTED"):
        raise Refusal(400, "Invoice not of valid status for emailing")
    world.add("emails", {"InvoiceID": invoice["InvoiceID"]})
    return Reply(204)


def _organisation(world: World, call: Call) -> Reply:
    own = {"Name": "Fennmoor Cycle Works", "BaseCurrency": "GBP", "CountryCode": "GB", "OrganisationType": "COMPANY"}
    return Reply(200, {"Organisations": [own | {"OrganisationID": key_of("Fennmoor"), "Timezone": "GMTSTANDARDTIME"}]})


ROUTES: dict[str, Route] = {
    **{f"GET /{kind}": _listed(kind) for kind in KINDS},
    **{f"GET /{kind}/{{id}}": _one(kind) for kind in KINDS},
    **{f"PUT /{kind}": _made(kind) for kind in WRITERS},
    **{f"POST /{kind}": _written(kind) for kind in WRITERS if kind != "ContactGroups"},
    **{f"POST /{kind}/{{id}}": _updated(kind) for kind in WRITERS},
    **{
        f"{verb} /{kind}/{{id}}/History": _history(kind)
        for kind in ("Contacts", "CreditNotes", "Invoices", "Items", "Payments", "Quotes")
        for verb in ("GET", "PUT")
    },
    "PUT /ContactGroups/{id}/Contacts": _join,
    "DELETE /ContactGroups/{id}/Contacts": _leave,
    "DELETE /ContactGroups/{id}/Contacts/{contact}": _leave,
    "PUT /CreditNotes/{id}/Allocations": _allocate,
    "POST /Invoices/{id}/Email": _email,
    "GET /Organisation": _organisation,
}


def world() -> World:
    """Return Xero with its seeded records."""
    return World(seed(), ROUTES, _error, PREFIX, NEW)
