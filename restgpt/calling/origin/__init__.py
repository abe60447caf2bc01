"""Where the values of a call came from, and where they may go."""
