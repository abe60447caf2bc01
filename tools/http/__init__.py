"""Sending requests to a target API: rate limits, pages."""
