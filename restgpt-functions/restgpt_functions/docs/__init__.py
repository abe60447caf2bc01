"""Function documentation in any dialect."""
