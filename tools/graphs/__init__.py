"""Graphs as hosts run them: traced, durable, served, in threads of their own."""
