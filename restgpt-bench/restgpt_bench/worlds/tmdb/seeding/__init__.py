"""How the simulated film database is built from a seed: people, films, shows, and what they have in common."""
