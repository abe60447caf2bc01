"""The commands that serve something until Ctrl-C."""
