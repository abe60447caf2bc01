"""What prompts show of an operation: documentation, schemas, examples."""
