"""The tasks of the simulated film database and their checks."""
