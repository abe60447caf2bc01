"""Recording: a finished run becomes a recipe, by rule."""
