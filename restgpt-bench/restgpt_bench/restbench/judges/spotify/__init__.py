"""The tasks of the simulated Spotify and their checks."""
