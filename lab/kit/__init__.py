"""What several rigs use: processes, runs and their cost, scripted models, memory, tables, tallies, templates."""
