"""The commands about threads that are kept: list, show, resume, undo and delete them."""
