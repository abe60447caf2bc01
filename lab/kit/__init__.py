"""What several rigs use: free ports and scripted models."""
