"""The HTTP servers of this program: who may talk to them, and the app that the LangGraph server mounts."""
