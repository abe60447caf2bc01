"""The commands of `restgpt recipe`: save a run as a recipe, run it again without a model, and manage the files."""
