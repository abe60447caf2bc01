"""Refused credentials: decides whether a reply of status 401 or 403 is about the credential, which only users repair.

A 401 is, if a credential was sent or the document names one for the operation. Most replies of status 403 are ordinary
results: this object is not the user's, this account may not do that, and the planner can answer or go another way. A
403 counts only if it says that the credential lacks a scope or is not valid. A refused login is an ordinary result too.
"""

import re
from http import HTTPStatus

from restgpt.specs.operation import Operation
from restgpt.tools.auth.credentials import Credentials
from restgpt.tools.errors import RefusedCredentialError
from restgpt.tools.response.reply import Reply

MOST_READ = 4000
"""The maximum number of bytes of a body, and of characters of a header, that are searched for a reason."""

_LOGIN = re.compile(r"(?:log|sign)[-_]?in|authenticate|sessions?|tokens?|password", re.IGNORECASE)
_CREDENTIAL = r"(?:api[ _-]?key|(?:access|auth\w*|bearer|oauth|refresh)?[ _-]?token|credentials?|jwt)"
_ABOUT_CREDENTIAL = re.compile(
    rf"insufficient[ _-]?(?:\w+[ _-])?scopes?|(?:missing|lacks?|requires?|needs?)(?: \S+){{0,3}} scopes?"
    rf"|(?:invalid|expired|revoked|missing|unknown|wrong|bad|no)[ _-](?:or \w+ )?{_CREDENTIAL}"
    rf"|{_CREDENTIAL} (?:(?:is|has|was|been|not|no longer) ){{0,3}}(?:invalid|valid|expired|revoked|missing|required)"
    r"|not authenticated|unauthenticated|authentication (?:is )?required",
    re.IGNORECASE,
)


def refused_credential(operation: Operation, reply: Reply, credentials: Credentials) -> RefusedCredentialError | None:
    """Return the error for a reply that refuses the credential of its request; None for every other reply."""
    if not (reply.status == HTTPStatus.UNAUTHORIZED or (reply.status == HTTPStatus.FORBIDDEN and _is_told(reply))):
        return None
    if _is_login(operation):
        return None
    remedies = credentials.remedies(operation)
    if not remedies:
        return None
    scopes = sorted({scope for needed in operation.security for names in needed.values() for scope in names})
    named = f" The operation names the scopes {', '.join(scopes)}." if scopes else ""
    todo = ", or ".join(dict.fromkeys(remedies))
    return RefusedCredentialError(
        f"{operation.name} of {operation.api.name} was refused with status {reply.status}, because of its credential: "
        f"{todo}.{named}",
        status=reply.status,
    )


def _is_told(reply: Reply) -> bool:
    """Return whether a reply says in its header (RFC 6750, section 3.1) or its body that it is about the credential."""
    header = reply.header("www-authenticate")[:MOST_READ]
    text = f"{header} {reply.body[:MOST_READ].decode('utf-8', 'replace')}"
    return bool(_ABOUT_CREDENTIAL.search(text))


def _is_login(operation: Operation) -> bool:
    """Return whether an operation itself checks a password or the like, which the user gave for this instruction."""
    return operation.method == "POST" and bool(_LOGIN.fullmatch(operation.path.rstrip("/").rpartition("/")[2]))
