"""HTTP status codes (RFC 9110, section 15)."""


def is_success(status: int) -> bool:
    """Whether a status is a 2xx (section 15.3); a redirect has done nothing yet."""
    return 200 <= status < 300
