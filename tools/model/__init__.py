"""Chat models: found by name, asked for text or for validated values, recorded and replayed."""
