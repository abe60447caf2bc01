"""The tasks of the toy world and their checks."""
