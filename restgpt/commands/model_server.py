"""The server of the model: one on this machine is offered, and an address from the folder's `.env` is named."""

import json

from restgpt.commands.screen.terminal import Terminal

USUAL_ADDRESS = "http://localhost:11434/v1"
"""Where Ollama serves the OpenAI chat API."""

TIMEOUT_S = 0.3
"""The timeout of the request, in seconds."""

LARGEST_ANSWER = 1_000_000


def local_models(address: str = USUAL_ADDRESS, *, seconds: float = TIMEOUT_S) -> list[str]:
    """Return the models of the server at `address`; an empty list if no server answers in time."""
    from http.client import HTTPException
    from urllib.request import ProxyHandler, build_opener

    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{address}/models", timeout=seconds) as answer:
            listed = json.loads(answer.read(LARGEST_ANSWER))
        return [str(entry["id"]) for entry in listed["data"]]
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return []


def offer(address: str = USUAL_ADDRESS, *, seconds: float = TIMEOUT_S) -> str:
    """Return lines for an error message that say how to use the server at `address`; empty if no server answers."""
    names = local_models(address, seconds=seconds)
    if not names:
        return ""
    return (
        f"\nA model server on this machine has {', '.join(names[:5])}. To use it:\n"
        f"  export OPENAI_BASE_URL={address}  and  --model openai:{names[0]}"
    )


def say_address_of_dotenv(terminal: Terminal) -> None:
    """Say where `.env` sends what the model reads, and with whose key: the folder may be somebody else's."""
    from restgpt.tools.settings.environment import addresses_of_dotenv

    for sentence in addresses_of_dotenv():
        terminal.say(sentence)
