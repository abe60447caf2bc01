"""Kinto, a store of JSON records: PyPI `kinto`, in memory."""
