"""Documentation of operations for prompts: summary lines, parameters, schemas, responses and examples."""
