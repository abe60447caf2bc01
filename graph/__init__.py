"""The LangGraph state machine that connects the roles."""
