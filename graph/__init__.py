"""How the roles are wired into one LangGraph state machine."""
