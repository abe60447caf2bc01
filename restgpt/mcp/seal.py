"""Sealed texts: handles and request states that a client carries and sends back, and that nobody else can make or use.

A sealed text names a thread or a response. itsdangerous signs it with HMAC-SHA384 by a key derived from its purpose
and the principal, so a text for another purpose or of another client is as invalid as a forged one. A text that decides
something is spent by its first use: the database of the store counts the uses, for all servers on it.
"""

import hashlib
import json
import math
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from itsdangerous import BadData, URLSafeSerializer
from itsdangerous.encoding import base64_encode
from langgraph.store.base import BaseStore

from restgpt.threads import Threads
from restgpt.tools.errors import RestgptError, SettingsError

Purpose = Literal["question", "waiting", "change", "result"]
"""What a sealed text is for: it decides a question, reads what waits, undoes a change, or reads a result."""

NAMESPACE = ("restgpt", "mcp", "keys")

KEY_BYTES = 32
NONCE_BYTES = 9

LIFETIME_S = 24 * 60 * 60.0
"""How long a sealed text is valid, in seconds, unless the setting says otherwise."""

MOST_CHARACTERS = 4096
"""The most characters of a sealed text; a longer one is not read."""

DAY_S = 24 * 60 * 60
DAYS_FORGOTTEN = 60
"""How many past days are forgotten at the start of a server: what was sealed on them has expired."""


class SealError(RestgptError):
    """A sealed text cannot be used."""


class InvalidSealError(SealError):
    """The server did not seal the text for this purpose and this client; the message does not say which."""

    def __init__(self) -> None:
        super().__init__("This handle is not valid here. Use a handle that this server gave to this client, unchanged.")


class ExpiredSealError(SealError):
    """The text is genuine, but its time is over."""

    def __init__(self) -> None:
        super().__init__(
            "This handle has expired. `restgpt threads` lists what still waits for a person or can be undone."
        )


@dataclass(frozen=True, slots=True)
class Sealed:
    """The content of a sealed text: a thread or the handle of a response.

    For a question, `position` is the id of its pause, and `digest` that of exactly what was shown and what was called.
    `expires` is in seconds of the clock, and `nonce` tells apart what is sealed twice.
    """

    subject: str
    position: str = ""
    digest: str = ""
    expires: float = 0.0
    nonce: str = ""


class Keys:
    """The keys of the seals: one that was given, or those in the store, where each server finds the others' keys."""

    def __init__(self, store: BaseStore, given: bytes | None = None) -> None:
        if given is not None and len(given) < KEY_BYTES:
            raise SettingsError(
                f"RESTGPT_MCP_KEY has {len(given)} bytes, but a key needs {KEY_BYTES}. Make one with: "
                "python -c 'import secrets; print(secrets.token_hex(32))'"
            )
        self._store = store
        self._given = given
        self._known: list[bytes] = []

    def known(self, *, again: bool = False) -> list[bytes]:
        """Return the keys, that to seal with last; `again` reads the store anew. Without any, make and keep one."""
        if self._given is not None:
            return [self._given]
        if again or not self._known:
            # Servers that start at the same time may each make a key. They seal with the first one by its id, and open
            # what was sealed with any.
            if not self._store.search(NAMESPACE, limit=1):
                key = secrets.token_bytes(KEY_BYTES)
                self._store.put(NAMESPACE, digest_of(key.hex()), {"key": key.hex()}, index=False)
            items = self._store.search(NAMESPACE, limit=1_000)
            ordered = sorted(items, key=lambda item: item.key, reverse=True)
            self._known = [bytes.fromhex(item.value["key"]) for item in ordered]
        return self._known


class Seals:
    """Makes and opens sealed texts; `clock` gives the time in seconds."""

    def __init__(
        self,
        store: BaseStore,
        *,
        key: bytes | None = None,
        lifetime: float = LIFETIME_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if not (math.isfinite(lifetime) and lifetime > 0):
            raise SettingsError(f"The lifetime of handles must be a number of seconds above zero, not {lifetime}.")
        self._threads = Threads(store)
        self._keys = Keys(store, key)
        self._lifetime = lifetime
        self._clock = clock

    def seal(self, purpose: Purpose, principal: str, subject: str, *, position: str = "", digest: str = "") -> str:
        """Return a sealed text, of letters, digits, `-`, `_` and dots."""
        expires = math.ceil(self._clock() + self._lifetime)
        content = [subject, expires, secrets.token_urlsafe(NONCE_BYTES), position, digest]
        return str(_serializer(self._keys.known(), purpose, principal).dumps(content))

    def open(self, purpose: Purpose, principal: str, text: str) -> Sealed:
        """Return the content of a sealed text; raises `InvalidSealError` and `ExpiredSealError`."""
        if len(text) > MOST_CHARACTERS:
            raise InvalidSealError
        for again in (False, True):
            try:
                content = _serializer(self._keys.known(again=again), purpose, principal).loads(text)
                break
            except (BadData, UnicodeError):
                continue
        else:
            raise InvalidSealError
        subject, expires, nonce, position, digest = content
        if not self._clock() < expires:
            raise ExpiredSealError
        return Sealed(subject, position, digest, expires, nonce)

    def spend(self, sealed: Sealed) -> bool:
        """Use a sealed text for a decision; returns whether this is its first use, on any server of the database."""
        return self._threads.count(_uses_on(sealed.expires), sealed.nonce) == 1

    def forget_expired(self) -> None:
        """Delete the uses of texts that have expired for a day or more."""
        today = self._clock()
        for days in range(2, DAYS_FORGOTTEN):
            self._threads.forget_counts(_uses_on(today - days * DAY_S))


def digest_of(value: Any) -> str:
    """Return the SHA-256 of a JSON value in a form that does not depend on the order of keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), default=str)
    return base64_encode(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()).decode()


def key_of_text(text: str) -> bytes:
    """Return a key from its text: hexadecimal digits, else the bytes of the text."""
    try:
        return bytes.fromhex(text)
    except ValueError:
        return text.encode()


def _uses_on(expires: float) -> str:
    """Return the name under which the uses are counted of what expires on a day."""
    return f"mcp seals {int(expires // DAY_S)}"


def _serializer(keys: list[bytes], purpose: Purpose, principal: str) -> URLSafeSerializer:
    # 48 bytes have one spelling in base64: no character of a signature can be exchanged. JSON tells the parts apart,
    # whatever characters a principal has.
    covered = json.dumps([purpose, principal])
    options = {"key_derivation": "hmac", "digest_method": hashlib.sha384}
    return URLSafeSerializer(keys, covered, signer_kwargs=options)
