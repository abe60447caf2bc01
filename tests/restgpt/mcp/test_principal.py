"""Guards who owns a handle: the owner of a home folder over stdio, the subject of a token over HTTP."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from restgpt.mcp.http import Tokens, process_owner
from restgpt.tools.errors import SettingsError
from restgpt.tools.settings import Secret
from restgpt.tools.settings.environment import bearer_tokens

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
