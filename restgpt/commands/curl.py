"""A request as a command line of curl, with credentials as variables of the shell."""

import base64
import shlex
from secrets import token_hex
from typing import TYPE_CHECKING

from restgpt.tools.text.quotation import visible

if TYPE_CHECKING:
    from restgpt.calling.call import Call
    from restgpt.tools.auth.credentials import Credentials
    from restgpt.tools.text.redaction import Redactor


def curl_line(call: "Call", credentials: "Credentials", redactor: "Redactor") -> str:
    """Return the request of a call as curl for a POSIX shell; known secrets in it are hidden."""
    from restgpt.tools.settings.environment import auth_variable, variable_with

    entry, mark = call.operation.api.entry, f"X{token_hex(8)}X"
    own = credentials.entry(call.operation.api)
    groups = (own.headers, own.query, own.cookies) if own else ()
    extras = {name: secret.reveal() for group in groups for name, secret in group.items()}

    def stand_in(name: str) -> str:
        held = extras.get(name) or credentials.find(call.operation.api, name)
        return f"{mark}{variable_with(held) or auth_variable(f'{entry}_{name}' if entry else name)}{mark}"

    def quoted(word: str) -> str:
        # Every second part is a variable, between double quotes, so that the shell puts its value there.
        parts = enumerate(redactor.text(word).split(mark))
        return "".join(f'"${part}"' if number % 2 else shlex.quote(part) for number, part in parts if part)

    request = credentials.stand_ins(call.operation, stand_in).apply(call.request)
    words, start = ["curl", "--request", request.method, request.url], ""
    for name, value in request.headers.items():
        user = value.removeprefix("Basic ") if mark in value else value
        words += ["--header", f"{name}: {value}"] if user == value else ["--user", user]
    if request.body is not None:
        body = redactor.data(request.body)
        text = body.decode("utf-8", "replace")
        if text.encode() == body and visible(text) == text:
            words += ["--data-raw", text]
        else:  # a shell, or the terminal that shows it, would change some bytes
            start = f"echo {base64.b64encode(body).decode()} | base64 -d | "
            words += ["--data-binary", "@-"]
    return start + " ".join(map(quoted, words))
