"""Rigs that kill, disturb and sweep; not in the wheel."""
