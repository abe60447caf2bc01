"""All operations of an API on few lines."""
