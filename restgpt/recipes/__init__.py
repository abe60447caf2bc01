"""Recipes: finished runs as files that can be run again, with other inputs and without a model."""
