"""What urllib3 may log: neither a query, which can hold an API key, nor what a server said."""

import logging


class _Discreet(logging.Filter):
    """Cuts the query, which can hold an API key, off the URLs that urllib3 logs, and leaves out what servers said.

    That is in the text of its errors, such as header lines that it cannot read.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record where it needs it; every record passes."""
        if isinstance(record.args, tuple):
            record.args = tuple(_discreet(item) for item in record.args)
        record.exc_info = None
        return True


def _discreet(item: object) -> object:
    if isinstance(item, BaseException):
        return type(item).__name__
    return item.partition("?")[0] if isinstance(item, str) else item


_filter = _Discreet()


def quieten_urllib3() -> None:
    """Have urllib3 log nothing that may be a secret."""
    # Adding the same filter again does nothing.
    for name in ("urllib3.connection", "urllib3.connectionpool", "urllib3.util.retry"):
        logging.getLogger(name).addFilter(_filter)
