"""The records of a small company in Xero Accounting, and how their ids are made."""

import re
import uuid

from lab.readers.world import Record, State

TODAY = "2026-03-02"
NEW = 1
"""The number in the id of the first new record, whatever its kind."""


def key_of(name: str) -> str:
    """The id of a seeded record that is known by this name."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"https://fennmoor.example/{name}"))


def new_key(number: int = NEW) -> str:
    """The id of a new record."""
    return f"00000000-0000-4000-8000-{number:012}"


CONTACTS = (
    "Abbey Road Cycles", "Karsten Bau", "Pellow & Sons", "Pellow & Sons Leeds", "Northgate Timber",
    "Northgate Timber Supplies", "Lindgren Sport", "Harbour Lights Café", "Harbour Lights Hotel", "Brightwater School",
    "Brightwater Schools Trust", "Vantage Freight", "Vantage Freight NI", "Quarry Hill Nursery",
)  # fmt: skip
PLAIN = tuple(f"{town} Wheels" for town in (
    "Alnwick", "Bodmin", "Crewe", "Dorking", "Ely", "Fleet", "Girvan", "Hexham", "Ipswich", "Jarrow", "Kelso", "Louth",
    "Malton", "Nairn", "Oban", "Penrith", "Ripon", "Selby", "Thirsk", "Wigan",
))  # fmt: skip
# Number, type, contact, day of issue, day when it is due, status, amount, what of it is paid.
INVOICES = (
    ("INV-0301", "ACCREC", "Lindgren Sport", "2025-11-12", "2025-12-12", "AUTHORISED", 30.0, 0.0),
    ("INV-0344", "ACCREC", "Lindgren Sport", "2026-01-08", "2026-02-07", "AUTHORISED", 250.0, 0.0),
    ("INV-0371", "ACCREC", "Lindgren Sport", "2026-02-03", "2026-03-05", "AUTHORISED", 140.0, 0.0),
    ("INV-0350", "ACCREC", "Northgate Timber", "2026-01-01", "2026-01-31", "AUTHORISED", 980.0, 500.0),
    ("INV-0366", "ACCREC", "Abbey Road Cycles", "2026-01-28", "2026-02-27", "AUTHORISED", 2310.5, 0.0),
    ("INV-0380", "ACCREC", "Pellow & Sons", "2026-01-21", "2026-02-20", "AUTHORISED", 600.0, 0.0),
    ("INV-0398", "ACCREC", "Karsten Bau", "2026-02-13", "2026-03-15", "AUTHORISED", 1200.0, 450.0),
    ("INV-0401", "ACCREC", "Pellow & Sons", "2026-02-23", "2026-03-25", "DRAFT", 75.0, 0.0),
    ("INV-0402", "ACCREC", "Pellow & Sons", "2026-02-23", "2026-03-25", "DRAFT", 75.0, 0.0),
    ("INV-0403", "ACCREC", "Pellow & Sons", "2026-02-24", "2026-03-26", "DRAFT", 75.0, 0.0),
    ("INV-0405", "ACCREC", "Pellow & Sons", "2026-02-28", "2026-03-30", "AUTHORISED", 75.0, 0.0),
    ("INV-0406", "ACCREC", "Pellow & Sons Leeds", "2026-02-26", "2026-03-28", "AUTHORISED", 90.0, 0.0),
    ("INV-0407", "ACCREC", "Pellow & Sons Leeds", "2026-02-26", "2026-03-28", "DRAFT", 75.0, 0.0),
    ("INV-0412", "ACCREC", "Harbour Lights Café", "2026-02-18", "2026-03-20", "AUTHORISED", 320.0, 0.0),
    ("INV-0415", "ACCREC", "Quarry Hill Nursery", "2026-02-27", "2026-03-29", "SUBMITTED", 350.0, 0.0),
    ("B-5502", "ACCPAY", "Vantage Freight", "2025-12-02", "2026-01-01", "AUTHORISED", 611.2, 611.2),
    ("B-5531", "ACCPAY", "Vantage Freight", "2026-01-11", "2026-02-10", "AUTHORISED", 4890.0, 0.0),
    ("B-5540", "ACCPAY", "Vantage Freight", "2026-02-20", "2026-03-22", "DRAFT", 410.6, 0.0),
    ("B-5552", "ACCPAY", "Vantage Freight NI", "2026-02-21", "2026-03-23", "SUBMITTED", 512.3, 0.0),
    ("B-5560", "ACCPAY", "Northgate Timber Supplies", "2025-06-03", "2025-07-03", "AUTHORISED", 996.0, 996.0),
)  # fmt: skip
PRICES = {"BIKE-LOCK": 24.9, "BIKE-LOCK-XL": 39.5, "FITTING": 45.0, "HELMET": 31.0, "SHELTER": 310.0}
CREDITS = (
    ("CN-0021", "Lindgren Sport", "AUTHORISED", 110.0), ("CN-0018", "Lindgren Sport", "DRAFT", 55.0),
    ("CN-0020", "Karsten Bau", "AUTHORISED", 25.0),
)  # fmt: skip
BANKS = ("Business Current Account", "Business Savings Account", "Old petty cash")
GROUPS = {
    "Credit watch": ("Karsten Bau", "Quarry Hill Nursery"), "Credit watch 2024": ("Alnwick Wheels", "Ely Wheels"),
    "Schools": ("Brightwater School", "Brightwater Schools Trust"),
}  # fmt: skip


def _line(item: str, quantity: float, price: float) -> Record:
    return {
        "Description": item.replace("-", " ").capitalize(), "Quantity": quantity, "UnitAmount": price,
        "ItemCode": item, "AccountCode": "200", "TaxType": "NONE",
    }  # fmt: skip


def total(record: Record) -> float:
    """What the lines of a record amount to."""
    return float(round(sum(line["Quantity"] * line["UnitAmount"] for line in record["LineItems"]), 2))


def _invoice_record(number: str, kind: str, contact: str, days: tuple[str, str], status: str) -> Record:
    return {
        "InvoiceID": key_of(number), "Type": kind, "ContactID": key_of(contact), "InvoiceNumber": number,
        "Reference": "", "Date": days[0], "DueDate": days[1], "Status": status, "LineItems": [],
    }  # fmt: skip


def _pay(payments: dict[str, Record], invoice: Record, day: str, amount: float) -> None:
    key = key_of(f"payment {len(payments)}")
    payments[key] = {
        "PaymentID": key, "InvoiceID": invoice["InvoiceID"], "AccountID": key_of(BANKS[0]), "Date": day,
        "Amount": amount, "Reference": "", "Status": "AUTHORISED",
    }  # fmt: skip


def seed() -> State:
    """Make the records."""
    contacts: dict[str, Record] = {}
    for number, name in enumerate((*CONTACTS, *PLAIN)):
        mail = re.sub(r"[^a-z]+", "-", name.lower().replace("é", "e")).strip("-")
        contacts[key_of(name)] = {
            "ContactID": key_of(name), "Name": name, "ContactStatus": "ACTIVE", "AccountNumber": "",
            "EmailAddress": f"accounts@{mail}.example", "FirstName": "", "LastName": "",
            "Phones": [
                {"PhoneType": kind, "PhoneNumber": f"{digits}{number:02}" if digits else "", "PhoneAreaCode": area,
                 "PhoneCountryCode": ""}
                for kind, area, digits in
                (("DEFAULT", "0131", "49601"), ("DDI", "", ""), ("FAX", "0131", "49602"), ("MOBILE", "07700", "9002"))
            ],
        }  # fmt: skip
    invoices: dict[str, Record] = {}
    payments: dict[str, Record] = {}
    for number in range(1, 231):
        day = f"2025-{(number - 1) // 20 + 1:02}-{(number - 1) % 20 + 3:02}"
        one = _invoice_record(f"INV-{number:04}", "ACCREC", PLAIN[number * 7 % 20], (day, day), "AUTHORISED")
        codes = ("BIKE-LOCK", "HELMET", "BIKE-LOCK-XL", "FITTING")
        one["LineItems"] = [_line(codes[number % 4], number % 5 + 1, PRICES[codes[number % 4]])]
        if number % 9 == 0:
            one["LineItems"] += [_line("BIKE-LOCK", 2, PRICES["BIKE-LOCK"])]
        one["Status"] = "VOIDED" if number in (60, 140) else "AUTHORISED"
        invoices[one["InvoiceID"]] = one
        if one["Status"] == "AUTHORISED":
            _pay(payments, one, day, total(one))
    for code, kind, contact, issued, due, status, amount, paid in INVOICES:
        one = _invoice_record(code, kind, contact, (issued, due), status)
        stock = code == "B-5560"
        one["LineItems"] = [_line("BIKE-LOCK", 80, 12.45) if stock else _line("HELMET", 1, amount) | {"ItemCode": ""}]
        invoices[one["InvoiceID"]] = one
        if paid:
            _pay(payments, one, due, paid)
    january = _invoice_record("INV-0320", "ACCREC", PLAIN[3], ("2026-01-05", "2026-02-04"), "AUTHORISED")
    january["LineItems"] = [_line("BIKE-LOCK", 9, PRICES["BIKE-LOCK"])]
    invoices[january["InvoiceID"]] = january
    _pay(payments, january, "2026-02-01", total(january))
    credit_notes = {
        key_of(code): {
            "CreditNoteID": key_of(code), "CreditNoteNumber": code, "Type": "ACCRECCREDIT", "Date": "2026-01-30",
            "ContactID": key_of(name), "Status": status, "Total": total,
        }
        for code, name, status, total in CREDITS
    }  # fmt: skip
    allocations = {
        key_of("allocation"): {
            "AllocationID": key_of("allocation"), "CreditNoteID": key_of("CN-0021"), "InvoiceID": key_of("INV-0301"),
            "Amount": 30.0, "Date": "2026-02-01",
        }
    }  # fmt: skip
    groups = {key_of(name): {"ContactGroupID": key_of(name), "Name": name, "Status": "ACTIVE"} for name in GROUPS}
    members = {
        f"{key_of(group)}/{key_of(name)}": {"group": key_of(group), "contact": key_of(name)}
        for group, names in GROUPS.items()
        for name in names
    }
    accounts = {
        key_of(name): {
            "AccountID": key_of(name), "Code": code, "Name": name, "Type": kind, "Status": "ACTIVE",
            "EnablePaymentsToAccount": False, "TaxType": "NONE",
        }
        for name, code, kind in (
            *zip(BANKS, ("090", "091", "092"), ("BANK", "BANK", "BANK"), strict=True), ("Sales", "200", "REVENUE"),
            ("Purchases", "300", "EXPENSE"), ("Freight", "425", "EXPENSE"),
        )
    }  # fmt: skip
    items = {
        key_of(code): {
            "ItemID": key_of(code), "Code": code, "Name": code.replace("-", " ").capitalize(),
            "Description": code.replace("-", " ").capitalize(), "IsSold": True, "IsPurchased": True,
            "SalesDetails": {"UnitPrice": price, "AccountCode": "200", "TaxType": "NONE"},
            "PurchaseDetails": {"UnitPrice": round(price / 2, 2), "AccountCode": "300", "TaxType": "NONE"},
        }
        for code, price in PRICES.items()
    }  # fmt: skip
    return {
        "contacts": contacts, "invoices": invoices, "payments": payments, "credit_notes": credit_notes,
        "allocations": allocations, "groups": groups, "group_members": members, "accounts": accounts, "items": items,
        "quotes": {}, "history": {}, "emails": {},
    }  # fmt: skip
