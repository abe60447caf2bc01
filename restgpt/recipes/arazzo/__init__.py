"""Arazzo: recipes as workflows for other runners, and workflows of others as recipes."""
