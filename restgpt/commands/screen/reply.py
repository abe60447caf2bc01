"""Formats a request and its reply for the output of `restgpt call`."""

import json
import sys
from typing import TYPE_CHECKING, Any

from restgpt.commands.screen.terminal import Terminal
from restgpt.tools.text.quotation import visible_json

if TYPE_CHECKING:
    from restgpt.tools.response.reply import Reply


def print_body(terminal: Terminal, reply: "Reply") -> None:
    """Print a text body; write a binary body to stdout unless stdout is a terminal."""
    value = _body(reply)
    if isinstance(value, str):
        terminal.answer(value)
    elif isinstance(value, dict) and "@bytes" in value:
        if sys.stdout.isatty():
            terminal.say(f"The body is {reply.media_type or 'binary'}. Save it with --output PATH.")
        else:
            sys.stdout.buffer.write(reply.body)
    elif value is not None:
        terminal.answer(visible_json(value))


def reply_document(reply: "Reply") -> dict[str, Any]:
    """Return the reply as a JSON document: status, headers, body."""
    return {
        "status": reply.status,
        "reason": reply.reason,
        "headers": dict(reply.headers),
        "media_type": reply.media_type,
        "size": len(reply.body),
        "truncated": reply.truncated,
        "elapsed_ms": reply.elapsed_ms,
        "attempts": reply.attempts,
        "outcome_unknown": reply.outcome_unknown,
        "body": _body(reply),
    }


def _body(reply: "Reply") -> Any:
    """Return the body as a JSON value: decoded JSON, text, or Base64 as `{"@bytes": …}`."""
    if not reply.body:
        return None
    try:
        text = reply.body.decode()
    except UnicodeDecodeError:
        import base64

        return {"@bytes": base64.b64encode(reply.body).decode("ascii")}
    if "json" in reply.media_type:
        return _strict_json(text)
    return text


def _strict_json(text: str) -> Any:
    """Decode JSON; return the text itself if it is not JSON, too deep, or has numbers that JSON cannot write (NaN)."""
    from restgpt.specs.reading.text.nesting import is_too_deep

    if is_too_deep(text):
        return text
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError:
        return text
    return value


def request_text(shown: dict[str, Any]) -> str:
    """Format a redacted request: the request line, the headers, the body."""
    lines = [f"{shown['method']} {shown['url']}"]
    lines += [f"{name}: {value}" for name, value in (shown.get("headers") or {}).items()]
    body = shown.get("body")
    if body not in (None, ""):
        lines += ["", body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, indent=2)]
    return "\n".join(lines)
