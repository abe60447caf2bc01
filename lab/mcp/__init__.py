"""What a host reads of `restgpt mcp`, and the conformance suite of the protocol."""
