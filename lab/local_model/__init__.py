"""A real small model on this machine: engine and weights from the package index, and tasks on each road."""
