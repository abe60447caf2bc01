"""Guards handles of MCP: what is forged, swapped, foreign, expired or used twice decides nothing, and who owns one."""

import json
import random
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from restgpt.graph.persistence import open_persistence
from restgpt.mcp.http import Tokens, process_owner
from restgpt.mcp.seal import ExpiredSealError, InvalidSealError, Purpose, SealError, Seals, digest_of, key_of_text
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import Secret, Settings
from restgpt.tools.settings.environment import bearer_tokens

HOUR_S = 3600.0
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
PURPOSES: tuple[Purpose, ...] = ("question", "waiting", "change", "result")


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(clock: Clock) -> Callable[..., Seals]:
    def seals(store: BaseStore | None = None, **options: object) -> Seals:
        return Seals(store or InMemoryStore(), lifetime=HOUR_S, clock=clock, **options)  # type: ignore[arg-type]

    return seals


def question(seals: Seals, thread: str = "call-1", principal: str = "ann", position: str = "p1") -> str:
    return seals.seal("question", principal, thread, position=position, digest=digest_of({"shown": thread}))


def accepted(seals: Seals, text: str, principal: str = "ann", purpose: Purpose = "question") -> bool:
    try:
        return seals.spend(seals.open(purpose, principal, text))
    except SealError:
        return False


def test_a_sealed_text_gives_back_what_was_sealed(make: Callable[..., Seals]) -> None:
    seals = make()
    opened = seals.open("question", "ann", question(seals))
    assert (opened.subject, opened.position, opened.digest) == ("call-1", "p1", digest_of({"shown": "call-1"}))


def test_of_1000_forged_replayed_expired_and_swapped_texts_none_is_accepted(
    make: Callable[..., Seals], clock: Clock
) -> None:
    seals, chance = make(), random.Random(7)
    wrong: list[Callable[[], bool]] = []
    text = question(seals)
    # Each character replaced by three others, left out, and doubled.
    for at in range(len(text)):
        for other in chance.sample(sorted(set(ALPHABET) - {text[at]}), 3):
            wrong.append(partial(accepted, seals, f"{text[:at]}{other}{text[at + 1 :]}"))
        wrong.append(partial(accepted, seals, text[:at] + text[at + 1 :]))
        wrong.append(partial(accepted, seals, text[: at + 1] + text[at:]))
    # Each part exchanged with that of another thread, question or client, the seal included.
    others = [question(seals, "call-2"), question(seals, position="p2"), question(seals, principal="bob")]
    for other in others:
        for part in range(2):
            parts = text.split(".")
            swapped = other.split(".")[part]
            if swapped != parts[part]:
                parts[part] = swapped
                wrong.append(partial(accepted, seals, ".".join(parts)))
    # Genuine texts of another client, for another purpose, of another database, and too late.
    for number in range(60):
        mine = question(seals, f"call-{number}")
        wrong.append(partial(accepted, seals, mine, principal="bob"))
        wrong += [partial(accepted, seals, mine, purpose=purpose) for purpose in PURPOSES[1:]]
        wrong.append(partial(accepted, seals, question(make())))
    for number in range(60):
        used = question(seals, f"used-{number}")
        assert accepted(seals, used)
        wrong.append(partial(accepted, seals, used))
    assert len(wrong) >= 1000
    assert sum(attempt() for attempt in wrong) == 0
    late = [question(seals, f"late-{number}") for number in range(100)]
    clock.now += HOUR_S + 1
    assert sum(accepted(seals, text) for text in late) == 0


def test_expired_is_told_from_invalid_only_to_the_rightful_client(make: Callable[..., Seals], clock: Clock) -> None:
    seals = make()
    text = question(seals)
    clock.now += HOUR_S + 1
    with pytest.raises(ExpiredSealError):
        seals.open("question", "ann", text)
    with pytest.raises(InvalidSealError):
        seals.open("question", "bob", text)


@pytest.mark.parametrize("text", ["", ".", "...", "a.b", ".a.b", "é" * 50, "\ud800", "a" * 1_000_000, "a." * 9])
def test_nonsense_is_invalid(make: Callable[..., Seals], text: str) -> None:
    with pytest.raises(InvalidSealError):
        make().open("question", "ann", text)


def test_principals_and_purposes_cannot_be_shifted_into_each_other(make: Callable[..., Seals]) -> None:
    seals = make()
    text = seals.seal("change", 'ann", "x', "call-1")
    with pytest.raises(InvalidSealError):
        seals.open("change", "ann", text)


def test_a_restarted_server_knows_its_seals_and_what_was_spent(
    make: Callable[..., Seals], clock: Clock, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path)
    with open_persistence(settings) as kept:
        before = make(kept.store)
        first, second = question(before), question(before, "call-2")
        assert accepted(before, first)
    with open_persistence(settings) as kept:
        after = make(kept.store)
        assert not accepted(after, first)
        assert accepted(after, second)


def test_servers_that_start_at_once_open_each_others_seals(make: Callable[..., Seals]) -> None:
    store = InMemoryStore()
    one, two = make(store), make(store)
    texts = [question(one), question(two), question(one)]
    assert [accepted(other, text) for other, text in zip([two, one, two], texts, strict=True)] == [True] * 3


def test_a_given_key_replaces_those_of_the_store(make: Callable[..., Seals]) -> None:
    key = key_of_text("ab" * 32)
    one, two, stored = make(key=key), make(key=key), make()
    text = question(one)
    assert accepted(two, text)
    assert not accepted(stored, question(one))
    with pytest.raises(SettingsError, match="RESTGPT_MCP_KEY has 5 bytes"):
        make(key=key_of_text("short"))


def test_forgetting_what_has_expired_does_not_make_a_used_text_valid(make: Callable[..., Seals], clock: Clock) -> None:
    seals = make()
    text = question(seals)
    assert accepted(seals, text)
    for days in (0, 1, 2, 40):
        clock.now += days * 24 * HOUR_S
        seals.forget_expired()
        assert not accepted(seals, text)


def test_a_handle_is_short_enough_for_a_model_to_copy(make: Callable[..., Seals]) -> None:
    seals = make()
    handle = seals.seal("waiting", "ann", "call-" + "0" * 32)
    assert len(handle) < 160
    assert json.dumps(handle) == f'"{handle}"'


ANN, BOB = "a" * 32, "b" * 32


def test_the_owner_of_a_home_stays_the_same_and_differs_from_others(tmp_path: Path) -> None:
    ours = process_owner(tmp_path / "ours")
    assert process_owner(tmp_path / "ours") == ours != process_owner(tmp_path / "theirs")
    files = list((tmp_path / "ours").iterdir())
    assert [stat.S_IMODE(file.stat().st_mode) for file in files] == [0o600]


def test_processes_that_start_at_once_get_one_owner(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        owners = set(pool.map(process_owner, [tmp_path / "home"] * 64))
    assert len(owners) == 1


def test_tokens_have_subjects() -> None:
    tokens = Tokens(bearer_tokens(f"ann={ANN}, bob={BOB}"))
    assert (tokens.subject(ANN), tokens.subject(BOB)) == ("ann", "bob")
    assert [tokens.subject(text) for text in ("", ANN[:-1], f"{ANN}a", "é", "ann")] == [None] * 5


def test_a_single_token_needs_no_subject_even_with_padding() -> None:
    assert bearer_tokens("c2VjcmV0LXNlY3JldA==") == {"client": Secret("c2VjcmV0LXNlY3JldA==")}


@pytest.mark.parametrize("text", [f"ann={ANN},{BOB}", f"ann={ANN},ann={BOB}", f"ann=,bob={BOB}"])
def test_an_unclear_list_of_tokens_is_an_error_without_the_tokens(text: str) -> None:
    with pytest.raises(SettingsError, match="RESTGPT_MCP_TOKEN: pair") as error:
        bearer_tokens(text)
    assert ANN not in str(error.value)
    assert BOB not in str(error.value)


def test_a_short_token_is_refused_without_naming_it() -> None:
    with pytest.raises(SettingsError, match="The token of ann") as error:
        Tokens({"ann": Secret("geheim")})
    assert "geheim" not in str(error.value)
