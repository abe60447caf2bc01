"""Finding operations by words."""
