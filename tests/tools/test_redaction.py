"""Guards redaction: every encoding of a known secret is removed, and other text is not changed."""

import base64
import json
import quopri
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restgpt.tools.text.redaction import MARK, PIECE, Redactor, sentence

SECRET = 'sk-"é/+ 7&x=ü<9'
REDACTOR = Redactor([SECRET])

SPELLINGS = {
    "as it is": SECRET,
    "percent-encoded": quote(SECRET, safe=""),
    "percent-encoded, slashes kept": quote(SECRET),
    "as a form": quote_plus(SECRET),
    "percent-encoded in lower case": quote(SECRET, safe="").lower(),
    "every byte percent-encoded": "".join(f"%{byte:02X}" for byte in SECRET.encode()),
    "JSON": json.dumps(SECRET)[1:-1],
    "JSON in UTF-8": json.dumps(SECRET, ensure_ascii=False)[1:-1],
    "JSON, every character escaped": "".join(f"\\u{ord(char):04x}" for char in SECRET),
    "JSON, slash escaped": json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    "HTML": SECRET.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;"),
    "HTML by number": "".join(f"&#{ord(char)};" for char in SECRET),
    "Base64": base64.b64encode(SECRET.encode()).decode(),
    "Base64 after one byte": base64.b64encode(b"x" + SECRET.encode()).decode()[2:],
    "Base64 of basic credentials": base64.b64encode(f"user:{SECRET}".encode()).decode(),
    "percent-encoded twice": quote(quote(SECRET, safe=""), safe=""),
    "JSON in JSON": json.dumps(json.dumps(SECRET)),
    "hexadecimal": SECRET.encode().hex(),
    "hexadecimal in capitals": SECRET.encode().hex().upper(),
    "Base64 for URLs": base64.urlsafe_b64encode(SECRET.encode()).decode().rstrip("="),
    "hexadecimal with colons": SECRET.encode().hex(":"),
    "hexadecimal with colons in capitals": SECRET.encode().hex(":").upper(),
    "hexadecimal with blanks": SECRET.encode().hex(" "),
    "hexadecimal with blanks in capitals": SECRET.encode().hex(" ").upper(),
    "quoted-printable": quopri.encodestring(SECRET.encode(), quotetabs=True).decode(),
    "Base32": base64.b32encode(SECRET.encode()).decode(),
    "Base32 without padding": base64.b32encode(SECRET.encode()).decode().rstrip("="),
    "Base85": base64.b85encode(SECRET.encode()).decode(),
    "Base85 of Adobe": base64.a85encode(SECRET.encode()).decode(),
    "Base64 twice": base64.b64encode(base64.b64encode(SECRET.encode())).decode(),
    "Base64 of the percent-encoded text": base64.b64encode(quote(SECRET, safe="").encode()).decode(),
    "Base64 of the form text": base64.b64encode(quote_plus(SECRET).encode()).decode(),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS.keys())
def test_no_spelling_of_a_secret_survives(spelling: str) -> None:
    shown = REDACTOR.text(f"before {spelling} after")
    assert spelling not in shown
    assert MARK in shown
    assert shown.startswith("before ")


@pytest.mark.parametrize("before", range(40, 80, 7))
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\\n", "\n  "])
def test_no_base64_of_a_secret_with_line_breaks_survives(before: int, line_break: str) -> None:
    broken = base64.encodebytes(b"x" * before + SECRET.encode() + b"y" * 60).decode().replace("\n", line_break)
    shown = REDACTOR.text(broken)
    assert MARK in shown
    joined = shown.replace(line_break, "")
    assert REDACTOR.text(joined) == joined


def test_base64_without_a_secret_stays_and_takes_little_time() -> None:
    text = base64.encodebytes(b"x" * 3_000_000).decode() + "A" * 3_000_000
    began = time.process_time()
    assert REDACTOR.text(text) == text
    assert time.process_time() - began < 5


def test_no_spelling_of_a_secret_is_in_the_name_of_a_header() -> None:
    names = ["X-abcd-key", f"X-{b'abcd-key'.hex()}", f"x-{b'abcd-key'.hex().upper()}"]
    assert Redactor(["abcd-key"]).headers(dict.fromkeys(names, "1")) == {MARK: "1"}


@pytest.mark.parametrize("spelling", ["\\u0073k-\\u0061bc/def", "sk-abc\\/def", "sk\\u002Dabc%2Fdef", "%73k-abc/def"])
@pytest.mark.parametrize("end", ["", "\\u12"])
def test_no_mixed_spelling_of_an_ascii_secret_survives(spelling: str, end: str) -> None:
    shown = Redactor(["sk-abc/def"]).text(f'{{"é": "{spelling}", "cut": "{end}"}}')
    assert MARK in shown
    assert spelling not in shown


@pytest.mark.parametrize(
    "secret", ["hunter2-password", "sk-live-9f8a7b6c5d4e3f", "Zoë's long secret", "0123456789" * 4]
)
def test_the_rare_encodings_of_any_secret_are_hidden_wherever_they_end(secret: str) -> None:
    raw = secret.encode()
    for encode in (base64.b32encode, base64.b85encode, base64.a85encode):
        for after in (b"", b"x", b" and more"):
            written = encode(raw + after).decode()
            assert written[: len(raw)] not in Redactor([secret]).text(f"before {written} after"), encode


def test_every_spelling_is_hidden_in_bytes_of_utf_16_too() -> None:
    shown = REDACTOR.data(f"<{SECRET}>".encode("utf-16-le"))
    assert SECRET.encode("utf-16-le") not in shown


# Hypothesis takes texts of the source, too. This process remembers secrets, so none may be a word of another test.
SECRETS = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=["Ll", "Lu", "Nd", "Zs"]), min_size=4, max_size=40
)


@given(SECRETS, st.text(max_size=20), st.text(max_size=20))
def test_any_secret_is_gone_from_any_json_around_it(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    body = json.dumps({"echo": before.replace(secret, "") + secret + after.replace(secret, "")}).encode()
    shown = redactor.data(body)
    assert json.dumps(secret)[1:-1].encode() not in shown or json.dumps(secret)[1:-1] in MARK


HEX = "deadBEEFcafe0123"


@pytest.mark.parametrize(
    ("redactor", "text", "shown"),
    [
        (Redactor(["a1"]), "banana1", "banana1"),
        (Redactor(["me:pw"]), "Authorization: Basic bWU6cHc=", f"Authorization: Basic {MARK}"),
        (Redactor([HEX]), f"{HEX} {HEX.lower()} {HEX.upper()}", f"{MARK} {MARK} {MARK}"),
        (REDACTOR.extended(["another-one"]), f"{SECRET} another-one", f"{MARK} {MARK}"),
    ],
    ids=["a short one is not searched for", "short basic credentials in Base64", "hexadecimal in either case", "both"],
)
def test_a_secret_is_hidden_as_a_whole(redactor: Redactor, text: str, shown: str) -> None:
    assert redactor.text(text) == shown
    assert SECRET not in repr(redactor)


def test_half_a_secret_at_a_cut_end_goes_too() -> None:
    redactor = Redactor(["supersecrettoken"])
    assert redactor.data(b"body supersecre", cut=True) == b"body " + MARK.encode()
    assert redactor.data(b"body supersecre") == b"body supersecre"


def test_secret_headers_are_hidden_by_name_whatever_the_case_and_those_of_the_api_itself() -> None:
    shown = Redactor().headers({"AUTHORIZATION": "x", "Set-Cookie": "sid=1", "X-Api-Key": "k", "Accept": "json"})
    assert shown == {"AUTHORIZATION": MARK, "Set-Cookie": MARK, "X-Api-Key": MARK, "Accept": "json"}
    assert Redactor(names=["X-Team"]).headers({"x-team": "v"}) == {"x-team": MARK}


def test_secret_query_values_and_user_names_are_hidden_in_urls() -> None:
    shown = Redactor().url("https://me:pw@api.test/x?page=2&api_key=abc&Signature=def&next_token_count=3")
    assert shown == f"https://{MARK}@api.test/x?page=2&api_key={MARK}&Signature={MARK}&next_token_count=3"


def test_headers_can_be_redacted_by_value_alone() -> None:
    shown = REDACTOR.headers({"X-Token": "account 7", "Cookie": f"a={SECRET}", SECRET: "n"}, by_name=False)
    assert shown == {"X-Token": "account 7", "Cookie": f"a={MARK}", MARK: "n"}


def test_json_hides_keys_and_values_and_secret_names_only_on_request() -> None:
    value = {"token": "abc", "note": f"it is {SECRET}", "n": 3, SECRET: [SECRET]}
    assert REDACTOR.json(value) == {"token": "abc", "note": f"it is {MARK}", "n": 3, MARK: [MARK]}
    assert REDACTOR.json({"token": "abc", "password": 5}, by_name=True) == {"token": MARK, "password": MARK}


def test_a_redactor_without_secrets_changes_nothing() -> None:
    body = b'{"\\u0041": "%41 &#65;"}'
    assert Redactor().data(body) is body


def test_a_percent_encoded_secret_is_found_across_the_pieces_of_a_long_text() -> None:
    encoded = b"".join(b"%%%02x" % byte for byte in b"s3cret-value")
    for before in (PIECE - 20, PIECE - 1, PIECE):
        shown = Redactor(["s3cret-value"]).data(b"a" * before + encoded + b"b" * PIECE)
        assert encoded not in shown


def test_many_question_marks_take_little_time() -> None:
    started = time.process_time()
    Redactor().message("?a" * 30_000)
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("text", "said"), [("no key was given", "No key was given."), ("createBooking failed!", "createBooking failed!")]
)
def test_a_sentence_begins_with_a_capital_unless_it_begins_with_a_name(text: str, said: str) -> None:
    assert sentence(text, ValueError()) == said
