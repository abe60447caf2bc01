"""Redaction: take secrets out of all text, bytes, JSON, headers and URLs that leave this process or reach a prompt.

A known secret is found in any spelling that a server, a log or a traceback may use: as it is, percent-encoded, Base64
(at any alignment, with line breaks or without), JSON- or HTML-escaped, quoted-printable, hexadecimal (with colons, with
blanks or without), in UTF-8 or UTF-16, and escaped twice, as a URL in the query of another; a hexadecimal key or a UUID
in either case. Base32, Base85, double Base64 and the Base64 of percent-encoded text are found where they encode the
secret from its first byte. A value with a secret name (an `Authorization` header, an `api_key` in a query) is hidden
where names exist: in headers, URLs and the keys of requests. A secret of fewer than four characters is hidden by name
only, because it occurs by chance in any text.

The last wall in front of secrets: what errors say where they leave a node, a tool of a host, or this process's log.

Every place that knows a secret keeps it out of its own errors. An error of a library, or of a seam that a host brings,
may quote one all the same; a checkpoint, a client's model or a log would keep it.
"""

import base64
import html
import html.entities
import json
import logging
import quopri
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, wraps
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus, unquote_to_bytes

from restgpt.tools.errors import RestgptError, UnforeseenError, name_and_place
from restgpt.tools.tracing.span import is_interrupt

MARK = "[redacted]"
SHORTEST = 4
PIECE = 256 * 1024
NAMES = frozenset(
    "authorization proxyauthorization cookie setcookie apikey xapikey api_key token accesstoken refreshtoken idtoken "
    "authtoken xauthtoken xaccesstoken xcsrftoken bearer password passwd pwd secret clientsecret privatekey "
    "clientassertion signature sig subscriptionkey ocpapimsubscriptionkey xamzsecuritytoken xgoogapikey sessionid "
    "sessiontoken xsubscriptiontoken appkey apptoken accesskey codeverifier".replace("_", "").split()
)
CREDENTIALS = frozenset({"authorization", "proxyauthorization", "cookie", "setcookie", "setcookie2"})
"""Headers of an answer that are hidden; any other token in a header is data that the API gives, like one in a body."""

PUBLIC_HEADERS = frozenset(
    {"accept", "accept-charset", "accept-encoding", "accept-language", "content-type", "prefer", "user-agent"}
)
"""Headers with no secrets (RFC 9110, RFC 7240): to hide "application/json" would break every answer."""

_RARE = tuple(bytes([sign]) for sign in b"~^`|;@#$*!?<>()&%+=")
_LETTERS = re.compile(r"[^a-z0-9]")
# The bound on a name keeps the search linear in text that consists of question marks.
_QUERY_VALUE = re.compile(r"([?&;])([^=&;#\s]{1,200})=([^&;#\s\"'<>]*)")
_USERINFO = re.compile(r"(?<=://)[^/?#@\s\"']+@")
_JSON_ESCAPE = re.compile(rb"((?:\\u[0-9a-fA-F]{4})+)|\\([/\"\\])")
# Line breaks of Base64 (RFC 2045, section 6.8), or their escapes in a string of JSON; and one after a long line of it,
# each sign of which is written as A: regular expressions take ten times as long.
_BREAK = re.compile(rb"(?:\\r|\\n|[\r\n])+[ \t]*")
_SIGNS = string.ascii_letters.encode() + b"0123456789+/_-"
_ALIKE = bytes.maketrans(_SIGNS, b"A" * len(_SIGNS))
_BROKEN = tuple(b"A" * 40 + end for end in (b"\n", b"\r", b"\\A"))
# A key that is read whatever its case, such as a UUID.
_HEX = re.compile(r"[0-9a-fA-F-]+")
_HTML_ESCAPE = re.compile(rb"&#[xX]?[0-9a-fA-F]+;|&[a-z]+;")


def is_secret_name(name: str) -> bool:
    """Tell whether a header, parameter or key of this name holds a secret, whatever its case and punctuation."""
    return _LETTERS.sub("", name.lower()) in NAMES


def is_public_header(name: str) -> bool:
    """Tell whether a header says what form of answer, or which version of the API, a client wants."""
    return name.lower() in PUBLIC_HEADERS or name.lower().endswith("-version")


MAX_REGISTERED = 1000
"""How many secrets of this process are remembered for `registered`, the newest ones."""

_registered: dict[str, None] = {}
_registering = Lock()


def registered() -> "Redactor":
    """Return a redactor of the secrets of all redactors that this process has made, for texts of unknown origin."""
    with _registering:
        secrets = list(_registered)
    return Redactor(secrets)


class Redactor:
    """Hides the given secrets and all values with a secret name; immutable and safe across threads."""

    def __init__(self, secrets: Iterable[str] = (), *, names: Iterable[str] = ()) -> None:
        self._secrets = tuple(sorted({secret for secret in secrets if len(secret) >= SHORTEST}, key=len, reverse=True))
        with _registering:
            _registered.update(dict.fromkeys(self._secrets))
            for oldest in list(_registered)[:-MAX_REGISTERED]:
                del _registered[oldest]
        self._names = frozenset(_LETTERS.sub("", name.lower()) for name in names)

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"

    @property
    def secrets(self) -> tuple[str, ...]:
        """The secrets that are hidden, the longest first."""
        return self._secrets

    def extended(self, secrets: Iterable[str]) -> "Redactor":
        """Return a redactor that hides these secrets too."""
        more = [secret for secret in secrets if len(secret) >= SHORTEST and secret not in self._secrets]
        return Redactor([*self._secrets, *more], names=self._names) if more else self

    def hides(self, name: str) -> bool:
        """Tell whether the value of this header, parameter or key is hidden whatever it is."""
        return is_secret_name(name) or _LETTERS.sub("", name.lower()) in self._names

    def text(self, text: str) -> str:
        """Hide every known secret in a text."""
        if not self._secrets or not text:
            return text
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def message(self, text: str) -> str:
        """Hide known secrets, user names in URLs and query values of secret names in a text such as an exception's."""
        shown = _USERINFO.sub(f"{MARK}@", self.text(text))
        return _QUERY_VALUE.sub(self._query_value, shown)

    def _query_value(self, match: re.Match[str]) -> str:
        mark, name, value = match.groups()
        return f"{mark}{name}={MARK if self.hides(name) else value}"

    def url(self, url: str) -> str:
        """Hide the secrets of a URL: user information, known secrets, and query values of secret names."""
        return self.message(url)

    def headers(self, headers: Mapping[str, str], *, by_name: bool = True) -> dict[str, str]:
        """Hide known secrets in the values of headers and, whatever the case, in their names.

        With `by_name`, hide the values of secret headers too, and those of secret names in the URLs of other headers.
        """
        return {
            self._header_name(name): self._header_value(name, value) if by_name else self.text(value)
            for name, value in headers.items()
        }

    def answer(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Hide known secrets, cookies and credentials in the headers of an answer; its tokens may be sent on."""
        hidden = CREDENTIALS | self._names
        return {
            self._header_name(name): MARK if _LETTERS.sub("", name.lower()) in hidden else self.message(value)
            for name, value in headers.items()
        }

    def _header_value(self, name: str, value: str) -> str:
        return MARK if self.hides(name) else self.message(value)

    def _header_name(self, name: str) -> str:
        folded = name.lower()
        return MARK if any(form.lower() in folded.encode() for form in self._forms) else name

    def json(self, value: Any, *, by_name: bool = False) -> Any:
        """Hide known secrets in the strings and keys of a JSON-like value, and with `by_name` values of secret keys."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(str(key)): MARK
                if by_name and self.hides(str(key)) and isinstance(item, str | int | float)
                else self.json(item, by_name=by_name)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [self.json(item, by_name=by_name) for item in value]
        return value

    def data(self, data: bytes, *, cut: bool = False) -> bytes:
        """Hide every known secret in bytes; with `cut` the data was truncated, so hide a half secret at its end too."""
        if not self._secrets or not data:
            return data
        # One search per spelling is several times faster than one alternation over all of them.
        shown = data
        for form, rarest in self._searches:
            if rarest in shown:
                shown = shown.replace(form, MARK.encode())
        if b"\0" in shown:
            for form in self._wide_forms:
                shown = shown.replace(form, MARK.encode())
        if self._is_escaped(shown):
            shown = self._escaped.sub(MARK.encode(), shown)
        alike = shown.translate(_ALIKE)
        if any(line in alike for line in _BROKEN) and self._holds(_BREAK.sub(b"", shown)):
            shown = self._broken.sub(MARK.encode(), shown)
        return self._without_half_secret(shown) if cut else shown

    @cached_property
    def _forms(self) -> tuple[bytes, ...]:
        forms = {form for secret in self._secrets for form in _spellings(secret)}
        return tuple(sorted(forms, key=len, reverse=True))

    @cached_property
    def _searches(self) -> tuple[tuple[bytes, bytes], ...]:
        """Each spelling with the rarest sign in it, or itself: the search for one byte is much faster."""
        return tuple((form, next((sign for sign in _RARE if sign in form), form)) for form in self._forms)

    @cached_property
    def _wide_forms(self) -> tuple[bytes, ...]:
        """The same spellings in UTF-16; only data with NUL bytes is searched for them."""
        texts = [form.decode("utf-8", "surrogatepass") for form in self._forms]
        wide = {text.encode(charset, "surrogatepass") for text in texts for charset in ("utf-16-le", "utf-16-be")}
        return tuple(sorted(wide, key=len, reverse=True))

    def _holds(self, data: bytes) -> bool:
        return any(rarest in data and form in data for form, rarest in self._searches)

    @cached_property
    def _escaped(self) -> re.Pattern[bytes]:
        """Match the secrets with any of their characters escaped; slow, so only used if `_is_escaped` found one."""
        return re.compile(b"|".join(b"".join(_any_spelling(char) for char in secret) for secret in self._secrets))

    @cached_property
    def _broken(self) -> re.Pattern[bytes]:
        """Match Base64 of the secrets with line breaks anywhere in it; slow, so only used where one was found."""
        forms = sorted(
            {form for secret in self._secrets for form in _base64_forms(_raw(secret))}, key=len, reverse=True
        )
        between = b"(?:" + _BREAK.pattern + b")?"
        return re.compile(b"|".join(between.join(re.escape(bytes([sign])) for sign in form) for form in forms))

    def _is_escaped(self, data: bytes) -> bool:
        """Tell whether a secret appears once the escapes of JSON, URLs or HTML are undone."""
        if b"\\" in data and self._holds_json_escaped(data):
            return True
        if b"%" in data and self._holds_percent_encoded(data):
            return True
        if b"&" not in data or not _HTML_ESCAPE.search(data):
            return False
        return self._holds(html.unescape(data.decode("utf-8", "replace")).encode())

    def _holds_percent_encoded(self, data: bytes) -> bool:
        # In pieces, because decoding takes a hundred times the memory of its text. A secret is whole in one of them.
        overlap = 3 * max(map(len, self._forms))
        pieces = (data[start : start + PIECE + overlap] for start in range(0, len(data), PIECE))
        return any(self._holds(unquote_to_bytes(piece)) for piece in pieces)

    def _holds_json_escaped(self, data: bytes) -> bool:
        if all(secret.isascii() for secret in self._secrets):
            # This codec is fast, being written in C. It misreads bytes beyond ASCII, but these secrets have none.
            try:
                text = data.decode("raw_unicode_escape")
            except UnicodeDecodeError:
                return self._holds(_JSON_ESCAPE.sub(_unescape, data))
            plain = text.replace("\\/", "/").replace('\\"', '"').replace("\\\\", "\\")
            return self._holds(plain.encode("ascii", "replace"))
        return self._holds(_JSON_ESCAPE.sub(_unescape, data))

    def _without_half_secret(self, data: bytes) -> bytes:
        for form in self._forms:
            for length in range(min(len(form), len(data)), SHORTEST - 1, -1):
                if data.endswith(form[:length]):
                    return data[:-length] + MARK.encode()
        return data


def _unescape(match: re.Match[bytes]) -> bytes:
    run, plain = match.groups()
    if plain is not None:
        return bytes(plain)
    units = bytes.fromhex(run.replace(b"\\u", b"").decode("ascii"))
    return units.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")


def _any_spelling(char: str) -> bytes:
    """A pattern for one character, plain or escaped as JSON, URLs or HTML do."""
    raw = char.encode("utf-8", "surrogatepass")
    code = ord(char)
    percent = "".join(f"%{byte:02x}" for byte in raw)
    units = char.encode("utf-16-be", "surrogatepass")
    escape = "".join(rf"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))
    others = rf"(?i:{percent}|{escape}|&#0*{code};|&#x0*{code:x};)"
    named = {name for name, value in html.entities.html5.items() if value == char and name.endswith(";")}
    extra = [re.escape("\\" + char)] if char in '"\\/' else []
    choices = [*extra, others, *(re.escape("&" + name) for name in sorted(named))]
    return b"(?:" + re.escape(raw) + b"|" + "|".join(choices).encode() + b")"


def _spellings(secret: str) -> set[bytes]:
    """The fixed ways in which a secret may be written."""
    quoted = quote(secret, safe="")
    texts = {
        secret,
        quoted,
        quote(secret),
        quote_plus(secret),
        re.sub("%[0-9A-F]{2}", lambda match: match.group().lower(), quoted),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        html.escape(secret),
    }
    # A URL in the query of another is encoded twice, and so is JSON in a string of JSON.
    texts |= {quote(text, safe="") for text in texts} | {json.dumps(text)[1:-1] for text in texts}
    texts |= {secret.lower(), secret.upper()} if _HEX.fullmatch(secret) else set()
    raw = _raw(secret)
    forms = {text.encode("utf-8", "surrogatepass") for text in texts}
    digits = [raw.hex(), raw.hex(":"), raw.hex(" ")]
    forms |= {text.encode() for shown in digits for text in (shown, shown.upper())}
    forms |= {quopri.encodestring(raw, quotetabs=True), base64.b32encode(raw)[: len(raw) * 8 // 5]}
    # Pieces of a short secret's Base64 occur by chance in other data, so only its whole Base64 is a form.
    if len(raw) < 2 * SHORTEST:
        return forms | {base64.b64encode(raw), base64.urlsafe_b64encode(raw)}
    # Each spelling costs a search, so the rare ones are found at one alignment only.
    inner = {base64.b64encode(raw), *(text.encode() for text in (quoted, quote_plus(secret)) if text != secret)}
    forms |= {base64.b64encode(text).rstrip(b"=")[:-1] for text in inner}
    # The last block of Base85 depends on the bytes after the secret.
    forms |= {encode(raw)[: len(raw) // 4 * 5] for encode in (base64.b85encode, base64.a85encode)}
    return forms | _base64_forms(raw)


def _raw(secret: str) -> bytes:
    return secret.encode("utf-8", "surrogatepass")


def _base64_forms(raw: bytes) -> set[bytes]:
    """The Base64 texts of a secret that starts at any of the three alignments, without the neighbours' characters."""
    forms = set()
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * offset + raw).rstrip(b"=")
            start = (0, 2, 3)[offset]
            end = len(text) if (offset + len(raw)) % 3 == 0 else -1
            forms.add(text[start:end])
    return forms


Result = TypeVar("Result")


def without_secrets(error: Exception, redactor: Redactor | None = None) -> Exception:
    """Return the error if it holds no secret; else one of ours without it, and without the causes, in its place.

    Looks for the secrets of `redactor`, of this process (`registered`) and of the environment.
    """
    hide = _everything(redactor).message
    told = "\n".join(_texts(error))
    if hide(told) == told:
        return error
    if isinstance(error, RestgptError):
        error.args = tuple(hide(item) if isinstance(item, str) else item for item in error.args)
        error.__cause__ = error.__context__ = None
        error.__notes__ = []
        return error
    return UnforeseenError(f"An error that restgpt did not foresee, {name_and_place(error)}: {hide(str(error))}")


_SENT = "Before this error: "


def note_sent(error: BaseException, sentence: str) -> None:
    """Note on an error what was sent before it, or was approved and not sent, for `sent_before`."""
    error.add_note(f"{_SENT}{sentence}")


def sent_before(error: BaseException) -> str:
    """Return a sentence for each request that an error says was sent before it; empty if it names none."""
    notes = [note.removeprefix(_SENT) for note in getattr(error, "__notes__", ()) if note.startswith(_SENT)]
    return " ".join(notes)


def sentence(text: str, error: BaseException) -> str:
    """Return the text of an error as a sentence, and after it what the error says was sent before it."""
    first = text.partition(" ")[0]
    # A name such as createBooking stays as it is.
    if first.isalpha() and first.islower():
        text = text[0].upper() + text[1:]
    end = "" if text.endswith((".", "!", "?", "…")) else "."
    return f"{text}{end} {sent_before(error)}".rstrip()


def text_without_secrets(text: str) -> str:
    """Return a text without the secrets of this process and of the environment."""
    return _everything(None).message(text)


def withholding(node: Callable[..., Result], redactor: Callable[[], Redactor]) -> Callable[..., Result]:
    """Wrap a node so that no error leaves it with a secret: a checkpoint keeps the error, and a host shows it."""

    @wraps(node)
    def withheld(*args: Any, **kwargs: Any) -> Result:
        try:
            return node(*args, **kwargs)
        except Exception as error:
            shown = error if is_interrupt(error) else without_secrets(error, redactor())
            if shown is error:
                raise
        # Outside of the handler, so that the error with the secret is no context of this one.
        raise shown

    return withheld


class RedactingFormatter(logging.Formatter):
    """Formats log records, with their tracebacks, without secrets."""

    def format(self, record: logging.LogRecord) -> str:
        """Format a record as `logging.Formatter` does, and hide the secrets in the text."""
        return text_without_secrets(super().format(record))


def _everything(redactor: Redactor | None) -> Redactor:
    # Late, because settings know API documents, and every command formats a log.
    from restgpt.tools.settings.environment import environment_secrets

    return (redactor or Redactor()).extended(registered().secrets).extended(environment_secrets())


def _texts(error: BaseException) -> Iterator[str]:
    """Yield all that a traceback, a checkpoint or a client could show of an error and its causes."""
    seen: set[int] = set()
    queue: list[BaseException | None] = [error]
    while queue:
        item = queue.pop()
        if item is None or id(item) in seen:
            continue
        seen.add(id(item))
        yield from (str(item), repr(item), *getattr(item, "__notes__", ()))
        queue += [item.__cause__, item.__context__, *getattr(item, "exceptions", ())]
