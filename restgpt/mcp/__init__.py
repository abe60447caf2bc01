"""A server of the Model Context Protocol over the calls, programs and recipes of this project."""
