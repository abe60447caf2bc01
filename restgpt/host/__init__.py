"""What the model of a host sees: definitions of tools, operations in words, previews of results, and pages of them."""
