"""Gorilla OpenFunctions: function calls from a prompt and documentation, none of them executed."""
