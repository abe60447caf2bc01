"""Real servers that others wrote, started from their packages on loopback, with tasks on each; not in the wheel."""
