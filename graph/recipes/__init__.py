"""Recipes as graphs without a model, for hosts, servers and tools."""
