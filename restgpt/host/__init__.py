"""Texts for the model of a host: definitions of tools, operations in words, previews and pages of results."""
