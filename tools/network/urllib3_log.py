"""A filter for the log records of urllib3, which may contain neither a query (an API key) nor text of a server."""

import logging


class _SecretFilter(logging.Filter):
    """Removes the query, which can hold an API key, from logged URLs, and the text of exceptions.

    Exceptions of urllib3 quote the server, such as header lines that cannot be parsed.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Remove queries and exception texts from the record; every record passes."""
        if isinstance(record.args, tuple):
            record.args = tuple(_without_secrets(item) for item in record.args)
        record.exc_info = None
        return True


def _without_secrets(item: object) -> object:
    if isinstance(item, BaseException):
        return type(item).__name__
    return item.partition("?")[0] if isinstance(item, str) else item


_filter = _SecretFilter()


def filter_urllib3_logs() -> None:
    """Add the filter to the loggers of urllib3."""
    # `addFilter` ignores a filter that a logger already has.
    for name in ("urllib3.connection", "urllib3.connectionpool", "urllib3.util.retry"):
        logging.getLogger(name).addFilter(_filter)
