"""Who decides: one file per role."""
