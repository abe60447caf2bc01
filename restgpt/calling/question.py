"""The question about a call: the exact request, what its ids stand for, what changes, how to undo it.

Its description has sections, the few that a decision needs: values whose origin is plain, headers that no argument
gives, the line of the program stand in the `details`. A label in this program's words says who said the text below it,
and each line of that text has a mark (`restgpt.tools.text.quotation`), in a terminal and in a page that reads Markdown.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import dropwhile, islice
from typing import Any

from restgpt.calling.call import Call
from restgpt.calling.decision import (
    ONLY_READS,
    can_permit,
    confirms,
    decide,
    flow_answer,
    needs_person,
    permissions_for,
)
from restgpt.calling.idempotency import given_key, key_header
from restgpt.calling.origin.flow import api_record, entry_id, is_opaque, item_at, telling
from restgpt.calling.origin.provenance import described
from restgpt.calling.permissions import key_of
from restgpt.calling.record import UNDO, AskedFlow, CallRecord, Provenance
from restgpt.calling.scope import (
    HOURS,
    MOST_HOURS,
    MOST_TIMES,
    TIMES,
    Recorded,
    Scope,
    compared,
    freedom,
    outside,
    scope_lines,
    scope_of,
)
from restgpt.calling.session import Session
from restgpt.calling.target import FieldChange, ShownTarget, changes_text, shown_target
from restgpt.calling.undo import NOT_READ, outlook, relocked
from restgpt.specs import Operation
from restgpt.specs.api import slug
from restgpt.specs.reading.tree import parse_pointer
from restgpt.tools.request.files import is_file_argument
from restgpt.tools.request.view import headers_section, is_cut, view, view_sections
from restgpt.tools.text.quotation import named, section
from restgpt.tools.text.storable import storable_value

DESCRIPTION_SHOWN = 600
"""How many characters of a description a question shows, if the person may confirm that the operation only reads."""

ORIGINS_SHOWN, NAMED = 20, 6
"""How many arguments a question lists with their origin, and fields of a target by which a person knows it."""

SAID = 200
"""How many characters of the summary of an operation a question shows."""

OTHERS_SHOWN = 20
"""With how many earlier changes of the thread a permission is compared."""

Permit = tuple[Scope, int, float]
"""The scope of a permission, how often and for how many hours it holds at most."""

FILES_SHOWN = 20
"""How many names of files a question lists."""

WHY_SHOWN = 1_000
"""How many characters of a model's reason a question shows."""


def present(
    session: Session,
    call: Call,
    *,
    changed: Sequence[FieldChange] | None = None,
    others: Sequence[CallRecord] = (),
) -> Call:
    """Fill in what a person sees of a question, or of a call that is over; anything else is left as it is.

    The target of a change is looked at for its question, unless it is known already. `changed` is what changed in the
    target after a person had approved; empty if it could not be read again. `others` are the other calls of the thread.
    """
    made = call.request
    if call.is_over:
        note = request_summary(session.shown(made)) if call.stage == "held" else call.note
        return replace(call, note=note, wire={"method": made.method, "url": session.redactor().url(made.url)})
    if call.stage != "asked":
        return call
    if call.question:
        told = [*_unusable(session, call.note), _without_note(str(call.question["description"]))]
        return replace(call, question={**call.question, "description": "\n\n".join(told)})
    target = call.target
    flow = _asked_flow(session, call)
    # A look would send the very values that the question is about.
    if not target.is_known and changed is None and not flow:
        target = session.look(call.operation, call.settled)
    if call.locks and not call.unsure:
        fresh = relocked(call, target)
        if fresh is None:
            return present(session, call.over("failed", NOT_READ))
        call = fresh
    hidden = session.redactor(call.operation.api)
    expires = session.rules.expiry()
    there: ShownTarget | None = hidden.json(shown_target(call.operation, call.settled, target))
    provenance: list[Provenance] = hidden.json(list(call.provenance))
    offered = {} if call.confirm or call.doubt or call.unsure else _offered(session, call.operation)
    undo = hidden.text(outlook(call.operation, call.settled, target.earlier))
    key = key_header(call.operation)
    given = [name for place in ("header", "cookie") for name in call.settled.get(place, ()) if name != key]
    is_told = there is not None and bool(there["changes"])
    purpose = _purpose(call.operation, with_description=bool(offered))
    sections = [
        *_unusable(session, call.note),
        *(_unsure(call) if call.unsure else []),
        *_answered_before(session, call),
        *(_uncovered(session, call) if changed is None else [_changed(call.operation, hidden.json(list(changed)))]),
        *view_sections(call.request, hidden, headers=given),
        *([WHOLE] if is_cut(call.request) else []),
        *([f"An answer after {expires} counts as a rejection."] if expires else []),
        *_files(session, call),
        *_pages(call.pages),
        *_flow(flow),
        *([call.doubt] if call.doubt else []),
        *_unknown(call),
        *_items(session, call, but="/path/" if _told(there) else None),
        *_target(call.operation, there),
        *([] if is_told else purpose),
        *_effect(call, undo),
        *_origins([item for item in provenance if not _is_plain(item, call)], call.line),
    ]
    details = [
        *_why(session, call),
        *headers_section(call.request, hidden),
        *_present(call.operation, there),
        *_repeats(session, call),
        *(purpose if is_told else []),
        *_origins(provenance, call.line),
    ]
    action: dict[str, Any] = {
        "name": call.name,
        "args": dict(call.arguments),
        "description": "\n\n".join(sections),
        "details": "\n\n".join(details),
        "request": storable_value(view(call.request, hidden)),
        "target": there,
        "undo": undo,
        "provenance": provenance,
        **offered,
        **({"flow": flow} if flow else {}),
        **({"permit": _permit(session, call, others)} if _may_come_again(call) and _can_permit(session, call) else {}),
        **({"expires": expires} if expires else {}),
        **({"further_pages": call.pages - 1} if call.pages > 1 else {}),
    }
    return replace(call, question=action, target=target)


def decided_on(session: Session, draft: Call) -> Call:
    """Decide on a draft by the rules; raises `MissingCredentialError` before anybody is asked and before it is sent.

    A call has failed that lacks only the cookie of a login, which another call can make.
    """
    decided = decide(draft, session.rules)
    if decided.is_over:
        return decided
    if missing := session.missing_login(draft.operation):
        return draft.over("failed", missing)
    return _permitted(session, draft) or decided if decided.stage == "asked" else decided


def _permitted(session: Session, draft: Call) -> Call | None:
    """The call as it goes out under a permission of a person, a use of which it takes; None without one."""
    use = sha256(f"{session.journal.thread}\0{draft.id}\0{draft.fingerprint}".encode("utf-8", "replace")).hexdigest()
    for permission in permissions_for(draft, session.rules):
        if session.rules.permissions.take(permission, use):
            return draft.approved(permission=permission.key, note=PERMITTED)
    return None


NO_PERMIT = "no permission for further requests can be given with this one. Approve it without `permit`"
PERMITTED = "Sent unasked, under a permission of the user."


def permit_of(session: Session, call: Call, wish: Any) -> Permit | str:
    """What a person permits with a call: the scope of further calls, how often and for how many hours at most.

    A text says why the wish cannot be used. `times` and `hours` of the wish are optional.
    """
    if not _can_permit(session, call):
        return NO_PERMIT
    scope = scope_of(call, wish)
    if isinstance(scope, str):
        return scope
    times, hours = wish.get("times", TIMES), wish.get("hours", HOURS)
    if type(times) is not int or not 1 <= times <= MOST_TIMES:
        return f"`times` is a whole number from 1 to {MOST_TIMES}"
    if type(hours) not in (int, float) or not 0 < hours <= MOST_HOURS:
        return f"`hours` is a number above 0, at most {MOST_HOURS:g}"
    return scope, times, float(hours)


def _can_permit(session: Session, call: Call) -> bool:
    """Whether a permission may be given with a call: none may keep a secret, so no value of the call is one."""
    settled = dict(call.settled)
    return can_permit(call, session.rules) and bool(session.redactor(call.operation.api).json(settled) == settled)


def _may_come_again(call: Call) -> bool:
    """Whether a request like this one can follow: what a DELETE names in its path is gone after the first."""
    return call.operation.method != "DELETE" or not call.settled.get("path")


def _permit(session: Session, call: Call, others: Sequence[CallRecord]) -> dict[str, Any]:
    """What a permission may leave open, and how other changes of the thread differ, to show what it covers."""
    changes = [item for item in others if item["operation"] == call.name and item["id"] != call.id][-OTHERS_SHOWN:]
    made = (
        Recorded(call.operation, item.get("settled") or item["arguments"], item.get("provenance", []))
        for item in changes
    )
    free = freedom(call)
    hidden = session.redactor(call.operation.api).json(list(compared(call, free, made)))
    compare = {"others": storable_value(hidden), "of": len(changes), "key": key_of(call.operation)}
    return {"free": free, "lines": scope_lines(free), "times": TIMES, "hours": HOURS, **compare}


def answered(session: Session, ask: Call, answer: Mapping[str, Any]) -> Call:
    """Decide a question by a person's answer, and present the result; what the person permits with it is kept first."""
    permissions = session.rules.permissions
    permit: Permit | str | None = None
    if "permit" in answer and answer.get("type") == "approve":
        is_offered = ask.question.get("permit", {}).get("key") == key_of(ask.operation)
        permit = permit_of(session, ask, answer["permit"]) if is_offered else NO_PERMIT
        if isinstance(permit, str):
            return present(session, replace(ask, note=permit))
    if confirms(ask, answer, session.rules):
        permissions.confirm_read(ask.operation, ask.question["effect"]["reason"])
    decided = decide(ask, session.rules, answer)
    if isinstance(permit, tuple) and decided.stage == "approved":
        scope, times, hours = permit
        permissions.permit(permissions.for_changes(ask.operation, scope, times=times, hours=hours, call=ask.id))
    if ask.flow is not None and "flow" in ask.question and decided.stage != "asked":
        api = api_record(ask.operation.api)
        sources = ask.question["flow"]["sources"]
        to = (api["id"], api["name"])
        permissions.answer_flow(ask.flow["run"], sources, to, flow_answer(ask, answer), call=ask.id)
    return present(session, decided)


def _asked_flow(session: Session, draft: Call) -> AskedFlow | None:
    """The values of other APIs that a question is about; None if there are none, or a person allowed them before."""
    crossing = session.rules.crossing(draft.operation, draft.flow)
    if not crossing:
        return None
    return {
        "sources": {key: _called(session, key, name) for key, name in crossing.items()},
        "to": _called(session, **api_record(draft.operation.api)),
        "is_only": not needs_person(draft, session.rules),
    }


def _called(session: Session, id: str, name: str) -> str:
    """The name of an API; that of an entry of `apis.yaml` is marked where only the title of a document gives it."""
    is_taken = any(slug(entry) == slug(name) and entry_id(entry) != id for entry in session.rules.settings.apis)
    return f"{name} by its title only" if is_taken else name


def _flow(flow: AskedFlow | None) -> list[str]:
    """The APIs whose values the request may tell another one, and what an approval allows."""
    if flow is None:
        return []
    names, to = ", ".join(map(named, flow["sources"].values())), named(flow["to"])
    return [
        f"Values of {names} may go to {to} with this request. "
        f"An approval allows {names} → {to} until this instruction is done, for an hour at most."
    ]


def _unknown(draft: Call) -> list[str]:
    """The ids in the path that nobody gave."""
    if not draft.unknown:
        return []
    names = ", ".join(named(name) for name in draft.unknown)
    return [f"In the path, {names} is in nothing that you, a response or the API's spec said."]


def _offered(session: Session, operation: Operation) -> dict[str, Any]:
    """The key `effect` of a question: the person may confirm a read, and with which decision; else nothing."""
    if not session.rules.can_confirm(operation):
        return {}
    reason = session.rules.effect(operation).reason
    confirm = {"type": "approve", ONLY_READS: True}
    return {"effect": {"kind": "read", "reason": reason, "key": key_of(operation), "confirm": confirm}}


UNUSABLE = "That decision cannot be used:"

WHOLE = "`restgpt threads ID --request N` prints all of it."


def _unusable(session: Session, note: str) -> list[str]:
    return [section(UNUSABLE, session.redacted(note))] if note else []


def _without_note(description: str) -> str:
    """A description without the note on an earlier answer, which is its first section."""
    if not description.startswith(UNUSABLE):
        return description
    lines = description.split("\n")[1:]
    return "\n".join(dropwhile(lambda line: not line or line.startswith(" "), lines))


def _unsure(draft: Call) -> list[str]:
    lines = [
        "This request was being sent when the run was interrupted. It may or may not have been carried out.",
        "Approve: send it again. Reject: do not send it.",
    ]
    if given_key(draft.operation, draft.settled) is not None:
        lines.append("It carries the same idempotency key as before, by which the API can tell that it is the same.")
    return ["\n".join(lines)]


def _changed(operation: Operation, changed: Sequence[FieldChange]) -> str:
    if not changed:
        return "The target of this request could not be read again right before sending, so it was not sent."
    label = "The target has changed since this request was approved, so it was not sent. By responses of"
    return section(f"{label} {_source(operation)}:", changes_text(changed))


def _answered_before(session: Session, draft: Call) -> list[str]:
    """That the very same request was sent before: a program, a model or a person may repeat it.

    The journal of a thread and the conversation may tell of the same one.
    """
    own = session.journal.statuses(draft.fingerprint, but=draft.id)
    told = max(own, list(draft.answered), key=len)
    answers = ", then ".join(str(status) if status else "nothing" for status in told)
    doubt = " What was not answered may have been carried out all the same." if 0 in told else ""
    return [f"This very request was sent before. The API answered {answers}.{doubt}"] if told else []


def _uncovered(session: Session, draft: Call) -> list[str]:
    """Why the newest permission for changes of the operation does not cover a call; nothing without one."""
    permissions = session.rules.permissions.covering(draft.operation, lambda scope: True)
    if not permissions:
        return []
    off = ", ".join(named(".".join(parse_pointer(item))) for item in outside(draft, permissions[-1].scope))
    is_open = can_permit(draft, session.rules)
    why = "the same was sent before" if draft.answered else "it is used up" if is_open else "of what is said here"
    return [f"Your permission does not cover this request, because {f'of {off}' if off else why}."]


def _source(operation: Operation) -> str:
    """The name of an API as a label holds it: that of its entry in apis.yaml, else the title of its document."""
    return named(operation.api.entry or operation.api.name)


def _repeats(session: Session, draft: Call) -> list[str]:
    """How often an approval may send a change: a 429 (too many requests) says that the API did not carry it out."""
    most = session.http.limits.attempts
    if draft.effect.is_read or most < 2 or not session.http.credentials.retries_429(draft.operation.api):
        return []
    return [f"If the API answers 429 (too many requests), it is sent again, at most {most} times in all."]


def _files(session: Session, draft: Call) -> list[str]:
    """The names of the files that a body is made of; the name of a file may not be in the request itself."""
    names = [named(session.redacted(name)) for name in islice(_file_names(draft.settled.get("body")), FILES_SHOWN)]
    return [section("Files that it sends:", "\n".join(names))] if names else []


def _file_names(value: Any) -> Iterator[str]:
    if is_file_argument(value):
        yield str(value.get("filename") or value.get("@file") or "a file without a name")
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _file_names(item)


def _pages(pages: int) -> list[str]:
    return [f"Approving covers up to {pages - 1} further pages of the list, a request each."] if pages > 1 else []


def _purpose(operation: Operation, *, with_description: bool) -> list[str]:
    """The summary and the description of the operation, which are claims of the author of the document.

    The description is for a person who may confirm a read: it may mention a change that the summary leaves out.
    """
    summary, description = operation.summary.strip(), operation.description.strip()
    found = [section(f"What it does, by the spec of {_source(operation)}:", summary or description, most=SAID)]
    if with_description and summary and description and description != summary:
        label = f"The spec of {_source(operation)} describes it:"
        found.append(section(label, description, most=DESCRIPTION_SHOWN))
    return found if summary or description else []


def _target(operation: Operation, shown: ShownTarget | None) -> list[str]:
    """The fields of the target that would change, or what tells a person which one it is."""
    if shown is None:
        return []
    by, known = f"by a response of {_source(operation)}:", _told(shown)
    if shown["changes"]:
        changes = changes_text(shown["changes"])
        return [section(f"Changes, {by}", f"{known}\n{changes}" if known else changes)]
    return [section(f"As it is now, {by}", known)] if known else _present(operation, shown)


def _told(shown: ShownTarget | None) -> str:
    """The fields by which a person knows the target; empty if there are none."""
    present = shown["present"] if shown is not None else None
    return telling(present, NAMED) if isinstance(present, Mapping) else ""


def _present(operation: Operation, shown: ShownTarget | None) -> list[str]:
    """The target as it is, as far as it is kept."""
    if shown is None:
        return []
    present = shown["present"]
    text = present if isinstance(present, str) else json.dumps(present, ensure_ascii=False)
    return [section(f"As it is now, by a response of {_source(operation)}:", text)]


def _items(session: Session, draft: Call, *, but: str | None) -> list[str]:
    """The items of answers behind the ids that come from them, a line each: which trip a trip's id stands for.

    Ids whose pointers begin with `but` are left out: the target itself shows what they stand for. Where different
    things of several answers have the id, each is told, for which of them is meant nobody knows.
    """
    lines: dict[tuple[str, str], str] = {}
    for origin in draft.provenance:
        places = origin.get("places") if origin["origin"] in ("response", "user") else None
        if not places or (but and origin["pointer"].startswith(but)) or len(lines) >= ORIGINS_SHOWN:
            continue
        things: list[tuple[tuple[str, str], Mapping[str, Any], str]] = []
        for place in places:
            if "header" in place or not is_opaque(origin["pointer"], place["at"]):
                continue
            found = item_at(session.responses.read(place["handle"]), place["at"])
            known = "" if found is None else telling(found[1])
            if found is None or not known or any(_is_same_thing(found[1], thing) for _, thing, _ in things):
                continue
            source = f" (from {named(operation)})" if (operation := place.get("operation")) else ""
            things.append(((place["handle"], found[0]), found[1], f"{known}{source}"))
        if things:
            name = named(".".join(parse_pointer(origin["pointer"])))
            lines.setdefault(things[0][0], f"{name}: {', or '.join(known for *_, known in things)}")
    text = session.redactor(draft.operation.api).text("\n".join(lines.values()))
    return [section("About, by responses:", text, most=None)] if lines else []


def _is_same_thing(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two answers tell of the same thing: they share more than its id, and differ in nothing shared."""
    shared = one.keys() & other.keys()
    return len(shared) > 1 and all(one[name] == other[name] for name in shared)


def _is_plain(item: Provenance, draft: Call) -> bool:
    """Whether a value is the user's, the document's or that of an answer of the same API, or no text of the model."""
    own, body = draft.operation.api.name, draft.settled.get("body")
    match item["origin"]:
        case _ if item["pointer"] == f"/header/{key_header(draft.operation)}":
            return True
        case "response":
            return not any("header" in place or place.get("api", own) != own for place in item.get("places", ()))
        case "model":
            name = parse_pointer(item["pointer"])
            value = body.get(name[1]) if isinstance(body, Mapping) and name[0] == "body" and len(name) == 2 else ""
            return isinstance(value, bool | int | float)
        case origin:
            return origin != "program"


def _effect(draft: Call, undo: str) -> list[str]:
    """The way back from a change; for a proposed read, its reason comes first."""
    if draft.effect.is_read:
        return []
    if not draft.effect.is_proposed:
        return [section("Undo:", undo)]
    reason = section("It seems only to read:", draft.effect.reason)
    return [reason, section("If it changes something all the same:", undo)]


def _why(session: Session, draft: Call) -> list[str]:
    if not draft.description:
        return []
    author = "RestGPT" if UNDO in draft.id else "The model"
    label = f"Line {draft.line} of the program calls it:" if draft.line else f"{author} says why:"
    return [section(label, session.redactor(draft.operation.api).text(draft.description), most=WHY_SHOWN)]


def _origins(provenance: Sequence[Provenance], line: int) -> list[str]:
    """The origin of each value that the user did not say, a line each."""
    told = [item for item in provenance if item["origin"] in ("response", "model", "program")]
    lines = described(told[:ORIGINS_SHOWN], line)
    more = [f"and {len(told) - ORIGINS_SHOWN} more"] if len(told) > ORIGINS_SHOWN else []
    return [section("Where values come from:", "\n".join([*lines, *more]), most=None)] if lines else []


def request_summary(shown: Mapping[str, Any]) -> str:
    """A redacted request in a line or two: method, URL, body."""
    body = shown.get("body")
    line = f"{shown['method']} {shown['url']}"
    if body in (None, ""):
        return line
    return f"{line}\n{body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)}"
