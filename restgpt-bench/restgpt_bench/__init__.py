"""Simulated APIs and benchmarks: did it work? A distribution of its own beside RestGPT."""
