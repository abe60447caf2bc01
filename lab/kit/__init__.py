"""What several rigs use: processes, scripted models, an agent on a served world, memory, tables, tallies, templates."""
