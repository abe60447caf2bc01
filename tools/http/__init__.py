"""Sending requests to a target API: retries, rate limits, pagination."""
