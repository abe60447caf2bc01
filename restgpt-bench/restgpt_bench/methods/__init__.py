"""The baselines as graphs of their own: those of the paper (appendix B), and native tool calling."""
