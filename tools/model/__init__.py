"""Chat models: resolved, asked for structured answers, recorded."""
