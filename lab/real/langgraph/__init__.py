"""The server of LangGraph, which reads by POST: `langgraph dev` from PyPI `langgraph-cli[inmem]`."""
