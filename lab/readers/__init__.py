"""Ten tasks on two published documents that nothing of the agent was tuned on, each on a small world served here."""
