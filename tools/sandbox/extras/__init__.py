"""The backends that packages of an extra provide."""
