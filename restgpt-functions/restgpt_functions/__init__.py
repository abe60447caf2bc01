"""Gorilla OpenFunctions: a prompt and function documentation in, function calls out, none of them executed."""
