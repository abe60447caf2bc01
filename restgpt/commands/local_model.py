"""A model server on this machine: found by asking the usual address, offered by name."""

import json
from http.client import HTTPException
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

USUAL_ADDRESS = "http://localhost:11434/v1"
"""Where Ollama serves the OpenAI chat API."""

PATIENCE_S = 0.3
"""How long the answer may take, in seconds."""

LARGEST_ANSWER = 1_000_000


def local_models(address: str = USUAL_ADDRESS, *, seconds: float = PATIENCE_S) -> list[str]:
    """The models that a server at `address` offers; none if nothing answers in time."""
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{address}/models", timeout=seconds) as answer:
            listed = json.loads(answer.read(LARGEST_ANSWER))
        return [str(entry["id"]) for entry in listed["data"]]
    except (URLError, OSError, HTTPException, ValueError, KeyError, TypeError):
        return []


def offer(address: str = USUAL_ADDRESS, *, seconds: float = PATIENCE_S) -> str:
    """What to type to use the server at `address`, as lines to add to a message; empty if there is none."""
    names = local_models(address, seconds=seconds)
    if not names:
        return ""
    return (
        f"\nA server on this machine answers and offers {', '.join(names[:5])}. To use it:\n"
        f"  export OPENAI_BASE_URL={address}  and  --model openai:{names[0]}"
    )
