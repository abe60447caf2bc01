"""Recipes in the nodes: the record of a run, its guards, the choice of the planner, and saving."""
