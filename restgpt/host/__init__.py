"""Texts for the model of a host: definitions of tools, operations in words, previews of results, and pages of them."""
