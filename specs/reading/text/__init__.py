"""The text of documents: JSON and YAML, and what is corrected in it."""
