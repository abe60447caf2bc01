"""Measures of time, beside a peer in the same run."""
