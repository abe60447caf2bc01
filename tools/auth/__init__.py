"""Credentials from the settings, from OAuth servers and from a login in the browser."""
