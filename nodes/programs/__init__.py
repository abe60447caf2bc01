"""How a program is run: step by step to its next calls, with its log, its guards and its end."""
