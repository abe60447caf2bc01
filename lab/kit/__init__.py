"""What several rigs use: ports and processes, scripted models, an agent on a served world, memory and tables."""
