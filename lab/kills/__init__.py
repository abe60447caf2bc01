"""Kills processes in the middle of changes, resumes them, and compares the world with what was wanted."""
