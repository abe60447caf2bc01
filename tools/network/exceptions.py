"""Map the exceptions of requests, urllib3 and the operating system to subclasses of HttpFault."""

from typing import Any

import requests

from restgpt.tools.errors import BoundFault, BrokenFault, ConnectFault, HttpFault, ResolveFault, TimeoutFault, TlsFault
from restgpt.tools.network.addresses import Exchange


def _causes(error: BaseException) -> list[BaseException]:
    """The error and the exceptions that it wraps."""
    found: list[BaseException] = []
    queue: list[Any] = [error]
    while queue and len(found) < 12:
        item = queue.pop(0)
        if isinstance(item, BaseException) and item not in found:
            found.append(item)
            queue += [*item.args, getattr(item, "reason", None), item.__cause__]
    return found


def fault_of(error: BaseException, exchange: Exchange) -> HttpFault:
    """Map an exception of requests, urllib3 or the system to a fault.

    Their messages hold URLs, so the message of the fault quotes nothing of them but the TLS verification error.
    """
    causes = _causes(error)
    origin, unknown = exchange.origin, exchange.was_sent
    known = next((item for item in causes if isinstance(item, HttpFault)), None)
    if known is not None:
        return known
    kinds = {type(item).__name__ for item in causes}
    if isinstance(error, requests.exceptions.SSLError) or "SSLError" in kinds or "SSLCertVerificationError" in kinds:
        detail = next((getattr(item, "verify_message", "") for item in causes if hasattr(item, "verify_message")), "")
        hint = f" ({detail})" if detail else ""
        remedy = "check the host name, or name your authorities as ca_file, your certificate as cert_file, in apis.yaml"
        return TlsFault(f"the TLS connection to {origin} failed{hint}; {remedy}", outcome_unknown=unknown)
    if kinds & {"ReadTimeout", "ReadTimeoutError", "timeout", "TimeoutError", "ConnectTimeout"}:
        return TimeoutFault(f"{origin} did not answer in time; try again or ask for less", outcome_unknown=unknown)
    if kinds & {"LineTooLong", "HTTPException"}:
        return BoundFault(f"{origin} sent too many or too long headers", outcome_unknown=unknown)
    if kinds & {"NewConnectionError", "ConnectionRefusedError"}:
        return ConnectFault(f"{origin} cannot be reached; check that it runs and that the URL is right")
    if "NameResolutionError" in kinds:
        return ResolveFault(f"the host {origin.host} has no address; check its name and the network")
    if not kinds & {"ConnectionError", "ProtocolError", "RemoteDisconnected", "IncompleteRead", "OSError"}:
        return BrokenFault(f"{origin} did not answer in HTTP ({type(error).__name__})", outcome_unknown=unknown)
    return BrokenFault(f"the connection to {origin} broke before the answer was complete", outcome_unknown=unknown)
