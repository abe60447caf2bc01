"""The commands `bench`, `world` and `demo` of restgpt, and the simulated API of its server."""
