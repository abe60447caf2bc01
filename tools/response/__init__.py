"""Response bodies: read, described, kept outside the state."""
