"""The journal of changes in the store: each change is sent once, also by several processes."""
