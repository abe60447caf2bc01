"""Credentials: from the settings, from OAuth servers, from a login in the browser."""
