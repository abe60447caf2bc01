"""Function calls: read from text, checked, written."""
