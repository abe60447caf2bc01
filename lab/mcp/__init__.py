"""A plain tool-calling loop over MCP servers: ours, and others made from the same OpenAPI documents."""
