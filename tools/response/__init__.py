"""Response bodies: parsing, sketches, and a store outside the graph state."""
