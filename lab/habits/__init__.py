"""Habits of weak models: replies as such models write them, and what the agent makes of them."""
