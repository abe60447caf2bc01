"""Texts for the model of a host: definitions of tools, operations in words, pages of results."""
