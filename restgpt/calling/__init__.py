"""One safe call: drafted, decided, carried out once, and undone."""
