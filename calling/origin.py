"""The record of where one argument of a request comes from; kept in the state, so it imports nothing heavy."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

Origin = Literal["user", "document", "response", "model"]


class Provenance(TypedDict):
    """Where one argument stands (`pointer`, into the grouped arguments) and where its value comes from.

    `handle` and `at` name the kept response and the JSON pointer in it. "model" is what no source holds as such.
    """

    pointer: str
    origin: Origin
    handle: NotRequired[str]
    at: NotRequired[str]
